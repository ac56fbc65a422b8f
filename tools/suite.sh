#!/bin/sh
# suite.sh FOLDER [BUDGET]: the public suite against cuBLAS on this machine's first GPU, from an empty database to the table
# by class in docs/results/h200-suite.md. Searches (25 minutes unless BUDGET says otherwise), then times the winners: in captured graphs against all that
# NVIDIA's libraries offer, one by one, and beyond the suite (the other ops, a tiny C). FOLDER keeps database, logs, CSV files,
# the plot where there is gnuplot, and classes.md. What is there already is not done again, so that it may be interrupted.
#
# TUNE names a program to use in place of the one that is built here; SUITE and BEYOND other lists of problems.
set -eu
[ $# -ge 1 ] || {
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0" | sed '/^set /d' >&2
    exit 2
}
top=$(cd "$(dirname "$0")/.." && pwd)
folder=$1 budget=${2:-25m}
tune=${TUNE:-$top/tools/tune.sh}
suite=${SUITE:-$top/configs/suites/public.txt} beyond=${BEYOND:-$top/configs/suites/beyond.txt}
mkdir -p "$folder"
export GEMMTUNE_DB="$folder/suite.db" GEMMTUNE_CACHE="${GEMMTUNE_CACHE:-$folder/cache}"

# once FILE COMMAND...: its output becomes FILE when it has ended well; what it says meanwhile is shown and kept in FILE.log.
once() {
    file=$folder/$1 code=0
    shift
    [ ! -e "$file" ] || return 0
    echo "== $*" >&2
    rm -f "$file.pipe"
    mkfifo "$file.pipe"
    tee "$file.log" <"$file.pipe" >&2 &
    "$@" 2>"$file.pipe" >"$file.part" || code=$?
    wait
    rm "$file.pipe"
    [ $code = 0 ] || exit $code
    mv "$file.part" "$file"
}

plot=
if command -v gnuplot >/dev/null; then plot="--plot $folder/ratios.svg"; fi
once search.csv "$tune" --suite "$suite" --gpus 0 --budget "$budget" --no-pretuned --format csv
once search_beyond.csv "$tune" --suite "$beyond" --gpus 0 --budget "${BEYOND_BUDGET:-5m}" --no-pretuned --format csv
# shellcheck disable=SC2086 # two words, or none
once graph.csv "$tune" bench --suite "$suite" --rival all --format csv $plot
once stream.csv "$tune" bench --suite "$suite" --launch stream --format csv
once beyond.csv "$tune" bench --suite "$beyond" --format csv
LC_ALL=C awk -f "$top/tools/suite_classes.awk" "$folder/graph.csv" "$folder/stream.csv" "$folder/beyond.csv" >"$folder/classes.md"
cat "$folder/classes.md"
