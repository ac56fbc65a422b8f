#!/bin/sh
# environment.sh: the variables that the sources read, those of the table in tuner/base/env.c and those in docs/environment.md
# are the same. Then the check itself is checked: a variable is planted in each of the three.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
table=tuner/base/env.c
docs=docs/environment.md

names() { # FILES: our variables in them, as whole strings
    grep -hoE '"GEMMTUNE_[A-Z0-9_]+"' "$@" | tr -d '"' | sort -u
}

check() (
    cd "$1"
    # shellcheck disable=SC2046 # our file names have no blanks
    set -- $(find tuner tools db runtime -name '*.[ch]' | grep -v "^$table\$" | sort)
    names "$@" >"$scratch/read"
    names "$table" >"$scratch/table"
    grep -E '^\|' "$docs" | cut -d'|' -f2 | grep -oE '`[A-Z0-9_]+`' | tr -d '`' | sort -u >"$scratch/told"
    { names "$@"; grep -hoE '(env_text|env_is_nonzero|getenv)\("[A-Z0-9_]+"' "$@" | cut -d'"' -f2
        grep -hoE 'paths_user\("[A-Z0-9_]+", "[A-Z0-9_]+"' "$@" | cut -d'"' -f4; } | sort -u >"$scratch/asked"
    comm -23 "$scratch/read" "$scratch/table" | sed "s|\$|: is read and is not in $table|"
    comm -13 "$scratch/read" "$scratch/table" | sed "s|\$|: is in $table and never read|"
    comm -23 "$scratch/asked" "$scratch/told" | sed "s|\$|: is read and is not in $docs|"
    comm -13 "$scratch/asked" "$scratch/told" | sed "s|\$|: is in $docs and never read|"
)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=$(check "$here")
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
[ "$(wc -l <"$scratch/read")" -ge 20 ] || { echo "only so many variables are found: $(wc -l <"$scratch/read")"; exit 1; }

mkdir "$scratch/tree" "$scratch/tree/docs"
for folder in tuner tools db runtime; do cp -r "$here/$folder" "$scratch/tree"; done
cp "$here/$docs" "$scratch/tree/docs"
plant() { # FILE LINE WHAT-IS-SAID
    cp "$scratch/tree/$1" "$scratch/kept"
    echo "$2" >>"$scratch/tree/$1"
    check "$scratch/tree" | grep -q "$3" || { echo "not noticed: $2 in $1"; exit 1; }
    cp "$scratch/kept" "$scratch/tree/$1"
}
plant tuner/main.c 'env_is_on("GEMMTUNE_PLANTED")' "is read and is not in $table"
plant tuner/main.c 'env_text("PLANTED")' "is read and is not in $docs"
plant tuner/main.c 'paths_user("GEMMTUNE_DB", "PLANTED"' "is read and is not in $docs"
plant $table 'TEXT_OF("GEMMTUNE_PLANTED")' 'never read'
plant $docs '| `GEMMTUNE_PLANTED` | |' 'never read'
echo "$(wc -l <"$scratch/told") variables"
