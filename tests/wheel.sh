#!/bin/sh
# wheel.sh BUILD PROGRAM FAKE_GPU: the wheel of this build, installed by pip without an index into an environment of its own: tune runs,
# finds its configs and the drop-in, and a program links the library. Python's package finds both, man pages and completions are there,
# and the wheel's tag names no older C library than its files need.
set -eu
build=$1 program=$2 gpu=$3
here=$(cd "$(dirname "$0")" && pwd)
grep -Eq '^GT_SANITIZE:[A-Z]+=(ON|address|thread)' "$build/CMakeCache.txt" && {
    echo "skipped: built with sanitizers"
    exit 77
}
python3 -c 'import venv, ensurepip' 2>/dev/null || {
    echo "skipped: there is no python3-venv"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" PIP_DISABLE_PIP_VERSION_CHECK=1
unset GEMMTUNE_CONFIGS GEMMTUNE_DB GEMMTUNE_CACHE
wheel=$(python3 "$here/../tools/wheel.py" "$build" "$scratch/made" --here)
python3 -m venv "$scratch/env"
"$scratch/env/bin/pip" install --quiet --no-index "$wheel"
cd "$scratch"
tune=$scratch/env/bin/tune
version=$("$tune" --version)
case $version in *gemmtune*) ;; *tune*) ;; *) echo "tune --version: $version" && exit 1 ;; esac
for file in LICENSE NOTICES; do
    cmp "$here/../$file" "$(find "$scratch/env" -path "*/gemmtune-*.dist-info/$file")"
done
"$tune" doctor >doctor 2>&1 || true # it says what this machine lacks
grep -q "^configs *yes .*$scratch/env/.*share/gemmtune/configs" doctor || {
    cat doctor
    echo "tune does not use the configs of its wheel"
    exit 1
}
for code in "$build"/configs/winners/code-*.sqlite; do
    [ ! -e "$code" ] || cmp "$code" "$scratch/env/share/gemmtune/configs/winners/${code##*/}"
done
GEMMTUNE_LIBCUDA=$gpu "$tune" run -- "$program" product >out 2>err
grep -q "$scratch/env/lib/libgemmtune_cublas" out || {
    cat out err
    echo "tune run does not use the drop-in of its wheel"
    exit 1
}
echo '#include <gemmtune.h>
int main(void) { return gt_version()[0] == 0; }' >link.c
cc link.c -I"$scratch/env/include" -L"$scratch/env/lib" -lgemmtune -o link
LD_LIBRARY_PATH=$scratch/env/lib ./link
"$scratch/env/bin/python3" -c "import gemmtune, sys; sys.exit(gemmtune.run(['--version']))" >ran
"$scratch/env/bin/python3" -m gemmtune --version | cmp - ran
GEMMTUNE_LIBCUDA=$gpu "$scratch/env/bin/python3" -c 'import gemmtune; gemmtune.enable(); print(gemmtune.report())' >report
grep -q '^Report(products=0' report
[ -e "$(find "$scratch/env" -path '*/gemmtune/py.typed')" ]
[ ! -e "$build/runtime/python/_fast.abi3.so" ] || "$scratch/env/bin/python3" -c 'import sys; sys.version_info < (3, 10) or __import__("gemmtune._fast")'
for file in man/man1/tune.1 man/man1/tune-run.1 man/man3/gt_gemm.3 man/man7/gemmtune-environment.7 bash-completion/completions/tune \
    zsh/site-functions/_tune fish/vendor_completions.d/tune.fish; do
    [ -s "$scratch/env/share/$file" ] || {
        echo "the wheel lacks share/$file"
        exit 1
    }
done
for name in nvidia-cuda-nvrtc nvidia-cublas; do
    grep -q "^Requires-Dist: $name >=13 ; extra == 'cuda'\$" "$(find "$scratch/env" -path '*/gemmtune-*.dist-info/METADATA')"
done
# NVRTC that pip has brought comes before that of the build.
nvrtc=$("$tune" doctor --format csv | sed -n 's/^NVRTC,true,[^,]*,\(.*\);.*/\1/p')
if [ -n "$nvrtc" ]; then
    brought=$("$scratch/env/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13/lib
    mkdir -p "$brought"
    cp -L "$(dirname "$nvrtc")"/libnvrtc*.so.* "$brought"
    "$tune" doctor --format csv | grep -q "^NVRTC,true,[^,]*,$brought/libnvrtc.so"
    env -i HOME="$scratch" PATH=/usr/bin:/bin "$tune" --shape 64x64x64 --gpu h200 --budget 5s >predicted
    grep -q predicted predicted
fi
"$scratch/env/bin/pip" uninstall --quiet --yes gemmtune
[ ! -e "$tune" ] && [ ! -e "$scratch/env/lib/libgemmtune.so" ]
