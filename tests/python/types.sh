#!/bin/sh
# types.sh: the hints of Python's package hold (mypy --strict), and a program that uses it wrongly is told so by them.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
mypy=$(command -v mypy) || {
    echo "skipped: there is no mypy"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$here/runtime/python"
check() {
    MYPYPATH=. "$mypy" --strict --ignore-missing-imports --no-warn-unused-ignores --cache-dir "$scratch/cache" "$@"
}
check gemmtune
cat >"$scratch/uses.py" <<'END'
import gemmtune
count: int = gemmtune.run(["--version"])
answered: int = gemmtune.report().answered
with gemmtune.replace_linear(object(), accuracy="accurate", prepare=False) as replaced:
    names: "tuple[str, ...]" = replaced.names
    replaced.tune(budget="60s")
gemmtune.tune([(512, 768, 3072), "bf16gemm:nt:512x3072x768"], budget="2m")
END
check "$scratch/uses.py"
cat >"$scratch/wrong.py" <<'END'
import gemmtune
gemmtune.run(7)
gemmtune.replace_linear(object(), prepare="no")
gemmtune.tune([(512, 768)])
gemmtune.mm(1, 2, accuracy=3)
gemmtune.report().nothing
END
check "$scratch/wrong.py" >"$scratch/said" && exit 1
[ "$(grep -c ': error: ' "$scratch/said")" -eq 5 ] || {
    cat "$scratch/said"
    exit 1
}
