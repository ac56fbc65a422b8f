# tools/tune.sh in a tree where all is installed and built: what it adds to the program.
REAL=$(readlink -f "$(command -v tune)")
mkdir -p top/tools top/build/release bin
cp "$SOURCES/tools/tune.sh" top/tools
ln -s "$REAL" top/build/release/tune
touch top/build/release/build.ninja
for stub in top/tools/setup.sh bin/cmake; do
    printf '#!/bin/sh\n' >$stub
    chmod +x $stub
done
export PATH="$PWD/bin:$PATH"
GEMMTUNE_LIBNVRTC= tune doctor --format csv 2>/dev/null | grep -q '^NVRTC,true' || skip "no NVRTC to predict with"
# A small space: enumerating the shipped one takes the sanitizers so long that progress is told.
ln -s "$SOURCES/tests/fake/space.conf" small.conf
t top/tools/tune.sh --shape 64x64x64 --shape sgemm:nt:8x8x8 --max-trials 1 --space small.conf
t top/tools/tune.sh tune --shape 64x64x64 --max-trials 1
t top/tools/tune.sh --shape 64x64x64 --gpu a100 --max-trials 1 --space small.conf
t top/tools/tune.sh --shape 64x64x64 --gpus 0
t top/tools/tune.sh query --own --gpu a100 --format csv --shape 8x8x8
t top/tools/tune.sh --version
t tune --shape 64x64x64
FAKE=$(dirname "$REAL")/tests
if [ -x "$FAKE/fake_child" ] && [ -e "$FAKE/libfake_gpu.so" ]; then
    GEMMTUNE_LIBCUDA=$FAKE/libfake_gpu.so GEMMTUNE_EXE=$FAKE/fake_child top/tools/tune.sh --shape 64x64x64 \
        --space "$SOURCES/tests/fake/space.conf" --max-trials 4 --budget 2h --db fake.db >out 2>err || cat err
    grep -c "No usable GPU" err || true
else
    echo 0
fi
