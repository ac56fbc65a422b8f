#!/bin/sh
# test.sh [quick]: sets up what is missing, builds, and runs the tests: with the address sanitizer, those with threads
# with the thread sanitizer, and optimised. quick: only the optimised build's unit and cli tests.
set -eu
cd "$(dirname "$0")/.."
cores=$(nproc)
failed=

# suite PRESET CTEST_OPTIONS: build it and run its tests.
suite() {
    preset=$1
    shift
    echo "== $preset"
    cmake --preset "$preset" -DBUILD_TESTING=ON >build/log || {
        cat build/log
        return 1
    }
    cmake --build --preset "$preset" -- -k 0 --quiet || return 1
    ctest --preset "$preset" --parallel "$cores" --timeout 900 "$@" </dev/null
}

tools/setup.sh test
mkdir -p build
if [ "${1:-}" = quick ]; then
    suite release --label-regex '^(unit|cli)$'
    exit
fi
# The executed kernels (label exec) are under the sanitizers in every build.
suite debug --label-exclude 'exec|static|nvrtc|slow' || failed="$failed debug"
suite tsan || failed="$failed tsan"
suite release || failed="$failed release"
[ -z "$failed" ] || {
    echo "failed:$failed"
    exit 1
}
