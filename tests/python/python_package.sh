#!/bin/sh
# python_package.sh TUNE LIBRARY DROPIN ENGINE FAKE_GPU FAKE_NVRTC MAKE_WINNERS HALF CUBLAS FAST [LIBASAN]: Python's package on the fakes, laid
# out as pip does it: test_gemmtune.py, then the package's doctests. FAST: the package's part in C, or "". LIBASAN: what a Python without sanitizers must load first.
set -eu
tune=$1 library=$2 dropin=$3 engine=$4 gpu=$5 nvrtc=$6 make_winners=$7
export HALF="$8" CUBLAS="$9"
fast=${10} libasan=${11:-}
here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v python3) && "$python" -c 'import ctypes' 2>/dev/null || {
    echo "skipped: there is no python3 with ctypes"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
packages=$scratch/env/lib/python3.11/site-packages
mkdir -p "$packages" "$scratch/env/bin" "$scratch/configs/winners" "$scratch/work"
cp -r "$here/../../runtime/python/gemmtune" "$packages"
[ -z "$fast" ] || cp "$fast" "$packages/gemmtune/"
cp "$tune" "$scratch/env/bin/"
cp "$library" "$dropin" "$engine" "$scratch/env/lib/"
cp -r "$here/../../configs/spaces" "$here/../../configs/gpus" "$scratch/configs"
"$make_winners" 4 sgemm:nn:16x24x32 \
    "bf16gemm:nn:32x64x48:epilogue=bias+gelu@mma16 BM=16 BN=8 BK=16 WM=16 WN=8 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=0 PACK=0 VA=1 VB=1 \
VC=1 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1" \
    "sgemm_accurate:nn:128x128x128@bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132" \
    "sgemm_accurate:nt:128x128x128@bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132" \
    >"$scratch/configs/winners/h200.jsonl"
cd "$scratch/work"
on_fakes() {
    # No byte code in the sources; the sanitizers' library would find Python's own leaks.
    env -i PATH="$PATH" HOME="$scratch" PYTHONPATH="$packages" PYTHONDONTWRITEBYTECODE=1 HALF="$HALF" CUBLAS="$CUBLAS" \
        ${libasan:+LD_PRELOAD="$libasan" ASAN_OPTIONS=detect_leaks=0} GEMMTUNE_CONFIGS="$scratch/configs" \
        GEMMTUNE_SYSTEM_DB="$scratch/none.db" GEMMTUNE_LIBCUDA="$gpu" GEMMTUNE_LIBNVRTC="$nvrtc" GEMMTUNE_LIBCUBLAS="$gpu" \
        GEMMTUNE_LIBCUBLASLT="$gpu" GEMMTUNE_WAIT=1 FAKE_CUBLAS_POOL=1 FAKE_GPU_COMPUTES=1 FAKE_GPU="$gpu" "$python" "$@"
}
on_fakes "$here/test_gemmtune.py"
on_fakes -c 'import doctest, sys, gemmtune
found = doctest.testmod(gemmtune, extraglobs={"gemmtune": gemmtune})
without = [name for name in gemmtune.__all__ if not getattr(gemmtune, name).__doc__]
print(found, *without)
sys.exit(bool(found.failed or found.attempted < 8 or without))'
