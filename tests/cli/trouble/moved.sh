# A database that loses its name while it is written: the run ends, says where its results are, and is no success; what
# has the name meanwhile is not read with the log that is beside it.
cp "$SOURCES/tests/fake/space.conf" .
export GEMMTUNE_DB="$PWD/my.db"
head -20 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
cat >trials.py <<'END'
import sqlite3, sys

try:
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    print(db.execute("select count(*) from trials").fetchone()[0])
except sqlite3.Error:
    print(0)
END
begin() {
    tune --shape 512x512x512 --shape sgemm:nt:768x768x768 --shape 1000x1000x1000 --gpu h200 --space space.conf --budget 2h \
        >out 2>err </dev/null &
    first=$!
    until [ "$(python3 trials.py my.db)" -ge 1 ]; do
        kill -0 $first
        sleep 0.1
    done
}
trap 'kill -9 $first 2>/dev/null || true' EXIT
ended() {
    code=0
    wait $first || code=$?
    tail -n 1 err
    return $code
}
tune import some.jsonl --db new.db >noise
begin
mv my.db aside.db
mv new.db my.db
t tune query
t ended
t sh -c 'tune query --own | wc -l'
t sh -c 'tune verify --db aside.db >/dev/null'
t sh -c '[ $(python3 trials.py aside.db) -ge 1 ] && ls *.db*'
begin
rm my.db
t ended
t sh -c 'tune verify --db my.db.rescued >/dev/null'
t sh -c '[ $(python3 trials.py my.db.rescued) -ge 1 ] && ls *.db*'
