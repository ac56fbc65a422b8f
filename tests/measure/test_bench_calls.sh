#!/bin/sh
# test_bench_calls.sh BENCH_CALLS FAKE_GPU FAKE_NVRTC: bench_calls on a driver made of host memory: a row for each
# mode, means of all of them, and what it refuses.
set -u
bench=$1
export GEMMTUNE_LIBCUDA="$2" GEMMTUNE_LIBCUBLAS="$2" GEMMTUNE_LIBCUBLASLT="$2" GEMMTUNE_LIBNVRTC="$3"
export FAKE_GPU_EVENTS=1 FAKE_CUBLAS_POOL=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GEMMTUNE_CACHE="$folder/cache" GEMMTUNE_DB="$folder/none.db"
failed=0
check() { # WHAT, then a command that must succeed
    what=$1
    shift
    "$@" || { echo "FAILED: $what"; failed=1; }
}

printf 'sgemm:nn:8x8x8\nsgemm:nt:16x8x8\n' >"$folder/suite.txt"
"$bench" "$folder/suite.txt" 20 >"$folder/out" 2>"$folder/err"
check "it runs" [ $? = 0 ]
for problem in nn:8x8x8 nt:16x8x8; do
    for mode in offline server stream; do
        check "a row of $problem $mode" grep -qE "^sgemm:$problem,$mode(,[0-9.]+){9},cublas$" "$folder/out"
    done
done
# The driver's events are always as far apart, so all take as long by them.
check "the events' means" grep -qxF '# server, medians: 1.0000 over cublasGemmEx, 1.0000 over the best of cublasLt (2 problems)' "$folder/out"
check "nine means" [ "$(grep -c '(2 problems)$' "$folder/out")" = 9 ]

FAKE_LT_FAIL=15 "$bench" "$folder/suite.txt" 20 >"$folder/out" 2>"$folder/err"
check "without an algorithm it fails" [ $? = 1 ]
check "and says so" grep -q '^cublasLt: none of its' "$folder/err"
echo 'sgemm:nn:8x8x8:batch=2' >"$folder/suite.txt"
"$bench" "$folder/suite.txt" 20 >"$folder/out" 2>"$folder/err"
check "a batch is refused" [ $? = 1 ]
check "and named" grep -q 'problem 1: only single products' "$folder/err"
"$bench" "$folder/suite.txt" 19 >"$folder/out" 2>"$folder/err"
check "too few records are refused" [ $? = 2 ]
GEMMTUNE_LIBCUDA=/nowhere "$bench" "$folder/suite.txt" 20 >"$folder/out" 2>"$folder/err"
check "a batch is refused before the GPU is looked for" [ $? = 1 ]
echo 'sgemm:nn:8x8x8' >"$folder/suite.txt"
GEMMTUNE_LIBCUDA=/nowhere "$bench" "$folder/suite.txt" 20 >"$folder/out" 2>"$folder/err"
check "without a driver it is skipped" [ $? = 77 ]
exit $failed
