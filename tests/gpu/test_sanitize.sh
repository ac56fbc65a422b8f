#!/bin/sh
# test_sanitize.sh SANITIZE_ONE FAKE_GPU: sanitize.sh without a GPU: all its cases are legal, and with a compute-sanitizer that
# only talks it passes what is clean or expected, and nothing else. Skipped without NVRTC.
set -eu
one=$1 gpu=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GEMMTUNE_CACHE="$scratch/cache" GEMMTUNE_CONFIGS="$here/../../configs" OUT="$scratch/out" JOBS=4
cp "$here/sanitize.sh" "$scratch/"
ln -s "$GEMMTUNE_CONFIGS" "$scratch/configs"
cat >"$scratch/sanitize_one" <<END
#!/bin/sh
case \$1 in --legal | --inbox) exec "$one" "\$@" ;; esac
END
cat >"$scratch/compute-sanitizer" <<'END'
#!/bin/sh
# Says "clean" of cases and finds what is planted, or what SAYS holds of cases under TOOL.
[ "$1" != --version ] || exit 0
tool=$(echo " $*" | sed -nE 's/.* --tool ([a-z]+) .*/\1/p')
case $* in *--planted*) found=1 ;; *) found=0 ;; esac
errors='========= ERROR SUMMARY: %d errors\n'
[ "$tool" != racecheck ] || errors='========= RACECHECK SUMMARY: 0 hazards displayed (%d errors, 0 warnings)\n'
if [ "$found$tool" = "0${TOOL:-}" ]; then cat "$SAYS"; elif [ "$tool" != "${BLIND:-}" ]; then printf "$errors" $found; else printf "$errors" 0; fi
END
chmod +x "$scratch/sanitize_one" "$scratch/compute-sanitizer"
export COMPUTE_SANITIZER="$scratch/compute-sanitizer"

"$scratch/sanitize.sh" --legal
config=$(sed -nE 's/.*"problem": "sgemm:nn:700x35x2048",.*"config": "([^"]+)".*/\1/p' "$GEMMTUNE_CONFIGS/winners/h200.jsonl")
pair=$("$one" --inbox "$config" nn:100x35x1024 2>"$scratch/why") || {
    grep -q NVRTC "$scratch/why" || exit 1
    echo "skipped: $(cat "$scratch/why")"
    exit 77
}
# The program itself, on a driver that computes by the definition; told another op than it is asked for, it is wrong.
plain=$(sed -nE 's/.*"problem": "sgemm:nn:4096x4096x4096",.*"config": "([^"]+)".*/\1/p' "$GEMMTUNE_CONFIGS/winners/h200.jsonl")
GEMMTUNE_LIBCUDA=$gpu FAKE_GPU_COMPUTES=1 "$one" "$plain" nn:256x256x96
if GEMMTUNE_LIBCUDA=$gpu FAKE_GPU_COMPUTES=3 "$one" "$plain" nn:96x256x96 2>"$scratch/why"; then exit 1; fi
grep -q 'C\[[0-9]*\] is ' "$scratch/why"
init=${pair% *} arrive=${pair#* }

# expect STATUS PATTERN: of the two cases.
expect() {
    status=0
    "$scratch/sanitize.sh" cluster8-teams plain >"$scratch/said" 2>&1 || status=$?
    if [ "$status" != "$1" ] || ! grep -qE "$2" "$scratch/said"; then
        cat "$scratch/said"
        echo "expected status $1 and '$2', got $status"
        exit 1
    fi
}

# hazard LEVEL WRITE READ
hazard() {
    printf '========= %s: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0xe100 in block (0, 0, 0) (CUDA barrier operation) :\n' "$1"
    printf '=========     Write Thread (0, 0, 0) at gemm+%s\n=========     Read Thread (0, 0, 0) at gemm+%s\n' "$2" "$3"
}

expect 0 '12 runs, 0 failed'
for tool in memcheck initcheck synccheck racecheck; do
    BLIND=$tool expect 1 "$tool +planted .*FAILED: the planted defect was not found"
done
export SAYS="$scratch/says"
echo '========= ERROR SUMMARY: 1 error' >"$SAYS"
TOOL=memcheck expect 1 'memcheck +plain .*FAILED: ERROR SUMMARY: 1 error'
echo '========= Internal Sanitizer Error' >"$SAYS"
TOOL=synccheck expect 1 'synccheck +plain .*FAILED: no summary'

{
    hazard Warning "$init" "$arrive"
    echo '========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)'
} >"$SAYS"
TOOL=racecheck expect 1 "racecheck +cluster8-teams .*expected: .*$init $arrive"
grep -q 'racecheck *plain .*FAILED' "$scratch/said" # no cluster: nothing is passed over
printf '========= Warning: Race reported between Write access at gemm+%s and Read access at gemm+%s [992 hazards]\n' \
    "$init" "$arrive" >"$SAYS"
echo '========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)' >>"$SAYS"
TOOL=racecheck expect 1 "racecheck +cluster8-teams .*expected: .*$init $arrive"
{
    hazard Warning "$init" "$arrive"
    hazard Warning 0x7000 0x7010
    echo '========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)'
} >"$SAYS"
TOOL=racecheck expect 1 'racecheck +cluster8-teams .*FAILED: .*2 warnings'
{
    hazard Error "$init" "$arrive"
    echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'
} >"$SAYS"
TOOL=racecheck expect 1 'racecheck +cluster8-teams .*FAILED: .*1 error'
