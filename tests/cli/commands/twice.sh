# What is given twice, or contradicts what was given, is refused: nobody knows which is meant.
t tune --shape 4x4x4 --gpu h200 --cold --hot
t tune --shape 4x4x4 --gpu h200 --hot --hot
t tune --shape 4x4x4 --gpu h200 --budget 1s --budget 2s
t tune --shape 4x4x4 --gpu h200 --budget 1h1h
t tune --shape 4x4x4 --gpu h200 --budget 1m30s2m
t tune --shape 4x4x4 --gpu h200 --gpu a100
t tune --shape 4x4x4 --gpu h200 --db a.db --db=b.db
t tune --suite a.txt --suite b.txt
t tune --shape sgemm:nn:64x64x64:lda=64:lda=128 --gpu h200
t tune --shape sgemm:nn:64x64x64:beta=1:batch=2:beta=1 --gpu h200
t tune --shape sgemm:sgemm:nn:64x64x64 --gpu h200
t tune query --measured --predicted
t tune query --db a.db --db b.db
t tune explain --shape 4x4x4 --shape 5x5x5
t tune export --json --json
t tune export --csv -o a -o b
t tune verify --format csv --format csv
t tune doctor --json --format csv
t tune bench --shape 4x4x4 --hot --hot
t tune ladder --shape 4x4x4 --rung naive --rung shared
t tune --shape
t tune --cold=yes --shape 4x4x4
t tune --s 4x4x4
t ls
