# debian.sh: sourced by tests that have set $build. Makes a clean Debian in $root, of this machine's release and from its mirror: apt, and
# what is essential. `inside COMMAND` runs a shell's command in it, as root with an empty home. $scratch is theirs, and gone when they
# end. Ends them, skipped, where none can be made. What was fetched is kept in the build folder for a month.
# shellcheck shell=sh disable=SC2034,SC2154 # what it sets is used, and $build is set, by the test
skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "only root can make a Debian to test in"
command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap (tools/setup.sh all)"
unshare --mount --pid --fork true 2>/dev/null || skip "this container lets nobody mount"
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
sources=$(find /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources -size +0 2>/dev/null || true)
[ -n "$release" ] && [ -n "$sources" ] || skip "this machine is no Debian"
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
root=$scratch/root
kept=$build/debian.tar
find "$kept" -mtime +30 -delete 2>/dev/null || true
[ -s "$kept" ] || {
    # shellcheck disable=SC2086 # a list of files without blanks
    mmdebstrap --quiet --mode=root --variant=apt "$release" "$scratch/debian.tar" $sources >"$scratch/log" 2>&1 || {
        cat "$scratch/log"
        if grep -qE 'Could not (resolve|connect)|Temporary failure' "$scratch/log"; then skip "the mirror cannot be reached"; fi
        exit 1
    }
    mv "$scratch/debian.tar" "$kept"
}
mkdir "$root"
tar -C "$root" -xf "$kept"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

inside() {
    unshare --mount --pid --fork --propagation private sh -euc 'mount -t proc proc "$1/proc"
        exec env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            chroot "$1" sh -euc "$2"' sh "$root" "$1" </dev/null
}

# run COMMAND: inside, and what it printed if it failed.
run() {
    inside "$1" >"$scratch/log" 2>&1 || {
        tail -n 60 "$scratch/log"
        echo "failed on a clean Debian: $1"
        exit 1
    }
}
