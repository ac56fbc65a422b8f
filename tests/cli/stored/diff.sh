# What changed between two databases: of one, empty, damaged, missing, and the table of real winners.
head -4 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
tune import some.jsonl --db before.db >/dev/null
sed -e '2s/"time_us": \([0-9]*\)\./"time_us": 1\1./' -e 3d some.jsonl >other.jsonl
tune import other.jsonl --db after.db >/dev/null
t tune diff
t tune diff before.db
t tune diff before.db after.db third.db
t tune diff before.db after.db --db x.db
t tune diff --driver 580 --db before.db
t tune diff --driver 580,590,600 --db before.db
t tune diff --date 2026-11-20,soon --db before.db
t tune diff before.db nowhere.db
t tune diff before.db after.db
t tune diff before.db after.db --changed --format csv
t tune diff before.db after.db --shape 5x5x5
t tune diff before.db --gpu h200,h100
python3 -c 'import sqlite3; sqlite3.connect("empty.db").close()'
t tune diff before.db empty.db
head -c 5000 before.db >cut.db
t tune diff before.db cut.db
cp before.db damaged.db
python3 -c 'import sqlite3; d = sqlite3.connect("damaged.db"); d.execute("update decisions set ratio = -1 where id = 2"); d.commit()'
t tune diff damaged.db before.db
t ls
