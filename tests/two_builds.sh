#!/bin/sh
# two_builds.sh BUILD: what is installed from another build folder of the same sources is the same, byte for byte.
set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
grep -Eq '^CMAKE_BUILD_TYPE:[A-Z]+=Debug' "$build/CMakeCache.txt" && {
    echo "skipped: debug information names the folders"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
other=$scratch/other_folder
mkdir "$other"

# With the same options, and what NVRTC has compiled for BUILD.
grep -E '^(GT_[A-Z_]+|CMAKE_BUILD_TYPE|CMAKE_C_COMPILER_LAUNCHER|CMAKE_INSTALL_[A-Z]+):' "$build/CMakeCache.txt" |
    sed -E 's/^([A-Za-z_]+):([A-Z]+)=(.*)$/set(\1 "\3" CACHE \2 "")/' >"$scratch/options.cmake"
[ ! -d "$build/code_cache" ] || cp -r "$build/code_cache" "$other/"
{ cmake -G Ninja -S "$top" -B "$other" -C "$scratch/options.cmake" && cmake --build "$other" && cmake --build "$build"; } >"$scratch/log" 2>&1 || {
    tail -n 30 "$scratch/log"
    exit 1
}
cmake --install "$build" --prefix "$scratch/one" --component Unspecified >/dev/null
cmake --install "$other" --prefix "$scratch/two" >/dev/null
diff -r "$scratch/one" "$scratch/two"
[ "$(find "$scratch/one" -type f | wc -l)" -ge 100 ]
