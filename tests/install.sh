#!/bin/sh
# install.sh BUILD: cmake --install puts program, configs, machine code, documents, man pages, module file and completion where they
# belong, and the target uninstall removes them. The installed program reads the installed configs, no file names the sources or the
# build folder, documents have no dead link, and the man page of the environment names each variable.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(umask 002 && cmake --install "$build" --prefix "$scratch/usr" >/dev/null)
for file in bin/tune share/man/man1/tune.1 share/bash-completion/completions/tune share/zsh/site-functions/_tune \
    share/fish/vendor_completions.d/tune.fish share/man/man1/tune-forget.1 \
    share/gemmtune/configs/gpus/h200.conf share/gemmtune/configs/spaces/simt.conf share/gemmtune/configs/spaces/tall.conf \
    share/gemmtune/configs/suites/ladder.txt share/gemmtune/configs/cluster/slurm_array.sh \
    share/gemmtune/configs/cluster/slurm_merge.sh share/doc/gemmtune/NOTICES; do
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
    for page in "$man"/man1/tune-query.1 "$man"/man3/gt_gemm.3 "$man"/man7/gemmtune-environment.7; do
        (cd "$man" && LC_ALL=C.UTF-8 MANPATH=$man man --warnings -l "$page" 2>&1 >"$scratch/page") | tee "$scratch/warned"
        [ ! -s "$scratch/warned" ] && grep -qE 'fastest known|gt_gemm\(|GEMMTUNE_DB' "$scratch/page" || {
            echo "man cannot show $page"
            exit 1
        }
    done
fi


# What is for users has links that lead somewhere, and what is for those who change gemmtune is not there.
python3 "$here/installed_links.py" "$scratch/usr/share/doc/gemmtune"
for page in tour tried racecheck adding_a_template adding_a_type; do
    [ -s "$top/docs/$page.md" ] && [ ! -e "$scratch/usr/share/doc/gemmtune/docs/$page.md" ] || {
        echo "docs/$page.md is not there, or installed"
        exit 1
    }
done
grep '^|' "$top/docs/environment.md" | cut -d'|' -f2 | grep -oE '`[A-Z0-9_]+`' | tr -d '`' | sort >"$scratch/told"
grep '^\.B' "$man/man7/gemmtune-environment.7" | tr ', ' '\n\n' | grep -xE '[A-Z_0-9]{3,}' | sort >"$scratch/in_man"
[ "$(wc -l <"$scratch/told")" -ge 35 ]
diff "$scratch/told" "$scratch/in_man" || {
    echo "docs/environment.md (<) and gemmtune-environment(7) (>) name different variables"
    exit 1
}
for file in '/etc/gemmtune/gemmtune.db' 'share/gemmtune/configs/'; do
    grep -q "^\.B .*$file" "$man/man7/gemmtune-environment.7" || {
        echo "gemmtune-environment(7) does not name $file"
        exit 1
    }
done

# Debug information names the sources. So does a toolkit that tools/setup.sh unpacked in them.
if ! grep -Eq '^CMAKE_BUILD_TYPE:[A-Z]+=Debug' "$build/CMakeCache.txt"; then
    for folder in "$top" "$(cd "$build" && pwd)"; do
        grep -rlF "$folder" "$scratch/usr" >"$scratch/naming" || continue
        while IFS= read -r file; do
            grep -aoE "${folder}[^[:cntrl:]\"']*" "$file" | grep -v "^$top/\.deps/cuda/" | sed "s|^|$file names |"
        done <"$scratch/naming" >"$scratch/named"
        [ ! -s "$scratch/named" ] || {
            cat "$scratch/named"
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
rm "$gpus/only_here.conf"

# What was installed last is removed, and nothing else.
mkdir -p "$scratch/stays/bin"
echo kept >"$scratch/stays/bin/other"
cp "$build/install_manifest.txt" "$scratch/manifest"
DESTDIR=$scratch/stays cmake --install "$build" --prefix /usr >/dev/null
[ -x "$scratch/stays/usr/bin/tune" ] && grep -qx '/usr/bin/tune' "$build/install_manifest.txt"
DESTDIR=$scratch/stays cmake -DMANIFEST="$build/install_manifest.txt" -P "$top/cmake/uninstall.cmake" >/dev/null 2>&1
left=$(find "$scratch/stays" -type f -o -type l -o -name gemmtune)
[ "$left" = "$scratch/stays/bin/other" ] || {
    echo "uninstall leaves:"
    echo "$left"
    exit 1
}
cp "$scratch/manifest" "$build/install_manifest.txt"
cmake --build "$build" --target uninstall >"$scratch/log" && [ ! -e "$scratch/usr/bin/tune" ] || {
    cat "$scratch/log"
    exit 1
}
if cmake -DMANIFEST="$build/install_manifest.txt" -P "$top/cmake/uninstall.cmake" 2>"$scratch/err"; then exit 1; fi
grep -q 'Nothing is known to be installed' "$scratch/err"
