# Where a file belongs there is a pipe, which nobody writes, or a folder: it is refused by name, and never waited for. The GPU is a
# fake child's.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
command -v bash >/dev/null || skip "bash is not installed"
export GEMMTUNE_EXE=$FAKE FAKE_STEADY=1
soon() { # COMMAND, shown without the limit
    echo "$ $*"
    code=0
    timeout 30 "$@" >said 2>&1 </dev/null || code=$?
    grep -E 'pipe|folder|no file|regular|winners that ship|denied' said || tail -n 3 said
    [ $code = 0 ] || echo "= $code"
}
# The folder that machines share.
printf '64 64 64\n65 64 64\n66 64 64\n' >suite.txt
plan() { timeout 30 tune cluster slurm --suite suite.txt --nodes 3 --gpus-per-node 0 --db all.db "$@"; }
mkdir plan
mkfifo plan/plan.json
soon tune cluster status --dir plan
soon tune cluster slurm --dir plan --resume
soon tune cluster merge --dir plan
rm plan/plan.json
for name in array.sh merge.sh suite.txt; do
    mkfifo plan/$name
    soon tune cluster slurm --suite suite.txt --nodes 3 --db all.db --dir plan
    rm plan/$name
done
plan --dir files >said
mkfifo files/state/0 files/shards/1.db.json
mkdir files/shards/2.db.json
soon tune cluster status --dir files --format csv
mkfifo files/shards/0.db
soon tune cluster merge --dir files
# A shard's copy and its line; a run's files. A copy takes the place of no device.
run() { soon tune --shape 64x64x64 --no-pretuned --max-trials 3 --space "$SOURCES/tests/fake/space.conf" "$@" | sed '1s/.*space.conf/$ run/'; }
tune --shape 64x64x64 --no-pretuned --max-trials 3 --space "$SOURCES/tests/fake/space.conf" --db a.db >said 2>&1
mkfifo copy.db.json
run --again --db a.db --save copy.db
rm copy.db*
mkfifo copy.db
run --again --db a.db --save copy.db
t stat -c %F copy.db
run --db copy.db
run --db other.db --known copy.db
# A log that is none: SQLite itself would wait.
for suffix in -journal -wal -shm; do
    cp a.db b$suffix.db
    mkfifo "b$suffix.db$suffix"
    soon tune query --db b$suffix.db
    soon tune merge merged.db b$suffix.db
done
mkfifo new.db-journal
run --db new.db
# What is installed.
cp -r "$SOURCES/configs" configs
export GEMMTUNE_CONFIGS=$PWD/configs
mkfifo configs/winners/a.jsonl
soon tune query --gpu h200 --db a.db
rm configs/winners/a.jsonl
mkfifo configs/gpus/a.conf
soon tune query --gpu h200 --db a.db
rm configs/gpus/a.conf configs/spaces/simt.conf configs/cluster/slurm_array.sh
mkfifo configs/spaces/simt.conf configs/cluster/slurm_array.sh
soon tune --shape 64x64x64 --gpu h200 --db a.db
soon tune cluster slurm --suite suite.txt --nodes 3 --db all.db --dir other
export GEMMTUNE_CONFIGS="$SOURCES/configs"
# A library, and the program that runs a script.
mkfifo fifo
soon env GEMMTUNE_LIBNVRTC="$PWD/fifo" tune doctor
printf '#!%s\n' "$PWD/fifo" >script
chmod +x script
soon tune run -- ./script
# A pipe that the user names is read.
t timeout 30 bash -c 'tune cluster slurm --suite <(echo 7 8 9) --nodes 1 --db all.db --dir named'
t cat named/suite.txt
t timeout 30 bash -c 'tune --space <(echo no space) --shape 64x64x64 --db a.db'
t timeout 30 bash -c 'tune --from-capture <(echo no capture) --db a.db'
