#!/bin/bash
# Each task of this job array tunes one share of the problems in @DIR@/suite.txt: its shard.
#
# Written by "tune cluster slurm", and yours to edit: nothing reads it but sbatch. What is missing or failed is sent again by
#   tune cluster slurm --dir @DIR@ --resume --submit
#SBATCH --job-name=@NAME@
#SBATCH --array=@ARRAY@
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gres=@GRES@
#SBATCH --cpus-per-task=@CPUS@
#SBATCH --partition=@PARTITION@
#SBATCH --account=@ACCOUNT@
#SBATCH --qos=@QOS@
#SBATCH --constraint=@CONSTRAINT@
#SBATCH --time=@TIME@
#SBATCH --output=@LOG@/log/shard-%a.log
#SBATCH --open-mode=append
# A task whose node dies, or that makes room for another job, is put back in the queue and goes on from its last copy.
#SBATCH --requeue
# Two to three minutes before its time is over this script gets a signal.
#SBATCH --signal=B:TERM@120

dir='@DIR@'
shard=${SLURM_ARRAY_TASK_ID:?is not set: this is a task of a job array}

# For "tune cluster status", also where tune could not say it itself.
note_end() { # EXIT_CODE
    echo "$1 $(hostname) ${SLURM_JOB_ID:-}" >"$dir/state/.$shard.$$" && mv "$dir/state/.$shard.$$" "$dir/state/$shard"
}
give_up() { # WHY
    echo "$1" >&2
    note_end 7
    exit 7
}

module load @MODULE@

# The database is on a disk of the node, because its log does not work on network file systems; tune keeps a copy in
# $dir/shards, written whole every minute or so and at the end, and begins with it. The folder is this shard's alone, and has
# no number of a job in its name, so that a task that comes back to a node finds what it left. Where that disk is everybody's
# (/tmp), others know the name too: only a folder that this user has made, and nobody else may write in, is used.
scratch="@SCRATCH@/gemmtune-$UID-@ID@-$shard"
mkdir -p "@SCRATCH@"
[ -d "$scratch" ] || mkdir -m 700 "$scratch"
cd "$scratch" || give_up "$scratch cannot be used"
if [ -L "$scratch" ] || [ ! -O . ] || ! others=$(find . -prune -perm /022) || [ -n "$others" ]; then
    give_up "$scratch is a link, or another user's, or others may write in it: look at it, remove it, or choose another --scratch"
fi

# Compiled kernels, too: home folders are often full, or slow from many nodes at once.
export GEMMTUNE_CACHE="${GEMMTUNE_CACHE:-$scratch/cache}"

# What is known already, by earlier arrays, is not tuned again. Only "no such file" means that nothing is.
known=(--known '@DB@')
if ! why=$(LC_ALL=C stat -L '@DB@' 2>&1 >/dev/null); then
    case $why in
    *': No such file or directory') known=() ;;
    *) give_up "$why" ;;
    esac
fi

tune=('@PROGRAM@')
tune=(apptainer exec --nv --bind "$dir,$scratch${known[0]:+,@DB_DIR@}" '@CONTAINER@' '@PROGRAM@') # with pyxis: srun --container-image=... tune

"${tune[@]}" --suite "$dir/suite.txt" --shard "$shard/@SHARDS@" --gpus all --db "shard-$shard.db" \
    --save "$dir/shards/$shard.db" "${known[@]}" @OPTIONS@ &
child=$!
# tune ends its trial, stores what it has and leaves a copy.
trap 'kill -TERM "$child" 2>/dev/null' TERM INT
code=0
while :; do
    wait "$child"
    code=$?
    kill -0 "$child" 2>/dev/null || break # else the wait was cut short by the signal
done

# Some problem without a winner (1) is no failure, if its run came to its end.
note_end "$code"
[ "$code" = 1 ] && grep -qs '"state":"finished"' "$dir/shards/$shard.db.json" && code=0

# Done, and the last copy is there: nothing on the node's disk is needed any more. After a failure it stays.
if [ "$code" = 0 ] && [ -s "$dir/shards/$shard.db" ]; then
    rm -rf "$scratch/cache" "$scratch/shard-$shard.db" "$scratch/shard-$shard.db"[-.]*
    cd / && rmdir "$scratch"
fi
exit "$code"
