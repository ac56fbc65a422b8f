#!/bin/sh
# run.sh PROGRAM CASE: run CASE.sh in an empty folder and compare what it showed with CASE.expected beside it.
#
# A case calls `t COMMAND ...`, which shows the command, its standard output, its standard error (each line after
# "! ") and, if it is not 0, its exit code ("= 3"). In CASE.expected {*} stands for any text within a line and a line
# {**} for any lines, none included. A case that cannot run here calls `skip WHY`. The GPU driver is hidden, so that a
# case shows the same on every machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
case=$2
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/home" "$scratch/work"
ln -s "$program" "$scratch/bin/"

cat >"$scratch/t.sh" <<'END'
t() {
    echo "$ $*"
    code=0
    "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" </dev/null || code=$?
    cat "$SCRATCH/out"
    sed 's/^/! /' "$SCRATCH/err"
    [ $code = 0 ] || echo "= $code"
}
skip() {
    echo "skipped: $*" >&3
    exit 77
}
END

code=0
(
    cd "$scratch/work"
    exec env -i PATH="$scratch/bin:$PATH" HOME="$scratch/home" SCRATCH="$scratch" SOURCES="$here/../.." LC_ALL=C \
        GEMMTUNE_LIBCUDA="$scratch/no-driver" COLUMNS=100 ASAN_OPTIONS="${ASAN_OPTIONS:-}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}" \
        sh -eu -c '. "$SCRATCH/t.sh"; . "$0"' "$here/$case.sh" 3>&1 >"$scratch/shown" 2>"$scratch/noise" </dev/null
) || code=$?
if [ $code = 77 ]; then exit 77; fi
if [ $code != 0 ]; then
    cat "$scratch/shown" "$scratch/noise"
    echo "the case itself failed with $code"
    exit 1
fi
exec python3 "$here/compare.py" "$here/$case.expected" "$scratch/shown"
