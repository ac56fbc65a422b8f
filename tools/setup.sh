#!/bin/sh
# setup.sh [test | all]: installs what is missing to build tune, or, with the word test, to build and pass its tests too;
# all: also what only the long tests need (a browser, Slurm, tools that make packages and a clean Debian).
#
# System packages come from apt-get (as root, or through sudo where that asks nothing). The CUDA toolkit is the
# installed one; where there is none, NVIDIA's wheels are unpacked into .deps/cuda of this folder, which needs no root.
# Says nothing and changes nothing when all is there.
set -eu
cd "$(dirname "$0")/.."
missing=

give_up() {
    echo "setup: $*" >&2
    exit 1
}

# need_command COMMAND PACKAGE, need_library PKG_CONFIG_MODULE PACKAGE: note the package if the thing is not there.
need_command() {
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need_library() {
    command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "$1" || missing="$missing $2"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

install_missing() {
    [ -n "$missing" ] || return 0
    how="apt-get update && apt-get install -y --no-install-recommends$missing"
    command -v apt-get >/dev/null || give_up "please install (these are Debian's names):$missing"
    as_root true 2>/dev/null || give_up "please run as root: $how"
    echo "setup: installing$missing" >&2
    as_root apt-get update -qq >&2 || give_up "apt-get update failed; afterwards run: $how"
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2 ||
        give_up "apt-get could not install$missing"
    missing=
}

# The folder of the headers that the build would use, nothing if there is none.
toolkit() {
    rm -rf build/probe
    cmake -G Ninja -S cmake/probe -B build/probe 2>/dev/null | sed -n 's/^-- CUDA [0-9.]*: //p'
}

# cuBLAS, the rival, is half a gigabyte: only where there is a GPU to race on.
have_gpu() {
    [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]
}

fetch_wheels() {
    wheels='nvidia-cuda-nvrtc==13.0.* nvidia-cuda-runtime==13.0.* nvidia-cuda-crt==13.0.*'
    if have_gpu; then wheels="$wheels nvidia-cublas==13.0.*"; fi
    if ! python3 -m pip --version >/dev/null 2>&1; then
        missing="python3 python3-pip"
        install_missing
    fi
    echo "setup: no CUDA toolkit is installed; unpacking NVIDIA's wheels into .deps/cuda" >&2
    rm -rf .deps/cuda.new
    # shellcheck disable=SC2086 # a list of words
    python3 -m pip install --quiet --no-deps --root-user-action=ignore --target .deps/cuda.new $wheels >&2 ||
        give_up "pip could not fetch $wheels; or install the CUDA toolkit (12.8 or later)"
    rm -rf .deps/cuda
    mv .deps/cuda.new .deps/cuda
}

need_command cmake cmake
need_command ninja ninja-build
need_command gcc gcc
need_command g++ g++
need_command pkg-config pkg-config
need_command gnuplot gnuplot-nox
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
need_library sqlite3 libsqlite3-dev
need_library libuv libuv1-dev
need_library jansson libjansson-dev
need_library zlib zlib1g-dev
need_library inih libinih-dev
need_library libxxhash libxxhash-dev
[ -e /usr/share/javascript/chart.js/chart.min.js ] || missing="$missing libjs-chart.js" # for tune report
if [ "${1:-}" = all ]; then
    PATH=$PATH:/usr/sbin need_command slurmctld slurm-wlm
    PATH=$PATH:/usr/sbin need_command munged munge
    need_command chromium chromium
    need_command mmdebstrap mmdebstrap
    need_command rpmbuild rpm
    need_command dpkg-shlibdeps dpkg-dev
    need_command tclsh tcl
fi
if [ "${1:-}" = test ] || [ "${1:-}" = all ]; then
    need_library cmocka libcmocka-dev
    need_command python3 python3
    need_command mypy mypy
    [ -n "$(find /usr/include/python3*/Python.h 2>/dev/null)" ] || missing="$missing python3-dev" # for the wheel
    need_command git git
    need_command make make
    # Debian's gcc brings it along.
    ! command -v gcc >/dev/null || [ -e "$(gcc -print-file-name=libtsan.so)" ] ||
        missing="$missing libgcc-$(gcc -dumpversion)-dev"
    # One version everywhere: another formats otherwise.
    command -v clang-format-14 >/dev/null || missing="$missing clang-format-14"
    command -v clang-tidy-14 >/dev/null || missing="$missing clang-tidy-14"
fi
install_missing

case $(toolkit) in
'')
    fetch_wheels
    [ -n "$(toolkit)" ] || give_up "the wheels in .deps/cuda are incomplete; remove that folder and try again"
    ;;
*/.deps/cuda/*) # a GPU may have come since
    if have_gpu && [ ! -e .deps/cuda/nvidia/cu13/lib/libcublas.so.13 ]; then fetch_wheels; fi
    ;;
esac
