# One share of a list of problems (--shard), a copy for other machines (--save), what is known elsewhere (--known), and the
# merge of shards. The GPU is a fake child's.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
t tune --shape 64x64x64 --shard 8/8 --db a.db
t tune --shape 64x64x64 --shard 1 --db a.db
t tune --shape 64x64x64 --shard 0/70000 --db a.db
t tune --shape 64x64x64 --shard 0/2
t tune --shape 64x64x64 --shard 0/2 --db a.db --known none.db
t tune --shape 64x64x64 --gpu h200 --db a.db --save /proc/nowhere/a.db
t ls
# Whatever a search tries first, which time decides, too: one of its candidates wins, but for one problem cuBLAS does.
export GEMMTUNE_EXE=$FAKE FAKE_STEADY=1 FAKE_LOG=$PWD/log FAKE_FAST=BM=64 FAKE_FAST_FOR=nn:65x64x64
printf '64 64 64\n65 64 64\n66 64 64\n67 64 64 # a comment\n8192 8192 8192\n' >suite.txt
shard() { # I/N [OPTION...]
    : >log
    which=$1
    shift
    code=0
    tune --space "$SOURCES/tests/fake/space.conf" --no-pretuned --budget 2h --max-trials 20 --suite suite.txt --shard "$which" \
        --format csv "$@" >out 2>err &
    echo $! >pid
    wait $! || code=$?
    echo "$ shard $which $*"
    cut -d, -f1,3 out | tail -n +2 | sed 's/ (tie)//'
    grep -E 'tune:|shard|begins|takes in|skipped|going' err | sed 's/of 20[-0-9TZ:]*/of TIME/'
    [ $code = 0 ] || echo "= $code"
}
shard 0/3 --db 0.db
shard 1/3 --db 1.db
shard 2/3 --db 2.db
cp 0.db kept.db
# The same on every machine, and whatever the order of the list.
tac suite.txt >back.txt
shard 1/3 --db again.db --suite back.txt # problems that are repeated count once
shard 5/7 --db 5.db
# A file is one shard's.
shard 1/3 --db 0.db
printf '1 1 1\n' >>suite.txt
shard 0/3 --db 0.db
sed -i '$d' suite.txt
python3 -c 'import sqlite3; d = sqlite3.connect("0.db"); d.execute("update shards set version = \"0.1\""); d.commit()'
shard 0/3 --db 0.db
t tune merge --shards all.db 0.db 1.db
cp kept.db 0.db
tune --shape 9x9x9 --space "$SOURCES/tests/fake/space.conf" --max-trials 1 --db other.db >/dev/null 2>&1
shard 0/3 --db other.db
# Merging names what is not there, and takes in nothing that does not belong there.
t tune merge --shards all.db 0.db 2.db
t tune merge --shards all.db 0.db other.db
t tune merge --shards all.db 0.db 5.db
t tune merge --shards all.db 0.db none.db
t sh -c 'tune merge --shards part.db 0.db 2.db --json > said; echo "code $?"; python3 -c "import json; r = json.load(open(\"said\")); print(r[\"missing_shards\"], r[\"files\"])"'
head -c 20000 1.db >half.db
t tune merge --shards all.db 0.db half.db 2.db
t tune merge --shards all.db 0.db 1.db 2.db
t tune merge --shards all.db 0.db 1.db 2.db
t sh -c 'tune verify --db all.db | grep -vc " ok "'
# A file that takes in is no shard, so that an OUT that was forgotten spoils nothing.
cp 0.db before.db
t tune merge --shards 0.db 1.db 2.db
cmp 0.db before.db
# Of a long list of missing shards the beginning.
python3 - <<'END'
import shutil, sqlite3
for i in range(40):
    shutil.copy("5.db", f"many{i}.db")
    d = sqlite3.connect(f"many{i}.db")
    d.execute(f"update shards set count = 65536, number = {10001 + 3 * i}")
    d.commit()
shutil.copy("5.db", "huge.db")
d = sqlite3.connect("huge.db")
d.execute("update shards set count = 2147483647")
d.commit()
END
t sh -c 'exec tune merge --shards many.db many*.db' | sed 's/^many.db: .*/MERGED/'
t tune merge --shards many.db huge.db
# What is known there is not tuned again, and gives hints for what is not.
printf '63 64 64\n' >>suite.txt
shard 0/1 --db new.db --known all.db
grep -E 'like the winners|corrected by' err
cut -d' ' -f1 log | grep -c trial
t tune merge --shards all.db new.db
# While a merge has locked it, for longer than a database is waited for (10 s), the shard waits.
python3 - <<'END' &
import os, sqlite3, time
d = sqlite3.connect("all.db", isolation_level=None)
d.execute("begin exclusive")
open("locked", "w").close()
while not os.path.exists("waited"):
    time.sleep(0.1)
END
until [ -e locked ]; do sleep 0.1; done
(for i in $(seq 3000); do grep -q waiting err && break; sleep 0.1; done; touch waited) &
shard 5/7 --db later.db --known all.db
grep waiting err
wait
# A machine that goes in the middle: what is finished is in the copy, and the next goes on from that.
sed -i '$d' suite.txt
: >log
FAKE_TRIAL_MS=300 shard 0/1 --db local1.db --save shared/0.db &
until sed -n '/^verify/,$p' log | grep -q ^trial; do sleep 0.1; done # a winner is stored, another problem is tried
kill -TERM "$(cat pid)"
wait
python3 -c 'import json; l = json.load(open("shared/0.db.json")); print(l["state"], l["shard"], l["shards"], l["problems"], l["done"] > 0, l["host"] != "")'
t tune merge --shards all.db shared/0.db
shard 0/1 --db local2.db --save shared/0.db
python3 -c 'import json; l = json.load(open("shared/0.db.json")); print(l["state"], l["problems"], l["done"], l["without"])'
t tune merge --shards all.db shared/0.db
# Killed at once, with a log beside the file: it goes on from its own file and the copy.
: >log
FAKE_TRIAL_MS=300 shard 0/2 --db killed.db --save shared/killed.db &
until [ "$(grep -c trial log)" -ge 3 ]; do sleep 0.1; done
kill -9 "$(cat pid)"
wait
shard 0/2 --db killed.db --save shared/killed.db
t tune merge --shards all.db shared/killed.db
t ls shared
