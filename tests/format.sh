#!/bin/sh
# format.sh: every C source, CUDA source and header is as .clang-format says (version 14: others differ). Lists of parameters
# (.def) are aligned by hand, and the seeds of fuzzers (tests/fuzz/seeds) are as they must be.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format-14 >/dev/null || {
    echo "skipped: clang-format-14 is not installed"
    exit 77
}
find tuner db tools kernel_templates runtime tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -not -path '*/seeds/*' -print0 | xargs -0 clang-format-14 --dry-run -Werror
