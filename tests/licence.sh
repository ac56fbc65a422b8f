#!/bin/sh
# licence.sh BUILD: what travels into other programs says its licence in its first line: the library's header, the texts
# of all kernels, what an exported header is made of. The licence is the root's LICENSE, that of what is linked in NOTICES; both are
# installed, and told by tune --version --licences.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() {
    echo "$*"
    wrong=1
}

# The texts that templates hand to the compiler: those that are embedded in the program.
texts=$(find "$build/kernel_templates" -maxdepth 2 -name 'embed_*.S' -exec sed -n 's/.*\.incbin "\(.*\)"/\1/p' {} +)
[ "$(echo "$texts" | wc -l)" -ge 30 ] || complain "only so many kernel texts are known: $(echo "$texts" | wc -l)"
# shellcheck disable=SC2086 # our file names have no blanks
for file in $texts kernel_templates/device/* $(find kernel_templates -name '*.cu' -o -name '*.cuh') runtime/gemmtune.h tools/export/winner_*.h tuner/winners/shape_weights.h; do
    case $(head -n 1 "$file") in
    '/* SPDX-License-Identifier: MIT */') ;;
    *) complain "$file does not begin with /* SPDX-License-Identifier: MIT */" ;;
    esac
done

head -n 1 LICENSE | grep -qx 'MIT License' || complain "LICENSE is not the MIT licence"
grep -qx 'Copyright (c) [0-9]* the gemmtune authors' LICENSE || complain "LICENSE names no holder"
cmake --install "$build" --prefix "$scratch" --component Unspecified >/dev/null
for file in LICENSE NOTICES CHANGELOG.md; do
    cmp -s "$file" "$(find "$scratch/share/doc" -name "$file")" || complain "$file is not installed"
done

# Whatever is linked in, or written into a page, has its notice; and the program tells them all.
modules=$(sed -n 's/^gt_dependency([a-z]* \([a-z0-9]*\) .*/\1/p' cmake/dependencies.cmake)
[ "$(echo "$modules" | wc -l)" -ge 6 ] || complain "only so many dependencies are known: $modules"
for module in $modules chart.js; do
    grep -q "^==== .* ($module) ====\$" NOTICES || complain "NOTICES has nothing on $module"
done
tail -n "$(wc -l <tools/report/chart_licence.txt)" NOTICES | cmp - tools/report/chart_licence.txt || complain "Chart.js has two licences"
"$scratch/bin/tune" --version --licences | sed 1,2d >"$scratch/told"
{ cat LICENSE && echo && cat NOTICES; } | cmp - "$scratch/told" || complain "tune --version --licences tells something else"
head -n 1 "$scratch/include/gemmtune.h" | grep -q SPDX || complain "the installed gemmtune.h says no licence"
version=$(sed -n 's/^project(gemmtune VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -qE "^## \[?($version|Unreleased)\]?" CHANGELOG.md || complain "CHANGELOG.md knows neither $version nor what is unreleased"
exit $wrong
