#!/bin/sh
# install.sh BUILD: cmake --install puts program, configs, machine code, man pages and completion where they belong, and the installed
# program reads the installed configs, not those of the source tree.
set -eu
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(umask 002 && cmake --install "$build" --prefix "$scratch/usr" >/dev/null)
for file in bin/tune share/man/man1/tune.1 share/bash-completion/completions/tune share/zsh/site-functions/_tune \
    share/fish/vendor_completions.d/tune.fish share/man/man1/tune-forget.1 \
    share/gemmtune/configs/gpus/h200.conf share/gemmtune/configs/spaces/simt.conf share/gemmtune/configs/spaces/tall.conf \
    share/gemmtune/configs/suites/ladder.txt share/gemmtune/configs/cluster/slurm_array.sh \
    share/gemmtune/configs/cluster/slurm_merge.sh; do
    [ -s "$scratch/usr/$file" ] || {
        echo "$file was not installed"
        exit 1
    }
done

# Machine code is run: nobody else may write it, whatever the umask.
winners=$scratch/usr/share/gemmtune/configs/winners
[ -z "$(find "$winners" -perm /022)" ] || {
    ls -la "$winners"
    echo "others may write what was installed"
    exit 1
}
if grep -q '^GT_SHIPPED_CODE:BOOL=ON' "$build/CMakeCache.txt" && [ ! -s "$winners/code-90.sqlite" ]; then
    echo "the winners' machine code was not installed"
    exit 1
fi

# A man page for the program, each of its commands and each function of the library, whose text is what they say
# themselves; man can read them.
man=$scratch/usr/share/man
grep -q '^\.SH EXIT STATUS' "$man/man1/tune.1"
commands=$("$scratch/usr/bin/tune" --help | sed -n '/^COMMANDS/,/^OPTIONS/s/^    \([a-z]\{1,\}\) .*/\1/p' | grep -vx help)
functions=$(grep -oE '^[a-z].*gt_[a-z_]+\(' "$scratch/usr/include/gemmtune.h" | sed 's/.*\(gt_[a-z_]*\)(/\1/')
[ "$(echo "$commands" | wc -l)" -ge 9 ] && [ "$(echo "$functions" | wc -l)" -ge 9 ]
for command in $commands; do
    page=$man/man1/tune-$command.1
    [ "$(grep -cE '^\.SH (NAME|SYNOPSIS|OPTIONS)$' "$page")" = 3 ] || {
        echo "$page lacks sections"
        exit 1
    }
done
for function in $functions; do
    grep -q "^[a-z].*$function(" "$man/man3/gemmtune.3" && grep -qx '\.so man3/gemmtune\.3' "$man/man3/$function.3" || {
        echo "no man page for $function"
        exit 1
    }
done
if command -v man >/dev/null; then
    for page in "$man"/man1/tune-query.1 "$man"/man3/gt_gemm.3; do
        (cd "$man" && LC_ALL=C.UTF-8 MANPATH=$man man --warnings -l "$page" 2>&1 >"$scratch/page") | tee "$scratch/warned"
        [ ! -s "$scratch/warned" ] && grep -qE 'fastest known|gt_gemm\(' "$scratch/page" || {
            echo "man cannot show $page"
            exit 1
        }
    done
fi

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
