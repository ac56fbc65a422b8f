# One writer a database: the second is told who the first is, readers are not disturbed; killed, the first loses nothing
# that it had finished, and the same command goes on from there.
cp "$SOURCES/tests/fake/space.conf" .
job="tune --shape 512x512x512 --shape sgemm:nt:768x768x768 --shape 1000x1000x1000 --gpu h200 --space space.conf --budget 2h --db my.db"
$job >first 2>&1 </dev/null &
first=$!
trap 'kill -9 $first 2>/dev/null || true' EXIT
cat >trials.py <<'END'
import sqlite3

try:
    db = sqlite3.connect("file:my.db?mode=ro", uri=True)
    print(db.execute("select count(*) from trials").fetchone()[0])
except sqlite3.Error:
    print(0)
END
until [ "$(python3 trials.py)" -ge 3 ]; do
    kill -0 $first
    sleep 0.1
done
t tune --shape 64x64x64 --gpu h200 --budget 5s --db my.db
t sh -c 'tune verify --db my.db >/dev/null'
finished=$(python3 trials.py)
kill -9 $first
wait $first || true
[ "$(python3 trials.py)" -ge "$finished" ] && echo "nothing is lost"
t sh -c 'tune verify --db my.db >/dev/null'
t tune --shape 512x512x512 --gpu h200 --space space.conf --max-trials 3 --budget 2h --db my.db
t sh -c 'tune verify --db my.db >/dev/null'
