# Everything there (a fake driver and cuBLAS), nothing there, a part that crashes.
FAKE_GPU=$(dirname "$(readlink -f "$SCRATCH/bin/tune")")/tests/libfake_gpu.so
[ -e "$FAKE_GPU" ] || skip "the fake driver is not built"
export FAKE_GPU_FAIL=
export GEMMTUNE_LIBNVML="$SCRATCH/no-nvml"
GEMMTUNE_LIBCUDA=$FAKE_GPU GEMMTUNE_LIBCUBLAS=$FAKE_GPU t tune doctor --format csv
# The wheels of the environment in which the program is come before what the build found; a folder that others may write does not.
wheels=$SCRATCH/env/lib/python3.11/site-packages/nvidia
mkdir -p "$SCRATCH/env/bin" "$wheels/cuda_nvrtc/lib" "$wheels/cublas/lib"
cp "$(readlink -f "$SCRATCH/bin/tune")" "$SCRATCH/env/bin"
cp "${FAKE_GPU%gpu.so}nvrtc.so" "$wheels/cuda_nvrtc/lib/libnvrtc.so.12"
cp "$FAKE_GPU" "$wheels/cublas/lib/libcublas.so.12"
export GEMMTUNE_CONFIGS="$SOURCES/configs"
(cd / && t sh -c '"$SCRATCH/env/bin/tune" doctor --format csv | grep -E "^(NVRTC|cuBLAS)"')
chmod 777 "$wheels/cublas/lib"
t sh -c '"$SCRATCH/env/bin/tune" doctor --format csv | grep -c "^cuBLAS.*$SCRATCH/env"'
unset GEMMTUNE_CONFIGS
export GEMMTUNE_LIBCUDA="$SCRATCH/no-driver" GEMMTUNE_LIBCUBLAS="$SCRATCH/no-cublas"
t tune doctor
GEMMTUNE_LIBNVRTC="$SCRATCH/no-nvrtc" t tune doctor --json
GEMMTUNE_LIBCUDA=$FAKE_GPU FAKE_GPU_FAIL=cuInit=-6 t sh -c 'tune doctor | head -3'
GEMMTUNE_LIBCUDA=$FAKE_GPU FAKE_GPU_FAIL=cuInit=-6 t sh -c 'tune doctor | grep crash'
echo 'not a database' >foreign.db
t sh -c 'tune doctor --db foreign.db | grep "^database"'
t sh -c 'tune doctor --db foreign.db/x.db 2>&1 | grep "^database"'
t sh -c 'tune doctor --cache /proc/none 2>&1 | grep -A1 "^cache: "'
GEMMTUNE_CONFIGS="$SCRATCH" t sh -c 'tune doctor 2>&1 | tail -1'
t tune doctor --format yaml
t tune doctor --nonsense
t sh -c 'tune doctor > /dev/full'
export GEMMTUNE_CACHE_SIZE=3G GEMMTUNE_CACHE_MIB=10 GEMMTUNE_LOG=verbose GEMMTUNE_DROPPIN=off GEMMTUNE_DB=
t sh -c 'tune doctor | grep -E "^cache|GEMMTUNE_(CACHE|LOG|DROP|DB)"'
GEMMTUNE_CACHE_SIZE=10 t tune query --own
