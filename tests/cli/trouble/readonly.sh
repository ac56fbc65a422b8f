# A folder that cannot be written and a disk that is full: one sentence, and nothing half written.
own() { if [ "$(id -u)" = 0 ]; then unshare -m "$@"; else unshare -rm "$@"; fi; }
own true 2>/dev/null || skip "no mount namespaces here"
mkdir disk
cp "$SOURCES/tests/fake/space.conf" .
export GEMMTUNE_CACHE="$PWD/cache"
on() { # on MOUNT_OPTIONS COMMAND
    own sh -c "mount -t tmpfs -o $1 none disk && $2"
}
t on ro 'tune --shape 64x64x64 --gpu h200 --budget 5s --db disk/my.db'
t on ro 'tune query --db disk/my.db'
t on size=16k 'tune --shape 64x64x64 --gpu h200 --budget 5s --db disk/my.db'
t on size=200k 'GEMMTUNE_CACHE=$PWD/disk/cache tune --shape 512x512x512 --gpu h200 --budget 2h --max-trials 8 --space space.conf --db my.db; echo "= $?"; tune verify --db my.db >/dev/null; echo "= $?"'
