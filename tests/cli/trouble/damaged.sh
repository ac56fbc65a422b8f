# A database that fails its check gives nothing and takes nothing.
head -4 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
sed -n 5,6p "$SOURCES/configs/winners/h200.jsonl" >more.jsonl
tune import some.jsonl --db good.db >/dev/null
sql() { python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); print(d.execute(sys.argv[2]).fetchone() or ""); d.commit()' "$@"; }
damage() { # NAME SQL
    cp good.db "$1.db"
    sql "$1.db" "$2" >/dev/null
}
damage figure "update decisions set time_us = 0.5 where id = 1"
damage index "update winners set decision_id = 2 where decision_id = 1"
for db in figure index; do
    t tune export --json --db $db.db -o out.jsonl
    t tune export --header out.h --db $db.db
    t tune import more.jsonl --db $db.db
    t tune merge $db.db good.db
    t sql $db.db "select count(*) from decisions"
done
t ls
