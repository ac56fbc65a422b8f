#!/bin/sh
# readme.sh PROGRAM: the README's commands do what it says. Each line of a ```sh block that starts with "tune " is run in
# an empty home; lines with "# GPU" after them need one and are only checked for being understood.
set -eu
program=$(cd "$(dirname "$1")" && pwd)
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" PATH="$program:$PATH" NO_COLOR=1
unset XDG_DATA_HOME XDG_CACHE_HOME GEMMTUNE_DB GEMMTUNE_CACHE GEMMTUNE_CONFIGS || true

awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside && /^tune /' README.md >"$scratch/commands"
[ -s "$scratch/commands" ] || {
    echo "README.md shows no commands"
    exit 1
}
cd "$scratch"
while IFS= read -r line; do
    code=0
    echo "$ $line"
    sh -c "$line" </dev/null >out 2>err || code=$?
    case $line in
    *'# GPU'*) # without a GPU the answer is 5; a command line that is not understood gives 2 or 3
        [ $code = 0 ] || [ $code = 5 ] || {
            cat out err
            echo "exit code $code"
            exit 1
        }
        ;;
    *)
        [ $code = 0 ] || {
            cat out err
            echo "exit code $code"
            exit 1
        }
        ;;
    esac
done <commands

# The two commands of a newcomer are there and can be run, and every file that the documents name exists.
cd "$OLDPWD"
for file in README.md docs/*.md; do
    grep -oE '`(\./)?[a-z_]+/[A-Za-z0-9_./-]*[a-z0-9]`|\]\([^)#:]+\)' "$file" | tr -d '`' |
        sed -E 's/^\]\((.*)\)$/\1/' | sort -u >"$scratch/named"
    while IFS= read -r name; do
        [ -e "$name" ] || [ -e "docs/$name" ] || {
            echo "$file names $name, which is not there"
            exit 1
        }
    done <"$scratch/named"
done
[ -x tools/tune.sh ] && [ -x tools/test.sh ]
