#!/bin/sh
# docs.sh [TREE]: what the documents name is there: files (but what an installation or a build makes), targets of links, source files
# by bare name. Each kernel family has a README, whose table of parameters has the names and ranges of NAME_params.def. The first
# commands of README.md are there. No document is longer than its limit.
set -eu
cd "${1:-$(dirname "$0")/..}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
families=kernel_templates/families
find . -path './build*' -prune -o -path './.*' -prune -o -type f -printf '%f\n' | sort -u >"$scratch/files"

# shellcheck disable=SC2016 # backquotes are those of the documents
for file in README.md docs/*.md docs/results/*.md tests/README.md kernel_templates/README.md "$families"/*/*.md; do
    folder=$(dirname "$file")
    # targets of links, from the document's folder; paths in backquotes, from the root or from docs
    grep -oE '\]\([^)#:]+\)' "$file" | sed -E 's/^\]\((.*)\)$/\1/' | sort -u | while IFS= read -r name; do
        [ -e "$folder/$name" ] || echo "$file links to $name, which is not there"
    done
    case $file in docs/results/*) continue ;; esac # these tell of earlier versions
    grep -oE '`(\./)?[a-z_]+/[A-Za-z0-9_./-]*[a-z0-9]`' "$file" | tr -d '`' | grep -vE 'NAME|^(share|build)/' | sort -u | while IFS= read -r name; do
        [ -e "$name" ] || [ -e "docs/$name" ] || echo "$file names $name, which is not there"
    done
    grep -oE '`[a-z0-9_]+\.(c|h|cu|cuh|sh|conf|sql|txt|md)`' "$file" | tr -d '`' | sort -u |
        grep -vxF -f "$scratch/files" | sed "s|^|$file names a file that is not there: |"
done >"$scratch/wrong"

# "NAME least most", a line each, of a list of parameters and of the table in a README. cublaslt's words are one row.
of_list() {
    sed -nE 's/^(PARAM|LATER|SINCE)\((\w+), *\w+, *\w+, *(-?[0-9]+), *([0-9]+),.*/\2 \3 \4/p' "$1" | sort
}
of_readme() {
    awk -F '|' '$3 ~ /^ -?[0-9]+( to [0-9]+)? $/ { n = split($2, name, ","); words = split($3, range, " ")
        for (i = 1; i <= n; i++) { gsub(/ /, "", name[i]); if (name[i] ~ /^[A-Z][A-Z0-9_]*$/) print name[i], range[1], range[words] } }' "$1" | sort
}
for folder in "$families"/*; do
    [ -f "$folder/README.md" ] || echo "$folder has no README.md"
done >>"$scratch/wrong"
for list in "$families"/*/*_params.def; do
    folder=$(dirname "$list")
    page=$(basename "$list" _params.def).md # a second template's
    [ -f "$folder/$page" ] || page=README.md
    of_list "$list" >"$scratch/list"
    of_readme "$folder/$page" >"$scratch/readme"
    diff "$scratch/list" "$scratch/readme" >"$scratch/differ" && [ -s "$scratch/list" ] && continue
    echo "$list (<) and $page (>) differ:"
    cat "$scratch/differ"
done >>"$scratch/wrong"

# A newcomer's commands.
grep -oE '^\./[a-z]+/[a-z]+\.sh' README.md >"$scratch/commands" || true
[ "$(wc -l <"$scratch/commands")" -ge 2 ] || echo "README.md does not show how to set up and test" >>"$scratch/wrong"
while IFS= read -r name; do
    [ -x "$name" ] || echo "README.md runs $name, which is not there"
done <"$scratch/commands" >>"$scratch/wrong"

# Bytes. Who has more to say says less elsewhere, or in a file of its own.
{
    while read -r most file; do
        [ "$(wc -c <"$file")" -le "$most" ] || echo "$file has $(wc -c <"$file") bytes, more than $most"
    done <<END
13312 docs/measuring.md
8192 docs/tour.md
10240 docs/runtime.md
14336 docs/dropin.md
8192 docs/results/search-replay.md
END
    find "$families" -name '*.md' -size +6144c -printf '%p has %s bytes, more than 6144\n'
    [ "$(wc -l <README.md)" -le 120 ] || echo "README.md has $(wc -l <README.md) lines, more than 120"
} >>"$scratch/wrong"
cat "$scratch/wrong"
[ ! -s "$scratch/wrong" ]
