#!/bin/sh
# tune.sh ARGUMENTS: sets up what is missing, builds, and runs `tune ARGUMENTS`. Where a tuning run names no GPU and this
# machine has none, it goes on with a prediction for an H200.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/release

"$top/tools/setup.sh"
{
    [ -e "$build/build.ninja" ] || (cd "$top" && cmake --preset release)
    cmake --build "$build" --target tune
} >"$top/build/log" 2>&1 || {
    cat "$top/build/log" >&2
    exit 1
}

# Options come first, or the word itself; every other word is another command. What names a GPU, or asks for help, goes
# to the program as it is.
tunes_anywhere() {
    case ${1:-} in
    tune | -*) ;;
    *) return 1 ;;
    esac
    for word; do
        case $word in
        --gpu | --gpu=* | --gpus | --gpus=* | --help | --usage | --version | -'?' | -V) return 1 ;;
        esac
    done
}

has_gpu() {
    "$build/tune" doctor --format csv 2>/dev/null | grep -q '^GPU [0-9]*,true'
}

if tunes_anywhere "$@" && ! has_gpu; then
    echo "No usable GPU is here: predicting for an NVIDIA H200 (--gpu NAME names another)." >&2
    set -- "$@" --gpu h200
fi
exec "$build/tune" "$@"
