#!/bin/sh
# tidy.sh BUILD [changed]: clang-tidy finds nothing in the program's sources (status.c defines what tidy.h wraps).
# changed: only in those that changed.sh finds.
# shellcheck disable=SC1091
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. tests/changed.sh
command -v clang-tidy-14 >/dev/null || {
    echo "skipped: clang-tidy-14 is not installed"
    exit 77
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ "${2:-}" = changed ]; then changed_sources "$scratch/sources"; else all_sources >"$scratch/sources"; fi
# The sanitized build silences a warning that only gcc has.
grep -v '/status\.c$' "$scratch/sources" | tr '\n' '\0' | xargs -0 -r -n 4 -P "$(nproc)" \
    clang-tidy-14 --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-include --extra-arg="$PWD/tests/tidy.h" 2>/dev/null
