#!/bin/sh
# examples.sh FOLDER FAKE_GPU FAKE_NVRTC MAKE_WINNERS NAME...: the examples of docs/examples, built as example_NAME, on a runtime and a
# driver made of host memory. Each finds its answers right, by tuned kernels and by cuBLAS and cublasLt; wrong where kernels compute
# nothing; and ends with a sentence where the driver fails.
set -eu
folder=$1 gpu=$2 nvrtc=$3 make_winners=$4
shift 4
[ $# -ge 6 ]
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tuned/winners" "$scratch/empty/winners"
unset GEMMTUNE_DB GEMMTUNE_QUIET GEMMTUNE_WORKSPACE XDG_DATA_HOME XDG_CACHE_HOME || true
export HOME="$scratch" GEMMTUNE_SYSTEM_DB="$scratch/none.db" GEMMTUNE_LIBCUDA="$gpu" GEMMTUNE_LIBNVRTC="$nvrtc" FAKE_CUBLAS_POOL=1
"$make_winners" 3 sgemm:nn:16x32x48 \
    "bf16gemm:nn:32x64x48:epilogue=bias+gelu@mma16 BM=16 BN=8 BK=16 WM=16 WN=8 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=0 PACK=0 VA=1 VB=1 \
VC=1 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1" \
    "sgemm_accurate:nn:128x128x128@bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132" \
    >"$scratch/tuned/winners/h200.jsonl"

# run NAME CODE TEXT...: it ends with this code and has a line with each of these.
run() {
    name=$1 wanted=$2 code=0
    shift 2
    "$folder/example_$name" >"$scratch/out" 2>&1 || code=$?
    for text; do
        [ "$code" = "$wanted" ] && grep -Eq "$text" "$scratch/out" && continue
        cat "$scratch/out"
        echo "$name ended with $code, not with $wanted and '$text'"
        exit 1
    done
}
for name; do
    by_kernels='' by_others=''
    [ "$name" = prepared_weight ] && by_kernels='^the weight is prepared$' by_others='^the weight is read as it is$'
    export GEMMTUNE_CONFIGS="$scratch/tuned" GEMMTUNE_LIBCUBLAS=/none GEMMTUNE_LIBCUBLASLT=/none FAKE_GPU_COMPUTES=1
    run "$name" 0 '^0 elements wrong$' "$by_kernels"
    FAKE_GPU_FAIL='cuLaunchKernel=719,cuLaunchKernelEx=719' run "$name" 1 '^gemmtune: the driver or cuBLAS refused or failed: .+'
    FAKE_GPU_FAIL='cuInit=100' run "$name" 1 '^CUDA: .*100'
    unset FAKE_GPU_FAIL
    export FAKE_GPU_COMPUTES=0
    run "$name" 1 '^[1-9][0-9]* elements wrong$'
    [ "$name" = graph ] && continue # the fake cuBLAS is not captured
    export GEMMTUNE_CONFIGS="$scratch/empty" GEMMTUNE_LIBCUBLAS="$gpu" GEMMTUNE_LIBCUBLASLT="$gpu"
    run "$name" 0 '^0 elements wrong$' "$by_others"
done
