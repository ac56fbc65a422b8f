#!/bin/sh
# printing.sh [TREE]: everything that people read passes through tuner/base/print.c, which escapes what a terminal would
# obey. Refused elsewhere: functions that print to standard output or error, and argp's own messages; functions that
# write to a stream, but in the files below, which write files (JSON, CSV, headers, captures, gnuplot's script) and must
# not name stdout or stderr in such a call. Then the check itself is checked: each rule is broken once in a copy.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
writers='tuner/base/(table_data|plot)\.[ch]|tools/(import/cmd_import|report/report_page|cluster/cluster_(plan|slurm)|common/result_json|export/(export|winner)_[a-z]+)\.[ch]|tuner/(gemm/capture|tune/keep|workers/children_start)\.c|kernel_templates/own/own\.c'

# Code alone: comments and strings could name anything.
code() {
    awk '
        { line = $0; gsub(/\\./, "", line); gsub(/"[^"]*"/, "\"\"", line) }
        inside { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
        { while (match(line, /\/\*([^*]|\*+[^*\/])*\*+\//)) line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH) }
        sub(/\/\*.*/, "", line) { inside = 1 }
        { sub(/\/\/.*/, "", line); print FILENAME ":" FNR ": " line }' "$@"
}

check() (
    cd "$1"
    wrong=
    # shellcheck disable=SC2046 # our file names have no blanks
    all=$(code $(find tuner tools db runtime kernel_templates -name '*.[ch]' | grep -v '^tuner/base/print\.c$'))
    refuse() { # WHY, lines on standard input
        lines=$(cat)
        [ -n "$lines" ] || return 0
        echo "$lines"
        echo "^ $1"
        wrong=1
    }
    refuse "print.h prints" <<END
$(echo "$all" | grep -E '(^|[^a-zA-Z0-9_])(printf|vprintf|puts|putchar|perror|psignal|dprintf|warnx?|errx?|error_at_line|argp_[a-z_]+) *\(')
END
    refuse "this file writes no files: print.h prints" <<END
$(echo "$all" | grep -vE "^($writers):" | grep -E '(^|[^a-zA-Z0-9_])(fprintf|vfprintf|fputs|fputc|putc|fwrite|json_dumpf) *\(')
END
    refuse "what goes to standard output or error passes through print.h" <<END
$(echo "$all" | grep -vE '^tools/common/result_json\.c:.*json_dumpf' |
        grep -E '(fprintf|vfprintf|fputs|fputc|putc|fwrite|write|json_dumpf|json_dumpfd) *\(.*(stdout|stderr|STD(OUT|ERR)_FILENO)')
END
    [ -z "$wrong" ]
)

# planted FILE TEXT: the check must refuse the tree with TEXT added to FILE.
planted() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree"
    (cd "$here" && tar cf - tuner tools db kernel_templates runtime) | tar xf - -C "$scratch/tree"
    echo "$2" >>"$scratch/tree/$1"
    if check "$scratch/tree" >/dev/null; then
        echo "not noticed: $2 in $1"
        exit 1
    fi
}

check "${1:-$here}" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
while read -r file text; do planted "$file" "$text"; done <<'END'
tuner/main.c void f(void) { printf("x"); }
tools/query/cmd_query.c void f(void) { puts("x"); }
db/db_open.c void f(void) { perror("x"); }
runtime/plan.c void f(FILE *s) { fprintf(s, "x"); }
tools/merge/cmd_merge.c void f(struct argp_state *s) { argp_error(s, "x"); }
tuner/base/table_data.c void f(void) { fputs("x", stderr); }
tuner/gpu/device.c void f(FILE *s) { /* harmless */ fwrite("x", 1, 1, s); }
END
echo "all output passes through print.h"
