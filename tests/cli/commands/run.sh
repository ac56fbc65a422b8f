# tune run: the program is as it would be without us; what is in the way is said in a line.
BUILD=$(dirname "$(readlink -f "$(command -v tune)")")
[ -e "$BUILD/runtime/dropin/libgemmtune_cublas.so" ] || skip "the drop-in is not built"
FAKE=$BUILD/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_DB=$SCRATCH/winners.db
export ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0:detect_leaks=0" # the sanitizers come into other programs
t tune run
t tune run sh -c true
t tune run --off --log -- true
t tune run --learn soon -- true
t tune run -q -- no-such-program
echo text >text
t tune run -- ./text
t tune run --learn 1s -- no-such-program

echo "# arguments, streams, exit code, signal"
t tune run -- printf '%s|' --help -- 'a b' '' '*'
t sh -c 'echo in | tune run -- sh -c "cat; echo err >&2; exit 7"'
t tune run -- sh -c 'kill -TERM $$'
t tune run --learn 1s -- sh -c 'kill -TERM $$'
for options in '' '--learn 1s'; do
    t sh -c "tune run $options -- sh -c 'trap \"echo stopped; exit 3\" TERM; touch ready; while :; do sleep 0.1; done' & until [ -e ready ]; do sleep 0.1; done; rm ready; kill -TERM \$!; wait \$!"
done

echo "# what the program inherits"
state='grep -E "SigBlk|SigIgn" /proc/self/status; ulimit -a; ls -l /proc/self/fd | wc -l'
(ulimit -s 4096; ulimit -n 30; sh -c "$state" >alone; tune run -- sh -c "$state" >under; tune run --learn 1s -- sh -c "$state" >learnt 2>/dev/null)
t cmp alone under
t cmp alone learnt
t tune run -- sh -c 'echo ${LD_PRELOAD##*/} $GEMMTUNE_LOG $GEMMTUNE_DROPIN $GEMMTUNE_CAPTURE'
t tune run --off -- sh -c 'echo ${LD_PRELOAD##*/} $GEMMTUNE_DROPIN'
t tune run --log --capture seen.txt --db my.db -- sh -c 'echo $GEMMTUNE_LOG ${GEMMTUNE_CAPTURE##*/} ${GEMMTUNE_DB##*/}'
t env LD_PRELOAD=/nowhere/other.so tune run -- sh -c 'echo ${LD_PRELOAD#*:}'
t tune run -- tune run -- sh -c 'echo "$LD_PRELOAD" | grep -o libgemmtune_cublas'
t env ASAN_OPTIONS=detect_leaks=0 tune run -- tune run -- sh -c 'echo $ASAN_OPTIONS'
t env ASAN_OPTIONS=verify_asan_link_order=false:detect_leaks=0 tune run -- sh -c 'echo $ASAN_OPTIONS'

echo "# the rival is cuBLAS, also where every program has the drop-in"
printf '#!/bin/sh\necho "$GEMMTUNE_DROPIN" >>"%s/drop_in"\nexit 1\n' "$PWD" >child
chmod +x child
for command in "tune --shape 64x64x64 --budget 1s" "tune bench --shape 64x64x64"; do
    rm -f drop_in
    GEMMTUNE_EXE=$PWD/child GEMMTUNE_DROPIN=nearest $command >found 2>progress || true
    t sh -c 'sort -u drop_in'
done
t env GEMMTUNE_DROPIN=nearest tune run -- sh -c 'echo $GEMMTUNE_DROPIN'

echo "# learning"
mkdir temporary
export TMPDIR=$PWD/temporary
t tune run --learn 1s -- sh -c 'exit 5'
record='echo "sgemm:nn:32x32x32  # count=1000 time_us=50" >$GEMMTUNE_CAPTURE; exit 5'
mkdir -p proc/driver/nvidia/gpus/0
echo 'Model: NVIDIA H200' >proc/driver/nvidia/gpus/0/information
export GEMMTUNE_EXE=$FAKE GEMMTUNE_PROC=$PWD/proc
tune --shape 32x32x32 --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials 20 -q >found 2>progress
t tune run --learn 1s --capture seen.txt -- sh -c "$record"
t cat seen.txt
t ls temporary
t tune run --learn "$(printf %069d 1)s" --capture seen.txt -- sh -c "$record"

echo "# a signal that asks to end"
program='echo "sgemm:nn:32x32x32  # count=1000 time_us=50" >$GEMMTUNE_CAPTURE; trap "echo asked >asked; exit 3" TERM; touch ready; while :; do sleep 0.1; done'
signalled() { # SIGNAL: to tune run, when the program is ready; how it ended
    rm -f ready asked
    tune run --learn 1h -- sh -c "$program" &
    until [ -e ready ]; do sleep 0.1; done
    kill "-$1" $!
    code=0
    wait $! || code=$?
    for _ in $(seq 100); do [ -e asked ] || sleep 0.1; done
    cat asked
    return $code
}
t signalled TERM
t cat temporary/*
t tune run --learn 1s -- true
rm temporary/*
t signalled KILL
t tune run --learn 1s -- true
rm temporary/*

echo "# a hangup asks only what dies of it"
hung_up() { # COMMAND...: SIGHUP to it when its program is ready; its exit code, and what came of it
    rm -f ready go
    "$@" >shown 2>said &
    until [ -e ready ]; do sleep 0.1; done
    kill -HUP $!
    touch go
    code=0
    wait $! || code=$?
    cat shown
    grep -E 'asked to end|next run' said >&2
    return $code
}
ready='touch ready; until [ -e go ]; do sleep 0.1; done; sleep 0.2;'
t hung_up tune run --learn 1s -- sh -c "echo 'sgemm:nn:32x32x32  # count=1000 time_us=50' >\$GEMMTUNE_CAPTURE; $ready exit 5"
rm temporary/*
t hung_up nohup tune run --learn 1s -- sh -c "$ready $record"
t hung_up tune run --learn 1s -- sh -c "trap 'echo reads its files again' HUP; $ready $record"
t ls temporary

echo "# the command for a shell, also where all else is quiet"
mkdir "it's mine"
t sh -c 'TMPDIR="$PWD/it'"'"'s mine" exec tune run -q --learn 1h -- sh -c "$0"' 'echo "sgemm:nn:32x32x32  # count=1000 time_us=50" >$GEMMTUNE_CAPTURE; kill -TERM $PPID; sleep 0.5'
t env TMPDIR="$PWD/it's mine" tune run --learn 1h -- env -i true

echo "# what stops and goes on with its program"
stopped() {
    rm -f ready
    tune run --capture stopped.txt -- sh -c 'trap "kill -STOP \$\$" TSTP; trap "echo goes on; exit 3" CONT; echo $$ >number; touch ready; while :; do sleep 0.1; done' 2>/dev/null &
    until [ -e ready ]; do sleep 0.1; done
    kill -TSTP $!
    for process in $! $(cat number); do
        for _ in $(seq 30); do [ "$(cut -d' ' -f3 /proc/$process/stat)" = T ] || sleep 0.1; done
        cut -d' ' -f3 /proc/$process/stat
    done
    kill -CONT $!
    for _ in $(seq 30); do [ ! -e /proc/$(cat number) ] || sleep 0.1; done
    kill -TERM $(cat number) 2>/dev/null || true
    wait $!
}
t stopped

echo "# what nothing is recorded of"
nothing='env -i PATH=/usr/bin:/bin LD_PRELOAD='
t tune run --learn 1s -- $nothing true
t tune run --capture none.txt -- $nothing sh -c 'exit 4'
t tune run --capture none.txt -- sh -c 'kill -TERM $$'
t tune run --capture none.txt -- sh -c "$record"
t tune run -q --capture none.txt -- true
t tune run --capture parts.txt -- sh -c 'echo "sgemm:nn:32x32x32  # count=7 time_us=50" >$GEMMTUNE_CAPTURE.part-0123456789abcdef'
t sh -c 'ls parts.txt* && grep count=7 parts.txt'
t tune run --learn 1s -- sh -c 'echo "sgemm:nn:32x32x32  # count=7 time_us=50" >$GEMMTUNE_CAPTURE.part-0123456789abcdef'
t tune run --learn 1s -- sh -c "${record%exit 5} exit 126"
t ls temporary
t tune run --capture none.txt -- no-such-program
