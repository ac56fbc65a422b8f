#!/bin/sh
# install.sh BUILD: cmake --install puts program, configs, machine code, documents, man pages, module file and completion where they
# belong, and the target uninstall removes them. The installed program reads the installed configs, no file names the sources or the
# build folder, documents have no dead link, and the man page of the environment names each variable.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
scratch=$(mktemp -d)
list=$build/installed_files.txt # for uninstall: the user's list is set aside
built=$(mktemp -d "$top/docs/examples/build.XXXXXX")
trap 'rm -f "$list"; [ ! -e "$scratch/list" ] || mv "$scratch/list" "$list"; rm -rf "$scratch" "$built"' EXIT
[ ! -e "$list" ] || mv "$list" "$scratch/list"
echo 'not ours' | tee "$built/a.out" >"$built/compiler_test.c"
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

# Ubuntu 22.04 has jansson 2.13. These came with 2.14.
if nm -D --undefined-only "$scratch/usr/bin/tune" | grep -E 'json_object_((get|set|del)n|iter_key_len)'; then
    echo "tune needs a later jansson"
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

# Of the examples their sources alone, not what somebody built there.
ls "$scratch/usr/share/doc/gemmtune/docs/examples" | sort >"$scratch/examples"
(cd "$top/docs/examples" && ls -d -- *.[ch] CMakeLists.txt kernels) | sort | diff - "$scratch/examples" || {
    echo "docs/examples (<) is not what was installed (>)"
    exit 1
}

# The target uninstall removes what was installed last, and nothing else.
uninstall() {
    cmake --build "$build" --target uninstall >"$scratch/log" 2>&1
}

# only FOLDER FILE: uninstall has left this file there, no other, and no folder of ours. FILE '': nothing.
only() {
    left=$(cd "$1" && find . -type f -o -type l -o -path '*/gemmtune*' -empty)
    [ "$left" = "$2" ] || {
        cat "$scratch/log"
        printf 'uninstall leaves in %s:\n%s\ninstead of:\n%s\n' "$1" "$left" "$2"
        exit 1
    }
}

# What cpack installs on its way, and one component, do not count.
DESTDIR=$scratch/_CPack_Packages/deb cmake --install "$build" --prefix /usr >/dev/null
cmake --install "$build" --prefix "$scratch/component" --component Unspecified >/dev/null
uninstall || {
    cat "$scratch/log"
    exit 1
}
only "$scratch/usr" ''
[ -x "$scratch/_CPack_Packages/deb/usr/bin/tune" ] && [ -x "$scratch/component/bin/tune" ]
if uninstall; then exit 1; fi
grep -q 'Nothing is known to be installed' "$scratch/log"

# Names with what CMake takes for patterns and lists, and files of others.
for prefix in 'v[2]' 'open [; close'; do
    mkdir -p "$scratch/stays/$prefix/share/gemmtune"
    echo kept >"$scratch/stays/$prefix/share/gemmtune/gemmtune.db"
    (cd "$scratch" && DESTDIR=stays cmake --install "$build" --prefix "/$prefix" >/dev/null)
    [ -x "$scratch/stays/$prefix/bin/tune" ]
    uninstall || :
    only "$scratch/stays/$prefix" ./share/gemmtune/gemmtune.db
done
mkdir "$scratch/folder"
echo "$scratch/folder" >"$list"
if uninstall || [ ! -e "$list" ]; then exit 1; fi
grep -q '^1 files could not be removed' "$scratch/log"
cmake -DGT_INSTALLED_LIST="$list" -DCMAKE_INSTALL_PREFIX='/a;/b' -P "$top/cmake/installed_list.cmake" 2>"$scratch/err"
grep -q "cannot remove what was installed in /a;/b" "$scratch/err" && [ ! -e "$list" ]
