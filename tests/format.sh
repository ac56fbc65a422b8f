#!/bin/sh
# format.sh: every C source, CUDA source and header is as .clang-format says (version 14: others differ). Lists of parameters
# (.def) are aligned by hand, and the seeds of fuzzers (tests/fuzz/seeds) are as they must be.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format-14 >/dev/null || {
    echo "skipped: clang-format-14 is not installed"
    exit 77
}
sources() {
    find tuner db tools kernel_templates runtime tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -not -path '*/seeds/*' -print0
}
sources | xargs -0 clang-format-14 --dry-run -Werror

# A line that is longer than the limit, in a table of a comment, is broken without its indent, and what follows is run into it.
run_on=$(sources | xargs -0 awk '
    /^ \*   +[^ ]/ { table = FILENAME; next }
    /^ \* [a-z(]/ && table == FILENAME { print FILENAME ":" FNR ":" $0 }
    { table = "" }')
if [ -n "$run_on" ]; then
    printf 'lines of a table in a comment that have lost their indent:\n%s\n' "$run_on"
    exit 1
fi
