# What answers a problem, of the user's database, the system's and what ships: one rule for all who ask. A prediction hides no
# winner that was measured.
export GEMMTUNE_DB="$PWD/my.db"
ships=$SOURCES/configs/winners/h200.jsonl
# The columns of csv by their names.
told() {
    python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin):
    print(*[row[c] if c != "time_us" else "%.2f" % float(row[c]) for c in sys.argv[1:]])' "$@"
}
query() {
    tune query --format csv "$@" | told problem from provenance used time_us
}

# Fresh: what ships.
[ "$(query --gpu h200 2>&1 | wc -l)" = "$(grep -c '"predicted": false' "$ships")" ] && echo "all that ship for the H200 are listed"
t query --gpu h200 --shape 512x512x512
t query --gpu h200 --shape 1..8x6144x4096
t query --gpu h200 --shape 512x512x512 --shape 8x6144x4096
t tune query --gpu h200 --shape 511x512x512
t tune query --gpu a100
# Of an accuracy class its errors, where they were measured.
t tune query --gpu h200 --accuracy accurate --shape 4096x4096x4096
t sh -c 'tune query --gpu h200 --accuracy accurate --shape 4096x4096x4096 --json | grep -o "\"error\": .*"'
t sh -c 'tune explain --gpu h200 --accuracy accurate --shape 4096x4096x4096 | grep checked'
t sh -c 'tune query --own --gpu h200 2>&1 | tail -1'

# A prediction for a problem of which a measured winner ships, and for one of which none does.
t tune --shape 256x256x256 --shape 250x256x256 --gpu h200 --space "$SOURCES/tests/fake/space.conf" --max-trials 1 --budget 2h
t query --shape 256x256x256
t query --shape 250x256x256
t query --own
t query --predicted
t sh -c 'tune query --own --shape 256x256x256 --json | grep -o "\"why\": [^,]*"'
[ "$(query 2>&1 | wc -l)" = $(($(grep -c '"predicted": false' "$ships") + 1)) ] && echo "the prediction is listed with all that ship"
t sh -c 'tune explain --shape 256x256x256 | head -10'
t sh -c 'tune explain --shape 250x256x256 | head -3'
t tune export --header my.h
t sh -c 'grep -c "simt BM=16 BN=32 BK=64" my.h'
tune export --csv | told problem predicted time_us # what is in the database
t tune --shape 256x256x256 --gpu h200 --space "$SOURCES/tests/fake/space.conf" --max-trials 1 --budget 2h
t sh -c 'tune --shape 256x256x256 --gpu h200 --max-trials 1 --budget 2h --again --space $SOURCES/tests/fake/space.conf --json 2>err | grep -o "\"why\": \"[^\"]*\""'

# The system's comes before what ships, and after the user's own measurement.
grep -m 1 '"sgemm:nn:256x256x256"' "$ships" | sed 's/"time_us": [0-9.]*/"time_us": 3.5/' >fast.jsonl
tune import --db system.db fast.jsonl >imported
export GEMMTUNE_SYSTEM_DB="$PWD/system.db"
t query --shape 256x256x256
t sh -c 'tune explain --shape 256x256x256 | sed -n "3,4p"'
t sh -c 'tune --shape 256x256x256 --gpu h200 --max-trials 1 --budget 2h --space $SOURCES/tests/fake/space.conf 2>&1 | grep measured'
sed 's/"time_us": 3.5/"time_us": 3.6/' fast.jsonl >own.jsonl
tune import own.jsonl >imported
t query --shape 256x256x256

# What the user has excluded does not answer.
export GEMMTUNE_SYSTEM_DB=off GEMMTUNE_DB="$PWD/other.db"
tune --shape 256x256x256 --gpu h200 --space "$SOURCES/tests/fake/space.conf" --max-trials 1 --budget 2h >out 2>&1
config=$(sed 's/.*"config": "\([^"]*\)".*/\1/' fast.jsonl)
tune --shape 256x256x256 --gpu h200 --exclude "$config" >out 2>&1
t query --shape 256x256x256
