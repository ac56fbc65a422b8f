#!/bin/sh
# format.sh: every C source and header is as .clang-format says (version 14: others differ).
set -eu
cd "$(dirname "$0")/.."
command -v clang-format-14 >/dev/null || {
    echo "skipped: clang-format-14 is not installed"
    exit 77
}
find tuner db tools kernel_templates runtime tests -name '*.[ch]' -print0 | xargs -0 clang-format-14 --dry-run -Werror
