# A database that is copied with cp while it is written: the copy lacks the log, and is empty. Who reads it is told.
cp "$SOURCES/tests/fake/space.conf" .
printf 'sgemm:nn:64x64x64\n' >list.txt
tune --suite list.txt --shard 0/1 --gpu h200 --space space.conf --max-trials 3 --budget 2h --db some.db >noise 2>&1
# none.db: nothing was ever stored in it. live.db: all of some.db is in its log, and a writer has it open.
cat >write.py <<'END'
import os, shutil, sqlite3, time

shutil.copy("some.db", "none.db")
db = sqlite3.connect("none.db")
tables = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"))
for table in tables:
    db.execute(f"DELETE FROM {table}")
db.execute("DROP TABLE shards")
db.commit()
shutil.copy("none.db", "live.db")
db = sqlite3.connect("live.db")
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA wal_autocheckpoint = 0")
db.execute(tables["shards"])
db.execute("ATTACH 'some.db' AS some")
for table in tables:
    db.execute(f"INSERT INTO main.{table} SELECT * FROM some.{table}")
db.commit()
os.mkdir("ready")
time.sleep(600)
END
python3 write.py &
writer=$!
trap 'kill -9 $writer 2>/dev/null || true' EXIT
until [ -e ready ]; do
    kill -0 $writer
    sleep 0.1
done
cp live.db copy.db
t tune merge all.db copy.db
t sh -c 'tune merge --json all.db copy.db | python3 -c "import json, sys; print(json.load(sys.stdin)[\"files\"])"'
t tune merge --shards all.db copy.db
t tune query --db copy.db
t sh -c 'tune --shape 64x64x64 --known copy.db --gpu h200 --space space.conf --max-trials 1 --budget 2h --db other.db 2>&1 >/dev/null | head -n 1'
# With its log it is whole, by the way that the sentence names.
t tune merge --shards whole.db live.db
t sh -c 'tune query --db whole.db | grep -c sgemm'
t tune merge some2.db none.db some.db
t tune merge some2.db some.db
