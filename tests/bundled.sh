#!/bin/sh
# bundled.sh [CUDA_ROOT]: GT_BUNDLED_DEPS, where pkg-config knows none of the libraries that it has the sources of: those are Debian's
# source packages, fetched with apt-get. tune runs, and library and drop-in need the C library alone.
set -eu
cuda=${1:-}
top=$(cd "$(dirname "$0")/.." && pwd)
skip() {
    echo "skipped: $*"
    exit 77
}
command -v apt-get >/dev/null || skip "there is no apt-get"
command -v tclsh >/dev/null || skip "there is no tclsh, which makes SQLite's amalgamation (tools/setup.sh all)"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A list of sources of its own, so that nothing of the system changes.
mkdir -p "$scratch/parts" "$scratch/lists/partial" "$scratch/fetched" "$scratch/deps"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources; do
    [ ! -s "$file" ] || sed -E 's/^(Types:) deb$/\1 deb-src/; s/^deb /deb-src /' "$file" >"$scratch/parts/${file##*/}"
done
[ ! -e "$scratch/parts/sources.list" ] || mv "$scratch/parts/sources.list" "$scratch/parts/usual.list"
apt() {
    (cd "$scratch/fetched" && apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$scratch/parts" \
        -o Dir::State::Lists="$scratch/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root "$@")
}
apt update >"$scratch/log" 2>&1 || skip "the mirror cannot be reached: $(tail -n 1 "$scratch/log")"

# fetch PACKAGE FOLDER: its sources as they were released. False: the mirror lacks them.
fetch() {
    apt source --download-only "$1" >"$scratch/log" 2>&1 || {
        grep '^E:' "$scratch/log" | head -n 1
        return 1
    }
    mkdir "$scratch/deps/$2"
    tar -C "$scratch/deps/$2" --strip-components=1 -xf "$(find "$scratch/fetched" -name "$1_*.orig.tar.*" | head -n 1)"
}
for package in sqlite3 jansson xxhash zlib; do
    fetch $package $package-1 || skip "the mirror has no sources of $package"
done
known=libuv # to pkg-config
fetch libinih inih-1 || known="$known inih"
mv "$scratch/deps/sqlite3-1" "$scratch/tree"
(cd "$scratch/tree" && ./configure && make sqlite3.c sqlite3.h) >"$scratch/log" 2>&1 || {
    tail -n 30 "$scratch/log"
    exit 1
}
mkdir "$scratch/deps/sqlite-amalgamation-1" "$scratch/pkgconfig"
mv "$scratch/tree/sqlite3.c" "$scratch/tree/sqlite3.h" "$scratch/deps/sqlite-amalgamation-1"
for module in $known; do
    cp "$(pkg-config --variable=pcfiledir "$module")/$module.pc" "$scratch/pkgconfig/"
done

configure() {
    PKG_CONFIG_LIBDIR=$scratch/pkgconfig cmake -G Ninja -S "$top" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Debug \
        ${cuda:+-DGT_CUDA_ROOT="$cuda"} "$@" >"$scratch/log" 2>&1
}
! configure || {
    echo "pkg-config still knows what shall be bundled"
    exit 1
}
configure -DGT_BUNDLED_DEPS="$scratch/deps" && cmake --build "$scratch/build" --target tune gemmtune gemmtune_cublas gemmtune_static \
    >"$scratch/log" 2>&1 || {
    tail -n 30 "$scratch/log"
    exit 1
}
for name in sqlite3 jansson xxhash 'z' $(case $known in *inih*) ;; *) echo inih ;; esac); do
    ! ldd "$scratch/build/tune" | grep "lib$name\\.so" || exit 1
done
for file in "$scratch"/build/runtime/libgemmtune.so "$scratch"/build/runtime/dropin/libgemmtune_cublas*.so; do
    ! readelf -dW "$file" | grep NEEDED | grep -vE '\[(libc|libm|libdl|libpthread|ld-linux.*)\.so' || {
        echo "$file needs these"
        exit 1
    }
done
export HOME="$scratch"
unset GEMMTUNE_CONFIGS GEMMTUNE_DB GEMMTUNE_CACHE
"$scratch/build/tune" --shape 8x8x8 --gpu h200 --budget 1h --max-trials 1
"$scratch/build/tune" query --gpu h200 --own --format json | grep -q '"problem": "sgemm:nn:8x8x8"'
"$scratch/build/tune" verify

# A folder that is no release, and one with nothing that is known.
rm "$scratch/deps/sqlite-amalgamation-1/sqlite3.c"
for case in 'deps has no sqlite3\.c' 'pkgconfig has no folder of sources'; do
    ! configure -DGT_BUNDLED_DEPS="$scratch/${case%% *}" || exit 1
    tr '\n' ' ' <"$scratch/log" | tr -s ' ' | grep -q "${case#* }" || {
        cat "$scratch/log"
        exit 1
    }
done
