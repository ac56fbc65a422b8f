#!/bin/sh
# test_dropin_gpu.sh PROGRAM DROPIN TUNE: BF16 and FP16 under the drop-in from end to end on a GPU: test_dropin_gpu computes
# its products by cuBLAS while they are captured, tune finds winners for them (BUDGET=90s), and they answer the same calls.
# Exits with 77 without a GPU or cuBLAS.
set -eu
program=$1 dropin=$2 tune=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GEMMTUNE_DB="$scratch/types.db" GEMMTUNE_CACHE="$scratch/cache"
GEMMTUNE_CAPTURE="$scratch/seen.txt" "$program" "$dropin" || exit $?
cat "$scratch/seen.txt"
"$tune" --from-capture "$scratch/seen.txt" --budget "${BUDGET:-90s}"
"$program" "$dropin" winners
