#!/bin/sh
# readme.sh PROGRAM: the commands of README.md and docs/manual.md do what they say. Each line of a ```sh block that starts
# with "tune " is run with an empty home; those with "# GPU" are run with the driver hidden and must say, with exit code 5,
# that they need it (any other mistake has another code). In place of a budget of 20 s there are two trials, which a slow
# machine does, too. docs/using.md is winners.sh's.
set -eu
program=$(cd "$(dirname "$1")" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" PATH="$program:$PATH"
unset XDG_DATA_HOME XDG_CACHE_HOME GEMMTUNE_DB GEMMTUNE_CACHE GEMMTUNE_CONFIGS || true
cd "$scratch"
ln -s "$top/configs" "$top/docs" .

for page in README.md docs/manual.md; do
    awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside && /^tune /' "$top/$page" >shown
    [ -s shown ] || {
        echo "$page shows no commands"
        exit 1
    }
    cat shown
done >all_shown
awk '!seen[$0]++' all_shown >commands
while IFS= read -r line; do
    wanted=0 hide=
    case $line in
    *'# GPU'*) wanted=5 hide="GEMMTUNE_LIBCUDA=$scratch/no-driver " ;;
    esac
    code=0
    echo "$ $line"
    sh -c "$hide$(echo "$line" | sed 's/--budget 20s/--budget 1h --max-trials 2/')" </dev/null >out 2>err || code=$?
    [ $code = $wanted ] || {
        cat out err
        echo "exit code $code instead of $wanted"
        exit 1
    }
done <commands
