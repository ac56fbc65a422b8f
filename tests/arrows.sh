#!/bin/sh
# arrows.sh [TREE]: who may include whom.
#
#   core, kernel_templates   nothing of CUDA or SQLite, no header of another folder
#   db                       core; alone sees sqlite3.h
#   tuner/gpu                core; alone sees the CUDA headers, compile.c alone nvrtc.h
#   runtime                  core, db, tuner/gpu; no command
#   tuner, tools             all of them: the commands
#
# and the environment is asked in one place, and every source file's name is unique, since headers are included by bare name. Then the check itself is checked:
# each arrow is broken once in a copy and must be noticed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

sources() { # of folders given, not of folders below
    for folder in "$@"; do
        find "$folder" -maxdepth 1 -type f -name '*.[ch]'
    done
}

# forbid WHY HEADERS_REGEX FILE...: complain about includes of such headers.
forbid() {
    why=$1
    regex=$2
    shift 2
    [ $# -gt 0 ] || return 0
    if grep -nE "^ *# *include *[<\"]($regex)[>\"]" "$@" /dev/null; then
        echo "^ $why"
        wrong=1
    fi
}

# The headers in the given folders as a regular expression of their names.
headers_of() {
    for folder in "$@"; do
        if [ -d "$folder" ]; then find "$folder" -maxdepth 1 -name '*.h' -printf '%f\n'; fi
    done | grep -vx "$spared" | sed 's/\./\\./' | paste -sd '|'
}

check() (
    cd "$1"
    wrong=
    cuda='cuda[a-zA-Z_]*\.h|nvrtc\.h|nvml\.h|cublas.*\.h'
    spared=commands.h # the table of commands: two of them are children that live in tuner/gpu
    gpu=$(headers_of tuner/gpu)
    db=$(headers_of db)
    commands=$(headers_of tuner tools runtime)

    # shellcheck disable=SC2046 # our file names have no blanks
    {
        forbid "core and the templates know neither CUDA nor SQLite, and no other folder" \
            "$cuda|sqlite3\.h|uv\.h|$gpu|$db|$commands" \
            $(sources tuner/core kernel_templates | grep -v '/pool\.c$')
        forbid "the pool knows libuv and core" "$cuda|sqlite3\.h|$gpu|$db|$commands" tuner/process/pool.c
        forbid "the database knows no GPU and no command" "$cuda|uv\.h|$gpu|$commands" $(sources db)
        forbid "GPU code knows no database and no command" "sqlite3\.h|uv\.h|$db|$commands" $(sources tuner/gpu)
        forbid "the runtime library knows no command" \
            "nvrtc\.h|sqlite3\.h|uv\.h|$(headers_of tuner tools)" $(sources runtime)
        forbid "only tuner/cuda/compile.c knows NVRTC" "nvrtc\.h" \
            $(sources tuner/gpu | grep -v '/compile\.c$')
        forbid "the commands reach CUDA and SQLite through tuner/gpu and db" "$cuda|sqlite3\.h|uv\.h" \
            $(sources tuner tools)
    }
    # TERM and the like say nothing that could be trusted too far.
    if grep -rnE '(^|[^_a-zA-Z])getenv\(' --include='*.[ch]' tuner tools db runtime kernel_templates |
        grep -vE '^tuner/core/env\.h:|getenv\("(TERM|COLUMNS|LINES|NO_COLOR)"\)'; then
        echo "^ the environment is asked through tuner/base/env.h, which believes nothing in a set-uid program"
        wrong=1
    fi
    twins=$(find . -path './build*' -prune -o -path './.*' -prune -o -type f -name '*.[ch]*' -printf '%f\n' |
        sort | uniq -d)
    if [ -n "$twins" ]; then
        echo "$twins"
        echo "^ two files have this name"
        wrong=1
    fi
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
planted tuner/base/stats.c '#include <cuda.h>'
planted tuner/core/problem.c '#include "device.h"'
planted kernel_templates/templates.c '#include "db.h"'
planted db/db.c '#include "compile.h"'
planted tuner/cuda/device.c '#include <sqlite3.h>'
planted tuner/measure/trial.c '#include "db.h"'
planted tuner/measure/kernel.c '#include <nvrtc.h>'
planted tuner/show/table.c '#include <sqlite3.h>'
planted runtime/plan/plan.c '#include "job.h"'
planted tuner/winners/known.c '#include <sqlite3.h>'
planted tuner/cuda/nvml.c 'const char *library = getenv("GEMMTUNE_LIBNVML");'
planted tools/stats.c ''
echo "the arrows hold"
