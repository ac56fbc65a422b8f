# What a header or a list does not take is summed by reason, a line for each, not a line for each winner.
ships=$SOURCES/configs/winners/h200.jsonl
line=$(grep '"problem": "sgemm:nn:512x512x512"' "$ships" | grep '"predicted": false')
for lda in 512 516 520 524; do echo "$line" | sed "s/512x512x512\"/512x512x512:lda=$lda\"/"; done >winners.jsonl
for m in 300 400; do echo "$line" | sed "s/512x512x512/${m}x512x512/"; done >>winners.jsonl
for m in 101 201; do echo "$line" | sed "s/512x512x512/${m}x512x512/; s/\"ratio\": [0-9.]*/\"ratio\": 0.5/"; done >>winners.jsonl
for m in 102 202 302; do echo "$line" | sed "s/sgemm:nn:512x512x512/sgemm_accurate:nn:${m}x512x512/"; done >>winners.jsonl
echo "$line" | sed "s/sgemm:nn:512x512x512/sgemm_normwise:nn:64x512x512/" >>winners.jsonl
t tune import winners.jsonl --db my.db
t tune export --db my.db --header mine.h --without-cublas
t sed -n '/^.. Left out/,$p' mine.h
t tune export --db my.db --json -o mine.jsonl
t tune export --db my.db --csv -o mine.csv
t tune export --db my.db --header none.h --shape sgemm_accurate:nn:102x512x512
t ls
# A problem without a winner is one more that is left out; where there is nothing else, that is the error.
printf '300x512x512\n7x7x7\n9x9x9\n' >suite.txt
t tune export --db my.db --header suite.h --suite suite.txt --gpu h200
t sed -n '/^.. Left out/,$p' suite.h
t tune export --db my.db --json --suite suite.txt -o suite.jsonl
t tune export --db my.db --csv --suite suite.txt -o suite.csv
t tune export --db my.db --json --shape 7x7x7
t tune export --db my.db --header none.h --shape 7x7x7
# A file that cannot be written is told of before anything is compiled.
t tune export --db my.db --header suite.h --with-kernels -o /nonexistent/suite.h
