#!/bin/sh
# headers.sh HEADERS TUNE MAKE_WINNERS CC CUDA_INCLUDE FOLDER [EXPECTED]: what `tune export --with-kernels` writes of the winners
# that ship, and of some with an epilogue: tables, kernels (golden_headers.c) and launches (golden_launches.c), as texts in FOLDER,
# compared by their hashes with the file EXPECTED. Without it, prints what that file should hold. headers_difference.sh shows where
# the texts of two builds differ.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
headers=$1 tune=$2 make_winners=$3 cc=$4 cuda=$5 folder=$6 expected=${7:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder"
mkdir -p "$folder"
export GEMMTUNE_CACHE="$scratch/cache" GEMMTUNE_LIBCUDA=/no/driver

cp "$here"/../../configs/winners/*.jsonl "$scratch"
# Bias, source and activation: with a cut k, packed operands, tensor maps, few rows, a batch in pieces.
simt="simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3"
"$make_winners" 11 \
    "sgemm:nt:640x768x512:beta=1:epilogue=bias+gelu+out@$simt LOADER=0 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=2 SPLIT_K=4" \
    "sgemm:nn:1000x1000x2000:beta=1:epilogue=relu@$simt LOADER=1 PACK=3 VA=4 VB=4 VC=1 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=2 SPLIT_K=1" \
    "sgemm:nt:16x32x8:batch=100000:beta=1:epilogue=rowbias+out@$simt LOADER=0 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1" \
    "sgemm:nn:4x1000x512:beta=1:epilogue=rowbias+out@skinny SIDE=0 ROWS=4 TX=4 VX=4 VS=4 VC=4 LANES_X=8 WARPS_X=1 WARPS_K=4 WARPS_R=1 DEPTH=1 STEPS=2 BUFFERS=2 LOADER=1 MIN_BLOCKS=1 REDUCE=8 SPLIT_K=8" \
    "tf32gemm:nt:640x768x512:epilogue=rowbias+relu@mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=2 SPLIT_K=2" \
    "bf16gemm:nt:640x768x512:batch=3:beta=1:epilogue=bias+out@wgmma BM=64 BN=128 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=4 GROUP=1 SPLIT_K=1 SMS=1 PDL=2" \
    "hgemm:nn:640x768x512:epilogue=bias+gelu@mma16 BM=32 BN=128 BK=32 WM=32 WN=64 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=1 VA=8 VB=8 VC=8 MIN_BLOCKS=1 REDUCE=1 GROUP=8 SPLIT_K=1 PDL=1 ASK=0" \
    "bf16gemm:nt:8x4096x4096:beta=1:epilogue=bias+out@gemv16 SIDE=0 FEW=8 TX=1 VX=8 VS=8 VC=8 WARPS_X=2 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=1 SPLIT_K=1 PDL=1 ASK=16 PAD=0" \
    "sgemm_accurate:nt:1000x1000x1000:epilogue=bias@bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=2 SMS=132" \
    "sgemm_normwise:nn:1024x1024x1024:epilogue=rowbias+gelu@f16x3 BM=128 BN=112 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132" \
    "sgemm:nn:4096x4096x4096:beta=1:epilogue=bias@streamk BM=128 BN=256 BK=8 WM=128 WN=32 TM=16 TN=8 STAGES=2 LOADER=1 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=0 PRELOAD=0 MIN_BLOCKS=1 GROUP=1 WHOLE=0 SMS=132" \
    >"$scratch/epilogues.jsonl"

# The three texts of one file of winners.
write_texts() {
    name=$(basename "$1" .jsonl) defines=
    "$tune" import "$1" --db "$scratch/$name.db" >"$scratch/$name.said" 2>&1 || {
        cat "$scratch/$name.said"
        return 1
    }
    grep "of no use" "$scratch/$name.said" && return 1 # each is exported
    "$headers" "$scratch/$name.db" "$folder" "$name"
    if grep -q "golden_winners_epilogues = " "$folder/$name.h"; then defines=-DWITH_EPILOGUES; fi
    # shellcheck disable=SC2086 # none, or one
    "$cc" -std=c99 -isystem "$cuda" -I"$here/../export" -I"$folder" -DHEADER="\"$name.h\"" $defines \
        "$here/golden_launches.c" "$here/../export/fake_driver.c" -o "$scratch/$name.launches"
    "$scratch/$name.launches" >"$folder/$name.launches"
    rm "$folder/$name.h"
}
writers=
for file in "$scratch"/*.jsonl; do
    write_texts "$file" &
    writers="$writers $!"
done
for writer in $writers; do wait "$writer"; done
(cd "$folder" && sha256sum ./*) | sed 's|\([0-9a-f]*\)  ./\(.*\)|\2 \1|' >"$scratch/now"
[ -n "$expected" ] || {
    cat "$scratch/now"
    exit 0
}
diff "$expected" "$scratch/now" || {
    echo "these texts differ from those that $expected has the hashes of: tests/golden/headers_difference.sh shows where"
    exit 1
}
