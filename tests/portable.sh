#!/bin/sh
# portable.sh [all [CUDA_ROOT]]: a build that travels (preset portable) and its wheel name no folder of the machine that built them.
# Without `all` only what the compiler is told is looked at; with it all is built, and tune is carried away and run.
set -eu
all=${1:-} cuda=${2:-}
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
build=$scratch/build
cmake -S "$top" --preset portable -B "$build" ${cuda:+-DGT_CUDA_ROOT="$cuda"} >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
grep -Eo -- '-D[A-Za-z_]+=[\\"]*/[^ ]*' "$build/compile_commands.json" | sort -u >"$scratch/named" || true
[ ! -s "$scratch/named" ] || {
    cat "$scratch/named"
    echo "what travels is compiled with these paths"
    exit 1
}
[ "$all" = all ] || exit 0

cmake --build "$build" -- -j2 >"$scratch/log" 2>&1 && cmake --build "$build" --target wheel >>"$scratch/log" 2>&1 || {
    tail -30 "$scratch/log"
    exit 1
}
wheel=$(find "$build" -name '*.whl')
mkdir "$scratch/wheel" "$scratch/usr" "$scratch/home"
(cd "$scratch/wheel" && python3 -m zipfile -e "$wheel" .)
cmake --install "$build" --prefix "$scratch/usr" >/dev/null
count=0
for file in "$build/tune" $(find "$build/runtime" "$scratch/usr" "$scratch/wheel" -name '*.so*' -o -name 'libgemmtune.a' -o -name tune -type f); do
    count=$((count + 1))
    for folder in "$top" "$build" "$scratch"; do
        ! grep -qF "$folder" "$file" || {
            echo "$file names $folder"
            exit 1
        }
    done
done
[ $count -ge 12 ]

# In its build folder it finds its configs, carried away with them, too; without them it says so, and what to do.
export HOME="$scratch/home"
unset GEMMTUNE_CONFIGS GEMMTUNE_DB GEMMTUNE_CACHE
mkdir "$scratch/away" "$scratch/alone"
cp "$build/tune" "$scratch/alone"
cp -r "$build/tune" "$top/configs" "$scratch/away"
finds() {
    "$1/tune" doctor >"$scratch/doctor" 2>&1 || true
    grep -q "^configs *yes .*$2" "$scratch/doctor" || {
        cat "$scratch/doctor"
        echo "$1/tune does not use $2"
        exit 1
    }
}
finds "$build" "$build/configs"
finds "$scratch/away" "$scratch/away/configs"
finds "$scratch/usr/bin" "$scratch/usr/share/gemmtune/configs"
"$scratch/alone/tune" doctor >"$scratch/doctor" 2>&1 || true
grep -q '^configs *no ' "$scratch/doctor" && grep -q 'set GEMMTUNE_CONFIGS' "$scratch/doctor"
