# Files that are no database of ours are refused and left as they are.
cat >make.py <<'END'
import sqlite3
import sys

def make(name, *statements):
    db = sqlite3.connect(name)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()

make("foreign.db", "create table plants (name text)", "pragma application_id = 42")
END
python3 make.py
echo 'these are not the bytes of a database, but there are more than a hundred of them: 1234567890 1234567890' >text.db
tune --shape 64x64x64 --gpu h200 --space "$SOURCES/tests/fake/space.conf" --max-trials 3 --budget 2h --db ours.db >/dev/null 2>&1
cp ours.db newer.db
cp ours.db first.db
python3 -c 'import sqlite3; d = sqlite3.connect("newer.db"); d.execute("pragma user_version = 9999"); d.commit()'
python3 -c 'import sqlite3; d = sqlite3.connect("first.db"); d.execute("pragma user_version = 1"); d.commit()'
head -c 5000 ours.db >torn.db
sums() { sha256sum foreign.db text.db newer.db first.db; }
sums >before
for db in foreign text newer first torn; do
    t tune --shape 64x64x64 --gpu h200 --budget 5s --db $db.db
    t tune query --db $db.db
done
t tune merge ours.db first.db
sums | cmp before -
t ls
t sh -c "tune verify --db ours.db >/dev/null"
