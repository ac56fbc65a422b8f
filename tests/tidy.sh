#!/bin/sh
# tidy.sh BUILD [changed]: clang-tidy finds nothing in the program's sources (status.c defines what tidy.h wraps).
# changed: only in those that differ from where this branch left origin/main, with what is not committed; on main itself,
# or where its history is not known, from the commit before. A clone without history, and more than 40 files: left to the
# whole run.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
command -v clang-tidy-14 >/dev/null || {
    echo "skipped: clang-tidy-14 is not installed"
    exit 77
}

# The commit to compare with.
base() {
    merge=$(git merge-base origin/main HEAD 2>/dev/null) && [ "$merge" != "$(git rev-parse HEAD)" ] && echo "$merge" && return
    git rev-parse --verify --quiet HEAD~
}

# sources: the files to check, a line each. A changed header is checked with the source of its name.
sources() {
    find tuner db tools kernel_templates runtime -name '*.c' ! -name status.c | sort >"$scratch/all"
    [ "$1" = changed ] || {
        cat "$scratch/all"
        return
    }
    { git diff --name-only --relative "$2" && git ls-files --others --exclude-standard; } |
        sed 's/\.h$/.c/' | sort -u | comm -12 - "$scratch/all"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
from=
if [ "${2:-}" = changed ]; then
    from=$(base) || {
        echo "skipped: no commit to compare with"
        exit 77
    }
fi
sources "${2:-all}" "$from" >"$scratch/sources"
count=$(wc -l <"$scratch/sources")
if [ -n "$from" ]; then
    echo "$count changed sources since $from"
    [ "$count" -le 40 ] || {
        echo "skipped: tools/test.sh all checks them with all others"
        exit 77
    }
fi
# The sanitized build silences a warning that only gcc has.
[ "$count" = 0 ] || tr '\n' '\0' <"$scratch/sources" | xargs -0 -n 4 -P "$(nproc)" \
    clang-tidy-14 --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-include --extra-arg="$PWD/tests/tidy.h" 2>/dev/null
