#!/bin/sh
# fresh_clone.sh [CUDA_ROOT]: what is committed builds from nothing by CMake's usual two commands, with make instead of
# ninja, and where pkg-config knows nothing that only tests need; and the program runs.
set -eu
cuda=${1:-}
top=$(cd "$(dirname "$0")/.." && pwd)
command -v make >/dev/null && git -C "$top" rev-parse --verify --quiet HEAD >/dev/null || {
    echo "skipped: no make, or no git repository"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone --quiet --no-hardlinks "$top" "$scratch/clone"
cd "$scratch/clone"
unset CMAKE_GENERATOR || true
mkdir "$scratch/pkgconfig"
for module in sqlite3 libuv jansson inih libxxhash zlib; do
    cp "$(pkg-config --variable=pcfiledir $module)/$module.pc" "$scratch/pkgconfig/"
done
export PKG_CONFIG_LIBDIR="$scratch/pkgconfig"
cmake --preset release -B "$scratch/preset" ${cuda:+-DGT_CUDA_ROOT="$cuda"} >"$scratch/log" 2>&1 || {
    tail -20 "$scratch/log"
    exit 1
}
{ cmake -S . -B b ${cuda:+-DGT_CUDA_ROOT="$cuda"} && cmake --build b -j2; } >"$scratch/log" 2>&1 || {
    tail -50 "$scratch/log"
    exit 1
}
grep -qx 'CMAKE_GENERATOR:INTERNAL=Unix Makefiles' b/CMakeCache.txt
b/tune --version
