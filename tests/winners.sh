#!/bin/sh
# winners.sh BUILD CUDA_INCLUDE FAKE_GPU FAKE_NVRTC BLAS: the commands of docs/using.md, line by line as they are written there, with
# the installed tree on a driver made of host memory. A line with "# GPU" must say, with exit code 5, that it needs one.
# ./program is one that is linked with BLAS, a cuBLAS made of host memory. Skipped without NVRTC.
# shellcheck disable=SC1091,SC2154 # installed.sh sets lib, scratch and usr
set -eu
build=$1 include=$2 gpu=$3 nvrtc=$4 blas=$5
top=$(cd "$(dirname "$0")/.." && pwd)
. "$(dirname "$0")/installed.sh"

# As a user has it, in the source tree: an installed program, a driver, winners of today's kernels.
mkdir -p "$scratch/tree/configs/winners" "$scratch/driver"
cp -r "$top/docs" "$scratch/tree/"
"$build/tests/make_winners" 6 sgemm:nn:256x256x256 >"$scratch/tree/configs/winners/h200.jsonl"
"$build/tests/make_winners" 1 sgemm:nn:16x24x32 >"$usr/share/gemmtune/configs/winners/h200.jsonl"
ln -s "$gpu" "$scratch/driver/libcuda.so"
cat >"$scratch/program.c" <<'END'
#include <cuda.h>
#include <stddef.h>
int cublasCreate_v2(void **handle);
int cublasSetStream_v2(void *handle, CUstream stream);
int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc);
int main(void)
{
    static float a[16 * 32] __attribute__((aligned(16))), b[32 * 24] __attribute__((aligned(16)));
    const float one = 1, zero = 0;
    CUcontext context;
    CUdeviceptr on_gpu[3];
    CUstream stream;
    void *handle;
    float c[16 * 24], wrong = 0;
    for (int i = 0; i < 16 * 32; i++) a[i] = i % 7;
    for (int i = 0; i < 32 * 24; i++) b[i] = i % 5;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 12;
    for (int i = 0; i < 3; i++)
        if (cuMemAlloc(&on_gpu[i], 4096)) return 13;
    if (cuMemcpyHtoD(on_gpu[0], a, sizeof a) || cuMemcpyHtoD(on_gpu[1], b, sizeof b)) return 14;
    if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cublasCreate_v2(&handle) || cublasSetStream_v2(handle, stream))
        return 15;
    for (int i = 0; i < 20; i++)
        if (cublasSgemm_v2(handle, 0, 0, 24, 16, 32, &one, (float *)on_gpu[1], 24, (float *)on_gpu[0], 32, &zero,
                           (float *)on_gpu[2], 24))
            return 16;
    if (cuStreamSynchronize(stream) || cuMemcpyDtoH(c, on_gpu[2], sizeof c)) return 17;
    for (int i = 0; i < 16 * 24; i++) {
        float sum = 0;
        for (int l = 0; l < 32; l++) sum += a[i / 24 * 32 + l] * b[l * 24 + i % 24];
        wrong += c[i] != sum;
    }
    return wrong != 0;
}
END
cc -Wall -Werror "$scratch/program.c" -I"$include" "$blas" "$gpu" -Wl,-rpath,"$(dirname "$gpu")" -o "$scratch/tree/program"
cd "$scratch/tree"
unset XDG_DATA_HOME XDG_CACHE_HOME GEMMTUNE_DB GEMMTUNE_CACHE GEMMTUNE_CONFIGS || true
export HOME="$scratch" PATH="$usr/bin:$PATH" PKG_CONFIG_PATH="$lib/pkgconfig" CPATH="$include" LIBRARY_PATH="$scratch/driver"
export LD_LIBRARY_PATH="$lib:$scratch/driver" GEMMTUNE_LIBCUDA="$gpu" GEMMTUNE_LIBCUBLAS="$gpu" FAKE_CUBLAS_POOL=1 FAKE_GPU_COMPUTES=1 FAKE_GPU_EVENTS=1

awk '/^```/ { shell = /sh$/; next } shell' "$top/docs/using.md" >"$scratch/commands"
[ "$(wc -l <"$scratch/commands")" -ge 9 ]
while IFS= read -r line; do
    wanted=0 before=
    case $line in
    *'# GPU'*) wanted=5 before="GEMMTUNE_LIBCUDA=$scratch/no-driver " ;;
    tune\ export*) ;;
    *./*) before="GEMMTUNE_LIBNVRTC=$nvrtc " ;; # programs run on the fake driver, and so does what they compile
    esac
    code=0
    echo "$ $line"
    sh -c "$before$line" </dev/null >"$scratch/out" 2>&1 || code=$?
    cat "$scratch/out"
    if [ $code = 6 ]; then
        echo "skipped: no NVRTC"
        exit 77
    fi
    [ $code = $wanted ] || {
        echo "exit code $code instead of $wanted"
        exit 1
    }
    case $line in
    ./sgemm | ./header) grep -qx '0 elements wrong' "$scratch/out" ;;
    *GEMMTUNE_CAPTURE*) grep -q '^sgemm:nn:16x24x32  # count=20 ' seen.txt ;;
    *GEMMTUNE_LOG*) grep -q 'sgemm:nn:16x24x32 -> tuned kernel: .*measured' "$scratch/out" ;;
    esac
done <"$scratch/commands"
