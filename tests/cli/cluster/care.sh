# tune cluster: what is wrong is told before anything is written, nothing is sent twice, and nothing is lost. The GPU is a fake
# child's; sbatch, squeue and apptainer are scripts.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
command -v bash >/dev/null || skip "bash is not installed"
export GEMMTUNE_EXE=$FAKE FAKE_STEADY=1
printf '64 64 64\n65 64 64\n66 64 64\n' >suite.txt
mkdir fake
printf '#!/bin/sh\nexit 1\n' >fake/scontrol # not that of this machine
chmod +x fake/scontrol
export PATH="$PWD/fake:$PATH"
plan() { tune cluster slurm --suite suite.txt --nodes 2 --gpus-per-node 0 "$@"; }
# One budget, that of the user, else one that ends before Slurm's signal.
budget() { # DIR
    bash -n "$1/array.sh"
    if command -v shellcheck >/dev/null; then shellcheck "$1/array.sh" "$1/merge.sh"; fi
    grep -o -e '--budget [^ ]*' "$1/array.sh"
}
t plan --db all.db --dir b1 --time 8:00:00 -- --budget 1h
t budget b1
plan --db all.db --dir b2 --time 8:00:00 >said
t budget b2
plan --db all.db --dir b3 --time 15 >said
t budget b3
t plan --db all.db --dir b4 --time 9:59
t plan --db all.db --dir b5 --time 10 --budget 8h
t budget b5
# Files have whole paths; what a script cannot hold is refused.
mkdir images
plan --db all.db --dir p2 --program images/tune >said
t grep '^tune=' p2/array.sh
plan --db all.db --dir p3 --container images/tune.sif >said
plan --db all.db --dir p4 --container '~/tune.sif' >said
plan --db all.db --dir p5 --container docker://registry.example/tune >said
t grep -h '^tune=' p3/array.sh p4/array.sh p5/array.sh
t plan --db all.db --dir no --container nowhere/tune.sif
t plan --db all.db --dir no --container tune.sif --program bin/tune
t plan --db all.db --dir no --scratch '/x${y'
t plan --db all.db --dir no --scratch '/x${y:-a${b}}'
t plan --db all.db --dir no --scratch '/x$'
t plan --db all.db --dir no --scratch '/x$1'
t plan --db all.db --dir no --scratch '/x}'
t plan --db all.db --dir no --scratch tmp
plan --db all.db --dir s1 --scratch '${A}/$B/${C:-/c}x' >said
t grep '^scratch=' s1/array.sh
plan --db all.db --dir 'p%a' >said
t grep -h output= p%a/array.sh p%a/merge.sh
t plan --db all.db --dir 'a,b' --container docker://x
t plan --db a:b.db --dir no --container docker://x
t plan --db all.db --dir no -- --suite other.txt
t plan --db all.db --dir no -- --suite=other.txt
t plan --db all.db --dir no -- --help
t tune cluster slurm --resume --dir p2 --partition gpu
t tune cluster slurm --resume --dir p2 --scratch /tmp
t tune cluster merge --dir p2 --format json
# The database that takes all in.
mkdir folder
echo text >text.db
t plan --db folder --dir no
t plan --db text.db --dir no
plan --db "$(printf 'a\377b.db')" --dir no 2>&1 | sed 's/[^a-zA-Z0-9 :.]/?/g; s/.*work//'
t plan --dir 'n o'
t sh -c 'ls -A ~'
t plan --dir usual
mkdir -p old/shards
touch old/shards/7.db
t plan --db all.db --dir old
t sh -c 'ls -d no a,b old/plan.json old/log'
# A container has the folder of what is known.
printf '#!/bin/sh\necho "$4"\n' >fake/apptainer
chmod +x fake/apptainer
mkdir known
plan --db known/all.db --dir c1 --container docker://x --scratch "$PWD/scratch" >said
task() { SLURM_ARRAY_TASK_ID=$2 SLURM_JOB_ID=1 bash "$1/array.sh" 2>&1; }
t task c1 0
touch known/all.db
t task c1 0
# Exit code 1 is a success only of a run that came to its end.
printf '#!/bin/sh\ntouch shard-0.db shard-0.db-wal\nexit 1\n' >images/tune
chmod +x images/tune
plan --db all.db --dir e1 --program images/tune --scratch "$PWD/disk" >said
t task e1 0
t sh -c 'ls disk/*-0'
# Its files on the node's disk go after a success with a copy, and only its own.
echo copy >e1/shards/0.db
t task e1 0
t sh -c 'ls disk/*-0'
echo '{"state":"finished"}' >e1/shards/0.db.json
: >e1/shards/0.db
t task e1 0
t sh -c 'ls disk/*-0'
echo copy >e1/shards/0.db
touch "$(echo disk/*-0)/other"
t task e1 0
t sh -c 'ls disk/*-0'
rm disk/*-0/other
t task e1 0
t ls disk
# Its folder there has a name that others can know: one that they have made, or may write in, is not used.
plan --db all.db --dir f1 --program images/tune --scratch "$PWD/open" >said
folder=$(bash -c "shard=0; $(grep '^scratch=' f1/array.sh); echo \"\$scratch\"")
mkdir -p "$folder" && chmod 777 "$folder"
refused() { task f1 0 | sed "s|^.*/gemmtune-$(id -u)-|gemmtune-|; s|^gemmtune-[^ ]*-0 |SCRATCH |"; }
t refused
t cut -d' ' -f1 f1/state/0
rm -r "$folder" && mkdir mine && ln -s "$PWD/mine" "$folder"
t refused
rm "$folder" && mkdir -m 700 "$folder"
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$folder"
    refused >said
    grep -c "another user" said || true
    chown 0 "$folder"
else echo 1; fi
t ls -A "$folder" mine
t task f1 0
t sh -c "stat -c %a open/*"
# What is known is not known only where there is no such file.
rm -r known && touch known
plan --db all.db --dir k1 --program images/tune --scratch "$PWD/disk" >said
sed -i "s|$PWD/all.db|$PWD/known/all.db|" k1/array.sh
t task k1 0
mkdir loop loop2
ln -s plan.json loop/plan.json
t plan --db all.db --dir loop
touch loop2/shards
t plan --db all.db --dir loop2
t ls loop loop2
# Its own jobs, whoever sent them; without an answer of the queue nothing is sent twice.
cat >fake/squeue <<'END'
#!/bin/sh
echo "$*" >asked
[ ! -e forgotten ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
[ ! -e broken ] || { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
cat queue
END
cat >fake/sbatch <<'END'
#!/bin/sh
echo sent >>sent
for last; do :; done
[ ! -e spoil ] || { rm -f "${last%/*}/plan.json"; mkdir -p "${last%/*}/plan.json"; }
case "$*" in
*dependency*)
    cp "${last%/*}/plan.json" before 2>/dev/null
    echo 502
    ;;
*) echo 501 ;;
esac
END
chmod +x fake/squeue fake/sbatch
printf '501 0 RUNNING\n501 1 PENDING\n' >queue
t plan --db all.db --dir q --submit
t grep -h '"array"\|"merge"' before q/plan.json
t tune cluster slurm --dir q --resume
t cat asked
touch broken
: >sent
t tune cluster slurm --dir q --resume
t tune cluster slurm --dir q --resume --submit
t cat sent
rm broken
touch forgotten
t tune cluster slurm --dir q --resume
rm forgotten
touch spoil
t plan --db all.db --dir q2 --submit
rm spoil
# Two that send at once: the second waits, and finds in the queue what the first has sent.
plan --db all.db --dir both >said
cat >fake/sbatch <<'END'
#!/bin/sh
echo sent >>sent
case "$*" in
*dependency*) echo 602 ;;
*)
    sleep 1
    printf '601 0 PENDING\n601 1 PENDING\n' >queue
    echo 601
    ;;
esac
END
: >queue
: >sent
for i in 1 2; do tune cluster slurm --dir both --resume --submit >said$i 2>&1 & done
wait
t cat sent
t sh -c 'sort said1 said2 | grep -v waiting:'
t grep -c '"array"' both/plan.json
t ls both
: >sent
for i in 1 2; do plan --db all.db --dir begun --submit >said$i 2>&1 & done
wait
t cat sent
t sh -c 'sort said1 said2 | grep -v waiting:'
# States: of lines and of ends.
: >queue
now=$(date +%s)
line() { # SHARD STATE WRITTEN LEFT_OUT
    suite=$(sed -n 's/.*"suite": "\(.*\)".*/\1/p' q/plan.json)
    printf '{"suite":"%s","shard":%s,"shards":2,"state":"%s","host":"n1","problems":2,"done":1,"known":0,"without":0,"left_out":%s,"trials":9,"began":1,"written":%s,"budget_s":1,"spent_s":1,"boost_mhz":0,"gpus":[]}' \
        "$suite" "$1" "$2" "$4" "$3" >q/shards/$1.db.json
}
show() { tune cluster status --dir q --format csv | cut -d, -f1-4,13; }
line 0 running $now 0
echo '130 n2 7' >q/state/1
show
line 0 running 99999999999999 0
show
touch q/shards/0.db q/shards/1.db
line 0 finished $((now - 100)) 0
line 1 interrupted $((now - 100)) 0
show
echo '7 n2 8' >q/state/0
show
echo '7 n2 8' >q/state/1
touch -d '@1000000000' q/state/0
show
# What other nodes wrote controls no terminal.
printf '7 n\033[31m 8\n' >q/state/1
rm q/shards/1.db.json
t tune cluster merge --dir q
rm q/state/* q/shards/*
t tune cluster merge --dir q
sed -i 's/"shards": 2/"shards": 4294967298/' q/plan.json
t tune cluster status --dir q
sed -i 's/"shards": 4294967298/"shards": 2/; s/"suite": "./"suite": "\//' q/plan.json
t tune cluster status --dir q
# Copies: one of a later schema stays where it is; a second one that is damaged has a name of its own.
plan --db all.db --dir m --scratch "$PWD/scratch2" -- --no-pretuned --max-trials 5 --space "$SOURCES/tests/fake/space.conf" >said
task m 0 >said || cat said
task m 1 >said || cat said
t ls scratch2
cp m/shards/1.db good.db
cp m/shards/1.db.json good.json
t plan --db m/shards/0.db --dir no
sed 's/"left_out":0/"left_out":1/' good.json >m/shards/1.db.json
t tune cluster merge --dir m
cp good.json m/shards/1.db.json
python3 -c 'import sqlite3; c = sqlite3.connect("m/shards/1.db"); c.execute("PRAGMA user_version = 99"); c.close()'
t tune cluster merge --dir m
for i in 1 2; do
    echo "damaged $i" >m/shards/1.db
    t tune cluster merge --dir m
done
t sh -c 'cat m/shards/1.db.refused*'
# Two tasks of one shard at once: the copy has what both have found.
printf '64 64 64\n65 64 64\n' >suite.txt
plan --db both.db --dir twice -- --no-pretuned --max-trials 20 --space "$SOURCES/tests/fake/space.conf" >said
for i in 1 2; do
    (code=0; mkdir node$i; FAKE_LOG=$PWD/log$i FAKE_TRIAL_MS=100 TMPDIR=$PWD/node$i task twice 0 >node$i.log || code=$?; echo "$code" >code$i) &
done
wait
t cat code1 code2
t ls node1 node2
found=$(grep -c '^trial' log1 log2 | awk -F: '{ sum += $2 } END { print sum }')
copied=$(python3 -c 'import sqlite3; print(sqlite3.connect("twice/shards/0.db").execute("SELECT count(*) FROM trials").fetchone()[0])')
echo "found $found, copied $copied"
