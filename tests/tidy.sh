#!/bin/sh
# tidy.sh BUILD: clang-tidy finds nothing in the program's sources (status.c defines what tidy.h wraps).
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
command -v clang-tidy-14 >/dev/null || {
    echo "skipped: clang-tidy-14 is not installed"
    exit 77
}
find tuner db tools kernel_templates runtime -name '*.c' ! -name status.c -print0 |
    xargs -0 -n 4 -P "$(nproc)" \
        clang-tidy-14 --quiet -p "$build" --extra-arg=-include --extra-arg="$PWD/tests/tidy.h" 2>/dev/null
