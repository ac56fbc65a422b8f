#!/bin/sh
# first_difference.sh OLD NEW TEMPLATE [COUNT]: where the host halves of two builds first differ. OLD and NEW: the program plans
# of each build (target plans). Exit 1: they differ.
set -eu
[ $# -ge 3 ] || {
    sed -n '2,3s/^# //p' "$0" >&2
    exit 2
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "${4:-2000}" --dump "$3" >"$scratch/old"
"$2" "${4:-2000}" --dump "$3" >"$scratch/new"
line=$(cmp "$scratch/old" "$scratch/new" | sed 's/.* line //') || true
[ -n "$line" ] || {
    echo "$3: no difference"
    exit 0
}
# The configuration that this line belongs to, and the line in both.
head -n "$line" "$scratch/old" | grep "^$3 " | tail -n 1 || true
head -n "$line" "$scratch/old" | grep '^  [a-z0-9]*:' | tail -n 1 || true
sed -n "${line}s/^/old: /p" "$scratch/old"
sed -n "${line}s/^/new: /p" "$scratch/new"
exit 1
