#!/bin/sh
# tune.sh ARGUMENTS: sets up what is missing, builds, and runs `tune ARGUMENTS`.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/release

"$top/tools/setup.sh"
{
    [ -e "$build/build.ninja" ] || (cd "$top" && cmake --preset release -DBUILD_TESTING=OFF)
    cmake --build "$build" --target tune
} >"$top/build/log" 2>&1 || {
    cat "$top/build/log" >&2
    exit 1
}
exec "$build/tune" "$@"
