#!/bin/sh
# outputs.sh [CUDA_ROOT]: each file that the build makes is made by one target. Two of them make it at the same time with
# make -j, and one fails; ninja knows better, so nobody notices who uses the presets.
set -eu
cuda=${1:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
command -v make >/dev/null || {
    echo "skipped: there is no make"
    exit 77
}

# made FOLDER: what the rules of a configured build make, once for each target that makes it.
made() {
    find "$1" -name build.make | while read -r rules; do
        # CMakeFiles: objects, which lie in their target's folder. depend, build, clean: no files.
        sed -nE 's/^([^#[:space:]:=]+): .*/\1/p' "$rules" |
            grep -Ev '^\.|(^|/)CMakeFiles/|/(depend|build|clean)$' | sort -u
    done
}

cmake -G "Unix Makefiles" -S "$(dirname "$0")/.." -B "$scratch/build" -DBUILD_TESTING=ON \
    ${cuda:+-DGT_CUDA_ROOT="$cuda"} >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
made "$scratch/build" | grep -q '^tests/export/many\.h$' || {
    echo "CMake's rules are not read right"
    exit 1
}
found=$(made "$scratch/build" | sort | uniq -d)
[ -z "$found" ] || {
    echo "made by two targets:"
    echo "$found"
    exit 1
}
