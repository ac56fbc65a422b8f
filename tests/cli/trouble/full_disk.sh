# A disk that is full from the start: a sentence, and no file and no folder is left.
mkdir disk
if ! unshare -m mount -t tmpfs -o size=40k none disk 2>/dev/null; then skip "nothing may be mounted here"; fi
unshare -m sh -eu -c '
    . "$SCRATCH/t.sh"
    mount -t tmpfs -o size=40k none disk
    t tune import "$SOURCES/configs/winners/h200.jsonl" --db disk/a/b/my.db
    t tune --shape 64x64x64 --gpu h200 --budget 5s --db disk/my.db
    t tune merge disk/other.db disk/my.db
    t ls -A disk
    mount -o remount,size=1m disk
    t sh -c "tune import $SOURCES/configs/winners/h200.jsonl --db disk/a/b/my.db >/dev/null"
    export XDG_CACHE_HOME=$PWD/disk/cache
    head -c 10000000 /dev/zero >disk/filler 2>/dev/null || true
    t sh -c "tune export --db disk/a/b/my.db --header disk/h200.h 2>&1 | grep -v -e left.out -e NVIDIA.s.library -e more,.named"
    t ls -A disk
    t sh -c "tune verify --db disk/a/b/my.db >/dev/null"
'
