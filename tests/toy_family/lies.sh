#!/bin/sh
# lies.sh TUNE_LIES: a family whose description of its kernels is wrong gets no prediction that is better for it.
# toy_family.cmake says what is wrong for which rows of a tile.
set -eu
lies=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" GEMMTUNE_LIBCUDA="$scratch/no-driver" LC_ALL=C
problem=4096x4096x4096

fail() {
    cat "$scratch/out" "$scratch/err"
    echo "$*"
    exit 1
}
# predict ROWS COLUMNS OF_A_THREAD: what is said of tiles of this size.
predict() {
    printf '[toy]\nBM = %s\nBN = %s\nTN = %s\n' "$1" "$2" "$3" >"$scratch/toy.conf"
    code=0
    "$lies" tune --shape $problem --gpu h200 --budget 1h --space "$scratch/toy.conf" --db "$scratch/$1.db" --format csv \
        >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
}

# Bounded: a block has all sums of its tile, whatever share its threads are said to have.
predict 128 128 16
grep -qi 'nvrtc' "$scratch/err" && [ $code != 0 ] && exit 77 # no compiler here
[ $code = 0 ] || fail "the toy with a wrong share of a tile is not predicted"
tflops=$(tail -1 "$scratch/out" | cut -d, -f5)
echo "with a 64th of the sums in tm and tn: $tflops TFLOPS of 66.9"
awk "BEGIN { exit !($tflops < 66.9) }" || fail "more than the GPU has is stored"

# Refused.
predict 8 64 4
grep -q 'the family toy describes 64 sums a thread, and its kernel is compiled to [0-9]* registers' "$scratch/err" ||
    fail "nobody compares sums with registers"
[ $code = 1 ] && grep -q 'no winner' "$scratch/out" || fail "it is predicted all the same"

predict 16 64 4
grep 'the model of the family toy predicts .* TFLOPS), and the GPU (66.9 TFLOPS, 4800 GB/s) needs .* its description is wrong' \
    "$scratch/err" || fail "a time above the roofline is possible"
[ $code = 1 ] && grep -q 'no winner' "$scratch/out" || fail "it is predicted all the same"
echo "what the toy says of itself is checked"
