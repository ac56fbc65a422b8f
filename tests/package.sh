#!/bin/sh
# package.sh BUILD: the packages that cpack makes, without a warning; what is installed from BUILD can still be uninstalled. The .deb installs on a clean Debian with what it needs, its program runs, and nothing
# is left when it is removed. The .rpm has the same files.
# shellcheck disable=SC1091,SC2154 # debian.sh sets root and scratch
set -eu
build=$(cd "$1" && pwd)
grep -Eq '^GT_SANITIZE:[A-Z]+=(ON|address|thread)' "$build/CMakeCache.txt" && {
    echo "skipped: built with sanitizers"
    exit 77
}
for command in cpack dpkg-deb dpkg-shlibdeps rpm rpmbuild; do
    command -v $command >/dev/null || {
        echo "skipped: there is no $command (tools/setup.sh all)"
        exit 77
    }
done
. "$(dirname "$0")/debian.sh"
installed=$(cat "$build/installed_files.txt" 2>/dev/null || :)
for kind in DEB RPM; do
    (cd "$build" && cpack -G $kind -B "$scratch/packages") >"$scratch/log" 2>&1 && ! grep -q 'CMake Warning' "$scratch/log" || {
        cat "$scratch/log"
        exit 1
    }
done
[ "$installed" = "$(cat "$build/installed_files.txt" 2>/dev/null || :)" ] || {
    echo "cpack has changed what the target uninstall removes"
    exit 1
}
deb=$(find "$scratch/packages" -maxdepth 1 -name '*.deb')
rpm=$(find "$scratch/packages" -maxdepth 1 -name '*.rpm')
dpkg-deb -c "$deb" | awk '!/^d/ { print substr($6, 2) }' | sort >"$scratch/deb"
rpm -qp --queryformat '[%{FILEMODES:perms} %{FILENAMES}\n]' "$rpm" | awk '!/^d/ { print $2 }' | sort >"$scratch/rpm"
dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./shlibs | grep -qx 'libgemmtune 0\.[0-9]* gemmtune (>= 0\.[0-9.]*)'
diff "$scratch/deb" "$scratch/rpm" || {
    echo "the files of .deb (<) and .rpm (>) differ"
    exit 1
}
for file in bin/tune lib.*/libgemmtune.so lib.*/libgemmtune_cublas.so include/gemmtune.h share/man/man1/tune.1 share/doc/gemmtune/NOTICES \
    share/gemmtune/configs/gpus/h200.conf; do
    grep -qE "^/usr/$file\$" "$scratch/rpm" || {
        echo "$file is in no package"
        exit 1
    }
done
if grep -v '^/usr/' "$scratch/rpm"; then
    echo "these are outside of /usr"
    exit 1
fi
[ "$(rpm -qp --queryformat '%{NAME} %{LICENSE}' "$rpm")" = "gemmtune MIT AND BSD-2-Clause AND BSD-3-Clause AND Zlib AND ISC" ]

cp "$deb" "$root/gemmtune.deb"
run 'apt-get update -q && apt-get install -q -y --no-install-recommends /gemmtune.deb'
run 'tune --version && tune --version --licences | grep -q "==== SQLite" && ! ldd /usr/bin/tune | grep "not found"'
run 'tune doctor | grep "^configs *yes .*/usr/share/gemmtune/configs"'
run 'tune query --gpu h200 --format csv >ships.csv && test $(grep -c ships ships.csv) -ge 33'
run 'tune run -- sh -c "echo \$LD_PRELOAD" >preloaded 2>&1; grep -q "^/usr/lib.*/libgemmtune_cublas.so" preloaded'
run 'apt-get purge -q -y gemmtune'
sed "s|^|$root|" "$scratch/deb" | while IFS= read -r file; do
    [ ! -e "$file" ] || echo "$file"
done >"$scratch/left"
[ ! -s "$scratch/left" ] || {
    cat "$scratch/left"
    echo "these stay when the package is removed"
    exit 1
}
echo "$(wc -l <"$scratch/deb") files; the .deb depends on: $(dpkg-deb -f "$deb" Depends)"
