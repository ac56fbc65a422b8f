# Standard input, output and error may be closed: what is printed goes nowhere, and never into a file that is opened later.
head -4 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
for closed in '>&-' '<&- >&-' '>&- 2>&-' '<&- >&- 2>&-' '2>&-' '<&-' '<&- 2>&-'; do
    t sh -c "tune import some.jsonl --db my.db $closed"
    t sh -c "tune merge all.db my.db $closed"
    t sh -c 'tune verify --db my.db | grep -c ok; tune verify --db all.db | grep -c ok'
    rm -f my.db all.db
done
