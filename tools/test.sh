#!/bin/sh
# test.sh [quick | all]: sets up what is missing, builds, and runs the tests.
#
# Without a word: the short run, a quarter of an hour on two cores, with the address and the undefined-behaviour sanitizer. build/times.txt gets
# the CPU minutes of each label (tests/times.py); it warns of one that has grown by a fifth over tests/times.txt, and fails if by a half.
# all: the long tests as well, those with threads under the thread sanitizer, and optimised what may differ then: 45 minutes on
# two cores that do nothing else.
# quick: the optimised build's unit, fuzz and cli tests.
set -eu
cd "$(dirname "$0")/.."
cores=$(nproc)
failed=

# suite PRESET CTEST_OPTIONS: build it and run its tests, one more at a time than there are cores, because some wait.
suite() {
    preset=$1
    shift
    echo "== $preset"
    cmake --preset "$preset" -DBUILD_TESTING=ON >build/log || {
        cat build/log
        return 1
    }
    rm -rf "build/$preset/times"
    mkdir "build/$preset/times"
    cmake --build --preset "$preset" -- -k 0 --quiet || return 1
    ctest --preset "$preset" --parallel $((cores + 1)) --timeout 900 "$@" </dev/null
}

# sanitized CTEST_OPTIONS: the tests under the address sanitizer, and what they cost.
sanitized() {
    suite debug "$@" || failed="$failed debug"
    python3 tests/times.py build/debug tests/times.txt build/times.txt || failed="$failed times"
}

if [ "${1:-}" = all ]; then tools/setup.sh all; else tools/setup.sh test; fi
mkdir -p build
case ${1:-short} in
short)
    sanitized --label-regex '^short$'
    ;;
all)
    sanitized --label-regex '^(short|unit|cli|fuzz|exec|mutants)$'
    suite tsan || failed="$failed tsan"
    # Not again: the executed kernels (labels exec and mutants), which are under the sanitizers in every build, and the long
    # tests of what those have seen. Campaign, load, what is installed and exported, and NVRTC are only here.
    suite release --label-exclude '^(exec|mutants|long)$' --label-exclude '^(exec|mutants|unit|cli|fuzz)$' \
        --exclude-regex '^(nvrtc_few|tidy_changed|optimised)$' || failed="$failed release"
    ;;
quick)
    suite release --label-regex '^(unit|fuzz|cli)$' --label-exclude '^long$' || failed="$failed release"
    ;;
*)
    echo "usage: tools/test.sh [quick | all]" >&2
    exit 2
    ;;
esac
[ -z "$failed" ] || {
    echo "failed:$failed"
    exit 1
}
