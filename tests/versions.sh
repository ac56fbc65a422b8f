#!/bin/sh
# versions.sh BUILD: the version is the same wherever it is said: CMake, changelog, header, symbols, examples, wheel, man pages, pkg-config, program
# and library; and docs/stability.md promises what there is. A changelog whose first version is planted elsewhere is noticed.
set -eu
build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$top"
version=$(sed -nE 's/^project\(gemmtune VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
series=${version%.*}
schema=$(sed -nE 's/^#define DB_VERSION +([0-9]+).*/\1/p' db/db_internal.h)
wrong=0

# says FILE TEXT: a whole line of the file, as an extended regular expression.
says() {
    grep -Eqx -- "$2" "$1" || {
        echo "$1 does not say what version $version has: $2"
        wrong=1
    }
}
dated() { # CHANGELOG: its first version, which is dated; what is above it is for the next one
    grep -E '^## \[[0-9]' "$1" | head -n 1 >"$scratch/first"
    grep -Eqx "## \[$version\] - 20[0-9]{2}-[01][0-9]-[0-3][0-9]" "$scratch/first"
}
dated CHANGELOG.md || {
    echo "the first version of CHANGELOG.md is not $version with a date: $(cat "$scratch/first")"
    wrong=1
}
says CHANGELOG.md '## \[Unreleased\]'
says runtime/gemmtune.h "/\* \"$version\" \*/"
says runtime/gemmtune.map "GEMMTUNE_$series \{"
says docs/examples/CMakeLists.txt "find_package\(gemmtune $series REQUIRED\)"
says tools/wheel.py " *pip install build/portable/gemmtune-$version-py3-none-.*\.whl"
says runtime/python/gemmtune/__init__.py "__version__ = \"$version\""
says runtime/python/gemmtune/_files.py "SERIES = \"$series\" .*"
says docs/stability.md ".*soname is \`libgemmtune\.so\.$series\`.*\`GEMMTUNE_$series\`.*"
says docs/stability.md ".*the schema has version $schema\..*"
says docs/stability.md "## What $series promises"
for page in tuner/tune.1 tuner/tune-query.1 runtime/gemmtune.3; do says "$build/$page" "\.TH .*\"gemmtune $version\".*"; done
says "$build/runtime/gemmtune.pc" "Version: $version"
"$build/tune" --version >"$scratch/program"
says "$scratch/program" "tune $version \(.*"
readelf -dW "$build/runtime/libgemmtune.so" >"$scratch/dynamic"
says "$scratch/dynamic" ".*\(SONAME\).*\[libgemmtune\.so\.$series\]"
nm -D --defined-only "$build/runtime/libgemmtune.so" >"$scratch/symbols"
says "$scratch/symbols" ".* gt_gemm@@GEMMTUNE_$series"

# The check itself: another version first.
{ printf '## [9.9.9] - 2026-01-01\n\n'; cat CHANGELOG.md; } >"$scratch/planted.md"
if dated "$scratch/planted.md"; then
    echo "a changelog of another version is not noticed"
    wrong=1
fi
exit $wrong
