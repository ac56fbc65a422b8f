# Scripts for Slurm, what they do without it, and what is said of their shards. (A real Slurm is in tests/cluster.) The GPU is a
# fake child's; sbatch and squeue are scripts that say what is wanted.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
command -v bash >/dev/null || skip "bash is not installed"
printf '64 64 64\n65 64 64\n66 64 64\n67 64 64\n' >suite.txt
printf '#!/bin/sh\nexit 1\n' >"$SCRATCH/bin/scontrol" # not that of this machine
chmod +x "$SCRATCH/bin/scontrol"
# What is wrong is told before anything is written.
t tune cluster
t tune cluster start
t tune cluster slurm --nodes 2
t tune cluster slurm --suite suite.txt
t tune cluster slurm --suite none.txt --nodes 2 --db all.db
t tune cluster slurm --suite suite.txt --nodes 0
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db --time tomorrow
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db --gres gpu:1 --gpus-per-node 1
t tune cluster slurm --suite suite.txt --nodes 2 --db nowhere/all.db
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db -- --shard 0/2
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db -- --db other.db
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db -- --spaec wide
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db -- --space small.conf
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db --dir 'a b'
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db --dir ok --partition 'p
#SBATCH --wrap=x'
t tune cluster slurm --resume --nodes 3
t tune cluster status
t tune cluster status --nodes 3
t tune cluster merge --dir .
rm -rf 'a b' ok
t ls
# Every wish has its line, and bash can read the scripts.
t tune cluster slurm --suite suite.txt --nodes 2 --shards 3 --db all.db --dir full --partition gpu --account me --qos night --constraint 'a100|h100' \
    --gres gpu:h200:2 --cpus-per-task 8 --time 1-00:00:00 --module cuda/13.0 --module gcc --container /images/tune.sif --merge-partition cpu \
    --scratch '/local/$USER' -- --hot --seed 3 --report "/tmp/it's a page.html"
t grep -E '^#SBATCH|^module|^scratch=|^tune=|shard "' full/array.sh
t grep -E '^#SBATCH|^module|^tune=' full/merge.sh
t sh -c 'eval "printf \"%s\n\" $(sed -n "s/.*\(--budget.*\) &/\1/p" full/array.sh)"'
t bash -n full/array.sh
t bash -n full/merge.sh
if command -v shellcheck >/dev/null; then shellcheck full/array.sh full/merge.sh; fi
t cat full/suite.txt
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db --dir full
# sbatch is missing, refuses, says nothing; the second is refused.
mkdir -p empty fake
slurm() { tune cluster slurm --suite suite.txt --nodes 2 --shards 3 --db all.db --gpus-per-node 0 --budget 2h "$@" -- --no-pretuned --max-trials 20 --space "$SOURCES/tests/fake/space.conf"; }
ln -s "$(readlink -f "$(command -v tune)")" empty/tune
t env PATH="$PWD/empty" tune cluster slurm --suite suite.txt --nodes 2 --db all.db --dir missing --submit
cat >fake/sbatch <<'END'
#!/bin/sh
echo "$@" | sed "s| /.*/| |" >>submitted
[ ! -e refuse ] || { echo "sbatch: error: invalid partition specified: gpu" >&2; exit 1; }
[ ! -e say_nothing ] || { echo hello; exit; }
case "$*" in
*dependency*) [ ! -e refuse_merge ] || { echo "sbatch: error: no" >&2; exit 1; }; echo 102 ;;
*) echo "101;cluster" ;;
esac
END
cat >fake/squeue <<'END'
#!/bin/sh
cat queue
END
chmod +x fake/sbatch fake/squeue
touch queue
export PATH="$PWD/fake:$PATH"
touch refuse
t slurm --dir refused --submit
rm refuse
touch say_nothing
t slurm --dir mute --submit
rm say_nothing
touch refuse_merge
t slurm --dir half --submit
rm refuse_merge
# A task may have more than a year, and a budget not.
t tune cluster slurm --suite suite.txt --nodes 2 --db all.db --dir year --time 400-00:00:00
t sh -c 'tune --suite none.txt $(grep -oE -e "--budget [0-9]+s" year/array.sh)'
# Nothing is missing that was never sent.
t tune cluster status --dir year
: >submitted
t slurm --dir run --submit
t cat submitted
t slurm --dir run --submit
# Tasks: one that ends, one that is stopped, one that never begins.
export GEMMTUNE_EXE=$FAKE FAKE_STEADY=1 FAKE_LOG=$PWD/log
task() { # NUMBER NODE
    TMPDIR=$PWD/$2 SLURM_ARRAY_TASK_ID=$1 bash run/array.sh >/dev/null 2>run/log/$1 &
    echo $! >pid
    code=0
    wait $! || code=$?
    echo "task $1 on $2 ends with $code"
}
task 1 node1
task 9 node1
cat run/log/9 run/state/9 | cut -d' ' -f1-12
rm run/state/9
: >log
FAKE_TRIAL_MS=300 task 0 node1 &
until sed -n '/^verify/,$p' log | grep -q ^trial; do sleep 0.1; done # one problem has a winner, the other has begun
kill -TERM "$(cat pid)"
wait
show() {
    echo "$ status"
    tune cluster status --dir run --format csv 2>said | cut -d, -f1-5,7,13 | sed 's/,[^,]* says nothing.*/,.../'
    cat said
}
printf '101 2 PENDING\n101 0 REQUEUED\n999 1 RUNNING\n' >queue
show
t tune cluster slurm --dir run --resume
: >queue
show
t tune cluster slurm --dir run --resume
: >submitted
t tune cluster slurm --dir run --resume --submit
t cat submitted
t tune cluster merge --dir run
t sh -c 'tune query --db all.db --format csv | wc -l'
# A node that goes on from the copy of another; a GPU that is slow; a copy cut in the middle.
FAKE_UUID=GPU-a FAKE_CLOCK_MHZ=1700 task 0 node2
FAKE_UUID=GPU-b FAKE_CLOCK_MHZ=900 task 2 node3
t tune cluster merge --dir run
t tune cluster merge --dir run
show
t tune cluster slurm --dir run --resume --submit
head -c 20000 run/shards/1.db >half.db && cp half.db run/shards/1.db
cp run/shards/0.db run/shards/2.db # of another number
t tune cluster merge --dir run
t sh -c 'ls run/shards | grep -v lock'
show
t tune cluster slurm --dir run --resume
echo nonsense >run/shards/0.db.json
show
echo nonsense >run/plan.json
t tune cluster status --dir run
# squeue is not there: from the files alone, and nothing is sent twice. One that says it runs and is silent has failed.
t slurm --dir silent --submit
rm -rf fake
t env PATH="$PWD/empty" tune cluster slurm --dir silent --resume
t env PATH="$PWD/empty" tune cluster slurm --dir silent --resume --submit
sed 's/"state":"[a-z]*"/"state":"running"/; s/"written":[0-9]*/"written":1700000000/' run/shards/1.db.json >silent/shards/1.db.json
t sh -c "PATH=$PWD/empty tune cluster status --dir silent --format csv | cut -d, -f1,2"
# Half of the budget of one is over: the others wait for it.
python3 - <<'END'
import json, time
line = json.load(open("silent/shards/1.db.json"))
line.update(state="running", written=int(time.time()), began=int(time.time()) - 3600, budget_s=7200, done=0, trials=400, host="n1", gpus=[])
json.dump(line, open("silent/shards/1.db.json", "w"))
END
t env PATH="$PWD/empty" tune cluster status --dir silent
t sh -c "PATH=$PWD/empty tune cluster status --dir silent --format json 2>/dev/null | python3 -c 'import json, sys; print([(s[\"shard\"], s[\"state\"], s[\"left_s\"] is not None) for s in json.load(sys.stdin)])'"
