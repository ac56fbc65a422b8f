#!/bin/sh
# readme.sh PROGRAM: the README's commands do what it says. Each line of a ```sh block that starts with "tune " is run
# with an empty home; those with "# GPU" are run with the driver hidden and must say, with exit code 5, that they need
# it (any other mistake has another code); "Use the winners" is winners.sh's. And every file that the documents name is there.
set -eu
program=$(cd "$(dirname "$1")" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" PATH="$program:$PATH"
unset XDG_DATA_HOME XDG_CACHE_HOME GEMMTUNE_DB GEMMTUNE_CACHE GEMMTUNE_CONFIGS || true
cd "$scratch"
ln -s "$top/configs" configs

awk '/^## / { other = /Use the winners/ } /^```sh$/ { inside = !other; next } /^```/ { inside = 0 } inside && /^tune /' "$top/README.md" >commands
[ -s commands ] || {
    echo "README.md shows no commands"
    exit 1
}
while IFS= read -r line; do
    wanted=0 hide=
    case $line in
    *'# GPU'*) wanted=5 hide="GEMMTUNE_LIBCUDA=$scratch/no-driver " ;;
    esac
    code=0
    echo "$ $line"
    sh -c "$hide$line" </dev/null >out 2>err || code=$?
    [ $code = $wanted ] || {
        cat out err
        echo "exit code $code instead of $wanted"
        exit 1
    }
done <commands

cd "$top"
find . -path './build*' -prune -o -path './.*' -prune -o -type f -printf '%f\n' | sort -u >"$scratch/files"
for file in README.md docs/*.md; do
    # paths in backquotes and targets of links
    grep -oE '`(\./)?[a-z_]+/[A-Za-z0-9_./-]*[a-z0-9]`|\]\([^)#:]+\)' "$file" | tr -d '`' |
        sed -E 's/^\]\((.*)\)$/\1/' | grep -vE 'NAME|^share/' | sort -u | while IFS= read -r name; do
        [ -e "$name" ] || [ -e "docs/$name" ] || echo "$file names $name, which is not there"
    done
    # bare names of source files in backquotes
    grep -oE '`[a-z0-9_]+\.(c|h|cu|cuh|sh|conf|sql|txt)`' "$file" | tr -d '`' | sort -u |
        grep -vxF -f "$scratch/files" | sed "s|^|$file names a file that is not there: |"
done >"$scratch/missing"
cat "$scratch/missing"
[ ! -s "$scratch/missing" ]
