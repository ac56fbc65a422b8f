#!/bin/sh
# optimised.sh BUILD: the program's changed sources (changed.sh) compile without a warning as in the preset release: some warnings need
# what the compiler learns when it optimises, and some are off with the sanitizers. tools/test.sh all builds all of them that way.
# shellcheck disable=SC1091
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
. tests/changed.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
changed_sources "$scratch/sources"
[ "$count" != 0 ] || exit 0

# The commands of BUILD with other flags; ccache would keep nothing of what goes to /dev/null.
python3 - "$build/compile_commands.json" "$scratch/sources" >"$scratch/commands" <<'END'
import json, os, re, sys
changed = {os.path.realpath(line) for line in open(sys.argv[2]).read().splitlines()}
debug = r" -(g|O\d|fsanitize=\S+|fno-sanitize-recover=\S+|fno-omit-frame-pointer|Wno-format-truncation|o \S+)(?= )"
for entry in json.load(open(sys.argv[1])):
    if os.path.realpath(entry["file"]) in changed:
        command = re.sub(r"^\S*ccache ", "", re.sub(debug, "", entry["command"]))
        print(f"cd {entry['directory']!r} && {command} -O3 -DNDEBUG -o /dev/null", end="\0")
END
[ -s "$scratch/commands" ]
xargs -0 -n 1 -P "$(nproc)" sh -c <"$scratch/commands"
