#!/bin/sh
# headers_difference.sh OLD NEW: where exported headers of two builds first differ. OLD and NEW: the folder tests/golden of each
# build, which the test headers fills. Exit 1: they differ.
set -eu
[ $# = 2 ] || {
    sed -n '2,3s/^# //p' "$0" >&2
    exit 2
}
code=0
for old in "$1"/*; do
    new=$2/$(basename "$old")
    line=$(cmp "$old" "$new" 2>&1 | sed -n 's/.* line //p') || true
    if [ -z "$line" ] && cmp -s "$old" "$new"; then continue; fi
    code=1
    echo "$(basename "$old"), line ${line:-of the end}:"
    # Of launches, the winner that the line belongs to.
    head -n "${line:-1}" "$old" | grep -v '^ ' | tail -n 1 | cut -c 1-200
    sed -n "${line:-\$}s/^/old: /p" "$old"
    sed -n "${line:-\$}s/^/new: /p" "$new"
done
exit $code
