# What sbatch, squeue and scontrol may answer, and that none is waited for without end; and what they are asked for. They are
# scripts here, and nothing is tuned.
command -v bash >/dev/null || skip "bash is not installed"
printf '64 64 64\n65 64 64\n66 64 64\n' >suite.txt
mkdir fake
export PATH="$PWD/fake:$PATH"
fake() { # NAME, and the script behind its first line
    { echo "#!/bin/sh"; cat; } >"fake/$1"
    chmod +x "fake/$1"
}
fake scontrol <<'END'
cat config
END
: >config
fake sbatch <<'END'
echo "$@" | sed "s| /.*/| |" >>sent
case "$*" in
*dependency*) cat merge ;;
*) cat array ;;
esac
END
fake squeue <<'END'
echo "$@" >>asked
case "$*" in
*=far*) cat far ;;
*) cat near ;;
esac
END
plan() { tune cluster slurm --suite suite.txt --nodes 3 --gpus-per-node 0 --db all.db "$@"; }
# A number and a cluster, as --parsable has them: the merging job goes there, and there squeue is asked.
echo '4711;far' >array
echo '4712;far' >merge
printf '4711 0 RUNNING\n4711 1 PENDING\n' >far
printf '4711 2 RUNNING\n' >near # another job with this number
: >sent
t plan --dir far1 --submit
t cat sent
t grep -A5 jobs far1/plan.json
: >asked
t sh -c 'tune cluster status --dir far1 --format csv | cut -d, -f1,2'
t cat asked
# Then some on this cluster: each is asked for its own.
echo '4711' >array
: >far
: >asked
t tune cluster slurm --dir far1 --resume
sed -i 's/"far"/"away"/' far1/plan.json
t sh -c 'tune cluster status --dir far1 --format csv | cut -d, -f1,2'
sed -i 's/"away"/"far"/' far1/plan.json
t tune cluster slurm --dir far1 --resume --submit
: >asked
t tune cluster slurm --dir far1 --resume
t cat asked
sed -i 's/"far"/"--far"/' far1/plan.json
t tune cluster status --dir far1
# What a site's wrapper says that passes --parsable by, also in the middle of other lines.
printf 'Welcome\n16\nSubmitted batch job 4711\n' >array
echo 'Submitted batch job 4712' >merge
t plan --dir sentence --submit
printf 'Submitted batch job 4711 on cluster far\n' >array
: >sent
t plan --dir sentence2 --submit
t cat sent
# No number: all that it has said.
printf 'Welcome to the cluster\n\nYour job has been taken.\n' >array
t plan --dir none --submit
printf 'Submitted batch job soon\n4711;no cluster\n' >array
t plan --dir none2 --submit
# Other numbers and sentences beside it.
job() { # LINE...
    rm -rf job
    printf '%s\n' "$@" >array
    plan --dir job --submit 2>&1 | sed -n 's/^submitted //p; s/.*does not say/does not say/p'
}
echo 4712 >merge
t job 2026 '4711;far'
t job '4711;far' 2026
t job 'sbatch: note: Submitted batch job 1 yesterday took long' 4711
t job 'Submitted batch job 1 is an example' 'Submitted batch job 4711' 16
t job 2026 4711
t job '4711;'
t job 'Submitted batch job 4711 on cluster '
t job 'You have Submitted batch job 1'
fake sbatch <<'END'
printf 'sbatch: Welcome\nsbatch: error: Batch job submission failed: Invalid account\n' >&2
exit 1
END
t plan --dir refused --submit
# A refusal names the cores where nobody has said how many.
cores() { tune cluster slurm --suite suite.txt --nodes 2 --db all.db --gres gpu:8 --submit "$@"; }
t cores --dir cores1
t cores --dir cores2 --cpus-per-task 8
t cores --dir cores3 --cpus-per-task 0
t tune cluster slurm --dir cores1 --resume --submit
# More shards than an array may have tasks.
printf 'Configuration data as of now\nMaxArraySize            = 2\nMaxJobCount             = 10000\n' >config
: >sent
t plan --dir many
t ls many
t plan --dir many2 --submit
t cat sent
t ls -d many2
t plan --dir many2 --shards 2
# Also when it is sent later: the highest task that is sent counts.
t tune cluster slurm --dir many --resume
t tune cluster slurm --dir many --resume --submit
t cat sent
sed -i 's/"--far"/"far"/' far1/plan.json
t tune cluster slurm --dir far1 --resume
echo 'MaxArraySize            = 0' >config
t plan --dir none3 --shards 1 --submit
echo 'MaxArraySize            = 1' >config
t plan --dir none4 --submit
: >config
# Nothing is missing that was never sent, and nothing is sent again.
t tune cluster merge --dir many2
# Cores: 16 for each GPU, unless somebody says another number.
cores() { # OPTION...
    rm -rf cores
    tune cluster slurm --suite suite.txt --nodes 2 --db all.db --dir cores "$@" >said
    grep -e '^#SBATCH --gres' -e '^#SBATCH --cpus' cores/array.sh || true
}
t cores
t cores --gpus-per-node 4
t cores --gres gpu:h200:4
t cores --gres gpu
t cores --gres gpu:a100
t cores --gres 'nvme:2,gpu:h200:2,gpu:1,gpu_mem:80'
t cores --gres 'gpu:h200:4(S:0-1)'
t cores --gres nvme:2
t cores --gpus-per-node 0
t cores --gpus-per-node 4 --cpus-per-task 8
t cores --gpus-per-node 4 --cpus-per-task 0
# What the suite leaves out is said here, however quiet the tasks are to be.
printf '64,64,64\nGemmTunableOp_double_NT,nt_64_64_64\n' >suite.txt
t tune cluster slurm --suite suite.txt --nodes 1 --db all.db --dir left1
t tune cluster slurm --suite suite.txt --nodes 1 --db all.db --dir left2 -- --quiet --jobs 1000
t grep -o -e '--quiet --jobs 1000' left2/array.sh
t tune cluster slurm --suite suite.txt --nodes 1 --db all.db --dir left3 --quiet
# Compiled kernels stay on the node's disk, too, and go with the rest.
fake worker <<'END'
mkdir -p "$GEMMTUNE_CACHE" && touch "$GEMMTUNE_CACHE/kernel"
ls
echo copy >"$COPY"
END
tune cluster slurm --suite suite.txt --nodes 1 --db all.db --dir cached --program fake/worker --scratch "$PWD/disk" >said 2>&1
t env COPY=/dev/null SLURM_ARRAY_TASK_ID=0 bash cached/array.sh
t env COPY="$PWD/cached/shards/0.db" GEMMTUNE_CACHE="$PWD/own" SLURM_ARRAY_TASK_ID=0 bash cached/array.sh
t ls disk own
# Programs that never end.
for name in sbatch squeue scontrol; do fake $name <<'END'
exec sleep 600
END
done
printf '64 64 64\n' >suite.txt
export GEMMTUNE_SLURM_S=0.3
t plan --dir silent
t plan --dir silent2 --submit
fake scontrol </dev/null
fake sbatch <<'END'
echo 5
sleep 600 & # which keeps the pipe
echo $! >>left
END
t plan --dir kept --submit
xargs kill <left
# What it has started is killed with it: it submits nothing later.
fake sbatch <<'END'
(
    sleep 1
    echo 4711 | tee later
)
END
t plan --dir late --submit
sleep 1.5
t ls later
t tune cluster status --dir kept
t tune cluster merge --dir kept
t tune cluster slurm --dir kept --resume --submit
unset GEMMTUNE_SLURM_S
fake squeue <<'END'
sh -c 'echo $$ >waits; exec sleep 600'
exit 1
END
python3 - <<'END'
import os, signal, subprocess, time
def runs(pid):
    try: return open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()[0] not in "ZX"
    except OSError: return False

for number in signal.SIGINT, signal.SIGTERM:
    open("waits", "w").close()
    p = subprocess.Popen(["tune", "cluster", "status", "--dir", "kept"], start_new_session=True)
    until = time.time() + 10
    while not (waits := open("waits").read().strip()) and time.time() < until: time.sleep(0.05)
    os.kill(p.pid, number)
    print(number.name, "ends it:", p.wait(10) == -number)
    until = time.time() + 3
    while runs(waits) and time.time() < until: time.sleep(0.05)
    print("and what squeue has started:", not runs(waits))
    if runs(waits): os.kill(int(waits), signal.SIGKILL)
END
