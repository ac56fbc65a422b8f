#!/bin/sh
# fresh_debian.sh BUILD CUDA_INCLUDE CUDA_LIBRARIES: on a clean Debian with a CUDA toolkit and nothing else, in a fresh clone: README's
# first command, then those that install, into a home; the installed program runs, and the target uninstall leaves nothing. A module
# file finds another installation.
# shellcheck disable=SC1091,SC2154 # debian.sh sets root and scratch
set -eu
build=$(cd "$1" && pwd) include=$2 libraries=$3
top=$(cd "$(dirname "$0")/.." && pwd)
git -C "$top" rev-parse --verify --quiet HEAD >/dev/null || {
    echo "skipped: there is no git repository"
    exit 77
}
. "$(dirname "$0")/debian.sh"
git clone --quiet --no-hardlinks "$top" "$root/root/gemmtune"
mkdir -p "$root/usr/local/cuda/lib64" "$root/root/gemmtune/build/release"
cp -rL "$include" "$root/usr/local/cuda/include"
cp -L "$libraries"/libnvrtc*.so* "$root/usr/local/cuda/lib64/"
code=OFF # the machine code that ships takes minutes to compile: only if BUILD has compiled it
if grep -q '^GT_SHIPPED_CODE:BOOL=ON' "$build/CMakeCache.txt" && [ -d "$build/code_cache" ]; then
    cp -r "$build/code_cache" "$root/root/gemmtune/build/release/"
    code=ON
fi

run 'cd ~/gemmtune && ./tools/tune.sh --shape 256x256x256 --budget 1h --max-trials 2 >~/told && grep predicted ~/told'
commands=$(awk '/^```/ { inside = !inside; next } inside && /cmake --preset release/' "$top/README.md")
[ -n "$commands" ]
run "cd ~/gemmtune && $(echo "$commands" | sed "s/--preset release /&-DGT_SHIPPED_CODE=$code /")"
installed=$(echo "$commands" | sed -n 's/.*--prefix ~\([^ ]*\).*/\/root\1/p')
[ -n "$installed" ]
run "test -x $installed/bin/tune && cd / && $installed/bin/tune --version && $installed/bin/tune doctor | grep \"^configs *yes .*$installed/share\""
run "cd / && $installed/bin/tune --shape 8x8x8 --gpu h200 --budget 1h --max-trials 1"
run 'cd ~/gemmtune && cmake --build build/release --target uninstall'
run 'test -z "$(find ~/.local -type f -path "*gemmtune*" ! -name gemmtune.db ! -path "*/share/gemmtune/gemmtune.db*")" && test ! -e ~/.local/bin/tune'

run 'cd ~/gemmtune && cmake --install build/release --prefix /opt/gemmtune && apt-get install -q -y --no-install-recommends environment-modules'
run 'cp -r /opt/gemmtune /opt/moved && rm -r /opt/gemmtune
    bash -c ". /etc/profile.d/modules.sh; module use /opt/moved/share/gemmtune/modulefiles; module load gemmtune; command -v tune; tune --version;
        echo \$LIBRARY_PATH" >~/found
    cat ~/found; grep -qx /opt/moved/bin/tune ~/found && grep -qx /opt/moved/lib ~/found'
echo "README's commands: installed in $installed, run, and uninstalled; the module file finds its installation"
