# The page of tune report: written whole or not at all. tests/report looks at it in a browser.
t tune report -o
t tune report stray
t tune report --db none.db
head -4 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
tune import some.jsonl --db my.db >/dev/null
export GEMMTUNE_DB=$PWD/my.db
t tune report --shape 5x5x5
t tune report --gpu a100 -o a100.html
t tune report -o nowhere/page.html
t ls
t tune report
t tune report --shape 512x512x512 -o one.html
cat >look.py <<'END'
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
names = data["columns"]["problem"]
print(sorted(names if isinstance(names, list) else [names["same"]]), data["live"], data["command"])
print("http links:", len([x for x in re.findall(r'(?:src|href)="?(http[^" >]*)', page)]), "licence:", "Chart.js Contributors" in page)
END
t python3 look.py report.html
t python3 look.py one.html
t tune report --before none.db
t sh -c 'tune report -o - | head -c 15'
t sh -c 'tune report -o /dev/full'
head -c 5000 my.db >cut.db
t tune report --db cut.db -o cut.html
python3 -c 'import sqlite3; d = sqlite3.connect("my.db"); d.execute("update decisions set ratio = -1 where id = 2"); d.commit()'
t tune report -o damaged.html
t ls
# The page of a run: the last one says that the run is over. A page that cannot be written does not end the run.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_DB=$PWD/live.db GEMMTUNE_EXE=$FAKE
run() { tune --space "$SOURCES/tests/fake/space.conf" --no-pretuned --max-trials 20 --budget 2h "$@"; }
run --shape 64x64x64 --shape 65x64x64 --report live.html >out 2>err
t python3 look.py live.html
code=0
run --shape 63x64x64 --report nowhere/page.html >out 2>err || code=$?
echo "exit code $code, $(grep -c 'no page: cannot write nowhere/page.html' err) remark, $(grep -c 'sgemm:nn:63x64x64  *tuned' out) tuned"
