#!/bin/sh
# install.sh BUILD: cmake --install puts program, configs, man page and completion where they belong, and the installed
# program reads the installed configs, not those of the source tree.
set -eu
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/usr" >/dev/null
for file in bin/tune share/man/man1/tune.1 share/bash-completion/completions/tune \
    share/gemmtune/configs/gpus/h200.conf share/gemmtune/configs/spaces/simt.conf \
    share/gemmtune/configs/suites/ladder.txt; do
    [ -s "$scratch/usr/$file" ] || {
        echo "$file was not installed"
        exit 1
    }
done
grep -q '^\.SH EXIT STATUS' "$scratch/usr/share/man/man1/tune.1"

# Known only to the installed folder: it must be in the list that an unknown name gets.
gpus=$scratch/usr/share/gemmtune/configs/gpus
sed 's/^id *=.*/id = only_here/' "$gpus/h200.conf" >"$gpus/only_here.conf"
code=0
env -u GEMMTUNE_CONFIGS HOME="$scratch" "$scratch/usr/bin/tune" ladder --shape 1x1x1 --compile-only --gpu nosuch \
    2>"$scratch/err" || code=$?
grep -q only_here "$scratch/err" && [ $code != 0 ] || {
    cat "$scratch/err"
    echo "the installed program does not read the installed configs"
    exit 1
}
