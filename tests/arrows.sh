#!/bin/sh
# arrows.sh [TREE]: who may include whom. One table has all layers, each folder with C or CUDA files is in it, and the picture
# in docs/tour.md shows it. Besides: headers of other libraries, what our own libraries link, the environment, which is asked
# in one place, the names of source files, which are unique since headers are included by bare name, and how many files a
# folder has. Then the check itself is checked: every arrow that the table does not have is planted in a copy and must be
# noticed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

# layer: its folders: the layers that it may include, with what those may. From the bottom up, so that no arrow returns. Of
# a folder with a star each one is a layer by itself. The library of a layer is gt_LAYER.
layers='
kernel_headers: kernel_templates/device:
base:           tuner/base:
gemm:           tuner/gemm:                  base kernel_headers
kernel:         tuner/kernel:                gemm
templates:      kernel_templates:            kernel
family:         kernel_templates/families/*: templates
ladder:         kernel_templates/ladder:     templates
own:            kernel_templates/own:        templates
db:             db:                          kernel
workers:        tuner/workers:               kernel
search:         tuner/search:                kernel
gpu:            tuner/gpu:                   kernel
judge:          tuner/judge:                 gpu
measure:        tuner/measure:               judge workers own
winners:        tuner/winners:               db search
tune:           tuner/tune:                  winners workers gpu own
tools:          tools/common:                tune
command:        tools/*:                     tools measure ladder
program:        tuner:                       command
runtime:        runtime:                     winners gpu own
seam:           runtime/dropin:              gpu
stub:           runtime/dropin/stub:         seam
dropin:         runtime/dropin/engine:       seam runtime
python:         runtime/python:              runtime
'
# header: the folders and files that may include it, whatever their layer may.
others='
(cuda|cuda_.*|cudaTypedefs)\.h: tuner/gpu runtime/gemm_call.h
(nvml|cublas.*)\.h: nowhere
nvrtc\.h:   tuner/gpu/compile.c
sqlite3\.h: db
uv\.h:      tuner/workers/pool.c tuner/workers/pool_child.c tuner/workers/pool_child.h
Python\.h:  runtime/python
ini\.h:     tuner/gemm/gpu.c tuner/search/space.c
zlib\.h:    tools/import/import_ours.c db/db_code.c
gt_cpu\.h:  kernel_templates/device
version\.h: tuner/main.c
'

# What includes or can be included.
sources() {
    find tuner tools db kernel_templates runtime -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort
}

# Pairs "LAYER LAYER": the arrows of the table, with those that follow from them.
arrows() {
    echo "$layers" | awk -F: '
        NF < 3 { next }
        {
            known[$1]
            print $1, $1
            n = split($3, below, " ")
            for (i = 1; i <= n; i++) {
                if (!(below[i] in known)) { print "the table: " below[i] " is not below " $1 >"/dev/stderr"; exit 1 }
                for (k in known) if ((k == below[i] || (below[i], k) in may) && !(($1, k) in may)) { may[$1, k]; print $1, k }
            }
        }'
}

# Folders on standard input as "FOLDER LAYER UNIT": what lies in one unit may include each other.
places() {
    LAYERS=$layers awk '
        BEGIN {
            rows = split(ENVIRON["LAYERS"], row, "\n")
            for (r = 1; r <= rows; r++) {
                if (split(row[r], part, ":") < 3) continue
                n = split(part[2], folder, " ")
                for (i = 1; i <= n; i++) layer[folder[i]] = part[1]
            }
        }
        {
            up = $0
            sub(/\/[^\/]*$/, "/*", up)
            if ($0 in layer) print $0, layer[$0], layer[$0]
            else if (up in layer) print $0, layer[up], $0
            else print $0, "-", "-"
        }'
}

# The includes of the tree that the tables do not have, a line each.
judge() {
    sources >"$scratch/sources"
    sed 's|/[^/]*$||' "$scratch/sources" | sort -u | places >"$scratch/places"
    awk '$2 == "-" { print $1 ": this folder belongs to no layer" }' "$scratch/places"
    xargs grep -HnE '^ *# *include *[<"]' <"$scratch/sources" >"$scratch/includes"
    OTHERS=$others awk '
        function folder_of(file) { sub(/\/[^\/]*$/, "", file); return file }
        function within(file, list,    i, n, place) {
            n = split(list, place, " ")
            for (i = 1; i <= n; i++) if (index(file "/", place[i] "/") == 1) return 1
            return 0
        }
        BEGIN {
            rows = split(ENVIRON["OTHERS"], row, "\n")
            for (r = 1; r <= rows; r++)
                if (split(row[r], part, ":") == 2) { other[++others] = "^" part[1] "$"; allowed[others] = part[2] }
        }
        FILENAME ~ /arrows$/ { may[$1, $2]; next }
        FILENAME ~ /places$/ { layer[$1] = $2; unit[$1] = $3; next }
        FILENAME ~ /sources$/ { name = $0; sub(/.*\//, "", name); home[name] = folder_of($0); next }
        {
            split($0, part, ":")
            at = part[1] ":" part[2] ": "
            from = folder_of(part[1])
            header = $0
            sub(/^[^"<]*["<]/, "", header)
            sub(/[">].*/, "", header)
            if (header in home) {
                to = home[header]
                if (unit[from] != unit[to] && (layer[from] == layer[to] || !((layer[from], layer[to]) in may)))
                    print at from " may not include " header " of " to
                next
            }
            for (i = 1; i <= others && header !~ other[i];) i++
            if (i <= others ? !within(part[1], allowed[i]) : $0 ~ /include *"/) print at header " is not for this file"
        }' "$scratch/arrows" "$scratch/places" "$scratch/sources" "$scratch/includes"
}

# Links of our libraries that the table does not have. One library holds all the commands.
judge_links() {
    # shellcheck disable=SC2046 # our file names have no blanks
    awk '
        FILENAME ~ /arrows$/ { sub(/^command /, "tools "); layer[$1]; may[$1, $2]; next }
        /gt_library\(gt_/ { name = $0; sub(/.*gt_library\(gt_/, "", name); sub(/ .*/, "", name); open = 1 }
        !open { next }
        {
            open = !/\)/
            gsub(/[()]/, " ")
            for (i = 1; i <= NF; i++) {
                other = substr($i, 4)
                if ($i ~ /^gt_[a-z_]+$/ && other in layer && other != name && !((name, other) in may))
                    print FILENAME ":" FNR ": gt_" name " may not link " $i
            }
        }' "$scratch/arrows" $(find tuner tools db kernel_templates runtime -name CMakeLists.txt)
}

# The tree in $1; what is wrong, a line each, also in $scratch/wrong.
check() (
    cd "$1"
    {
        judge
        judge_links
        # TERM and the like say nothing that could be trusted too far.
        grep -rnE '(^|[^_a-zA-Z])(secure_)?getenv\(' --include='*.[ch]' tuner tools db runtime kernel_templates |
            grep -vE '^tuner/base/env\.c:|getenv\("(TERM|COLUMNS|LINES|NO_COLOR)"\)' |
            sed 's/$/  <- the environment is asked through env.h, which believes nothing in a set-uid program/'
        find . -path './build*' -prune -o -path './.*' -prune -o -path './configs/spaces/*/*' -prune -o \
            -type f -name '*.[ch]*' -printf '%f\n' | sort | uniq -d |
            sed 's/$/: two files have this name/'
        # Beside a program of ours a module of ours comes before Python's, which others of Python's may import.
        python3 -I -c 'import sys; print("\n".join(sys.stdlib_module_names))' >"$scratch/python"
        find . -path './build*' -prune -o -path './.*' -prune -o -type f -name '*.py' -printf '%f\n' | sed 's/\.py$//' |
            grep -xF -f "$scratch/python" | sed "s/\$/.py: a module of Python's own has this name/"
        find . -path './build*' -prune -o -path './.*' -prune -o -name __pycache__ -prune -o -type f -printf '%h\n' |
            sort | uniq -c | awk '$1 >= 50 { print $2 ": " $1 " files in one folder" }'
    } >"$scratch/wrong"
    cat "$scratch/wrong"
    [ ! -s "$scratch/wrong" ]
)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
arrows >"$scratch/arrows"
echo "$layers" | awk -F: 'NF == 3 && $3 ~ /[a-z]/ { print $1, $3 }' | tr -s ' ' | sort >"$scratch/table"
# shellcheck disable=SC2016 # nothing to expand
sed -n '/^```mermaid$/,/^```$/s/ --> / /p' "$here/docs/tour.md" | tr -d '&' | tr -s ' ' | sed 's/^ //' | sort >"$scratch/picture"
diff "$scratch/table" "$scratch/picture" || {
    echo "^ the table (<) and the picture in docs/tour.md (>) differ"
    exit 1
}
check "${1:-$here}" || exit 1

# For each two folders without an arrow, a file of the one includes a header of the other; and the arrows that matter most in
# words of their own, should the table be wrong. "FILE:LINE:" of each is kept, and must be complained of.
plant() { # FILE TEXT
    echo "$2" >>"$scratch/tree/$1"
    echo "$1:$(wc -l <"$scratch/tree/$1"):" >>"$scratch/planted"
}

mkdir "$scratch/tree"
(cd "$here" && tar cf - tuner tools db kernel_templates runtime) | tar xf - -C "$scratch/tree"
while read -r folder layer unit; do
    header=$(find "$here/$folder" -maxdepth 1 -name '*.h' -printf '%f\n' | sort | head -n 1)
    echo "$folder $layer $unit $header"
done <"$scratch/places" >"$scratch/folders"
arrows=$(tr '\n' ',' <"$scratch/arrows")
while read -r folder layer unit _; do
    file=$(cd "$here" && find "$folder" -maxdepth 1 -name '*.[ch]' | sort | head -n 1)
    while read -r _ its_layer its_unit header; do
        if [ "$unit" = "$its_unit" ] || [ -z "$header" ]; then continue; fi
        case "$layer/$its_layer,$arrows" in
        "$layer/$layer",*) ;; # two folders of a row with a star
        *,"$layer $its_layer",*) continue ;;
        esac
        plant "$file" "#include \"$header\""
    done <"$scratch/folders"
done <"$scratch/folders"
plant tuner/base/stats.c '#include "problem.h"'
plant tuner/gemm/problem.c '#include "device.h"'
plant tuner/kernel/template.c '#include "simt_rules.h"'
plant kernel_templates/families/resident/tall.cu '#include "skinny_small.cuh"'
plant tuner/search/search.c '#include "db.h"'
plant db/db_open.c '#include "compile.h"'
plant tuner/measure/trial.c '#include "db.h"'
plant tuner/judge/oracle.c '#include "measure.h"'
plant tuner/winners/winner_store.c '#include "gemmtune.h"'
plant tuner/tune/job.c '#include "db_view.h"'
plant tuner/tune/hints.c '#include "plan.h"'
plant tools/query/cmd_query.c '#include "gemmtune.h"'
plant runtime/plan.c '#include "job.h"'
plant runtime/dropin/engine/route.c '#include "job.h"'
plant runtime/dropin/stub/stub.c '#include "winner_store.h"'
# Libraries of others.
plant tuner/base/stats.c '#include <cuda.h>'
plant tuner/gemm/problem.c '#include <cublas_v2.h>'
plant tuner/gpu/kernel.c '#include <nvrtc.h>'
plant tuner/winners/winner_store.c '#include <sqlite3.h>'
plant tuner/workers/children.c '#include <uv.h>'
plant db/db_open.c '#include <ini.h>'
plant tools/export/export_text.c '#include <zlib.h>'
plant tuner/tune/job.c '#include "generated.h"'
# What no include shows.
plant tuner/CMakeLists.txt 'gt_library(gt_search SOURCES a.c LINKS gt_kernel gt_db)'
plant tuner/gpu/nvml.c 'const char *library = getenv("GEMMTUNE_LIBNVML");'
touch "$scratch/tree/tools/common/stats.c"
echo "stats.c: two files" >>"$scratch/planted"
mkdir "$scratch/tree/tuner/more"
touch "$scratch/tree/tuner/more/more.c"
echo "tuner/more: this folder" >>"$scratch/planted"
for i in $(seq 50); do touch "$scratch/tree/tuner/more/$i.txt"; done
echo "./tuner/more: 5" >>"$scratch/planted"

check "$scratch/tree" >/dev/null || true
while read -r line; do
    grep -qF "$line" "$scratch/wrong" || echo "not noticed: $line"
done <"$scratch/planted" >"$scratch/missed"
cat "$scratch/missed"
[ ! -s "$scratch/missed" ]
echo "the arrows hold: $(wc -l <"$scratch/planted") that must not be were noticed"
