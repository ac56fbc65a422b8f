#!/bin/sh
# toy.sh TUNE TUNE_TOY FOLDER: what the program does with the family in FOLDER, which its table has and that of the usual
# program has not: enumerates, predicts, stores, finds and exports it, by the usual names.
set -eu
tune=$1
toy=$2
folder=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" GEMMTUNE_DB="$scratch/my.db" GEMMTUNE_LIBCUDA="$scratch/no-driver" LC_ALL=C
problem=20x96x40

fail() {
    cat "$scratch/out" "$scratch/err"
    echo "$*"
    exit 1
}
run() {
    code=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
}
# Candidates of the problem, as the run before this said.
candidates() {
    sed -n "s/.*: the model's best [0-9]* of \([0-9]*\) are compiled/\1/p" "$scratch/err"
}

# One row more, and nothing else: the space of the usual program and what toy.conf spans, 3 x 3 x 3 but for 16 x 128 / 1.
run "$tune" tune --shape $problem --gpu h200 --max-trials 4 --budget 1h --db "$scratch/usual.db"
grep -qi 'nvrtc' "$scratch/err" && [ $code != 0 ] && exit 77 # no compiler here
[ $code = 0 ] || fail "the usual program fails"
usual=$(candidates)
run "$toy" tune --shape $problem --gpu h200 --max-trials 4 --budget 1h --db "$scratch/both.db"
[ $code = 0 ] || fail "the program with the toy fails"
[ "$(candidates)" = $((usual + 26)) ] || fail "not the 26 candidates of the toy more than $usual"

run "$tune" tune --shape $problem --gpu h200 --space "$folder/toy.conf"
[ $code != 0 ] && grep -q 'begins with no kernel template' "$scratch/err" || fail "the usual program knows the toy"

run "$toy" tune --shape $problem --gpu h200 --max-trials 4 --budget 1h --space "$folder/toy.conf"
[ $code = 0 ] && grep -q 'predicted .* toy BM=[0-9]* BN=[0-9]' "$scratch/out" || fail "the toy is not predicted"
[ "$(candidates)" = 26 ] || fail "toy.conf does not span 26 candidates"
run "$toy" query --shape $problem
[ $code = 0 ] && grep -q 'toy BM=' "$scratch/out" || fail "the toy is not found again"
run "$toy" explain --shape $problem
[ $code = 0 ] && grep -q 'winner *toy BM=' "$scratch/out" || fail "the toy is not explained"
run "$toy" export --header "$scratch/winners.h"
[ $code = 0 ] && grep -q 'toy BM=' "$scratch/winners.h" || fail "the toy is not exported"
run "$toy" export --json
[ $code = 0 ] && grep -q '"config": "toy BM=' "$scratch/out" || fail "the toy is not exported as JSON"
run "$toy" export --with-kernels --header "$scratch/kernels.h"
[ $code = 0 ] && grep -q 'toy BM=' "$scratch/kernels.h" || fail "the toy is not exported with its machine code"

# Whoever lacks the row says so, and goes on.
run "$tune" query --shape $problem
[ $code = 0 ] && grep -q 'state unusable' "$scratch/out" || fail "the usual program takes a configuration of no template"
echo "the toy is a family like any other"
