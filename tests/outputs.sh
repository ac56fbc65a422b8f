#!/bin/sh
# outputs.sh [CUDA_ROOT]: each file that the build makes is made by one target, and each file that a rule needs is made
# by one. Two targets make a file at the same time with make -j, and one fails; a file that no rule makes ends a fresh
# build. Ninja knows better, so nobody notices who uses the presets.
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

# needed FOLDER: the prerequisites of its rules, but for those outside of it.
needed() {
    find "$1" -name build.make -exec sed -nE 's/^[^#[:space:]:=]+: ([^[:space:]/.]+(\/[^[:space:]]+)?)$/\1/p' {} + | sort -u
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

# Rules name files relative to the folder of the build; a link's inputs such as flags.make were made with the rules.
find "$scratch/build" -name build.make -exec sed -nE 's/^([^#[:space:]:=]+):.*/\1/p' {} + | sort -u >"$scratch/made"
found=$(cd "$scratch/build" && needed . | grep -vxF -f "$scratch/made" | while read -r file; do
    [ -e "$file" ] || echo "$file"
done)
[ -z "$found" ] || {
    echo "needed, but made by no rule:"
    echo "$found"
    exit 1
}
