#!/bin/sh
# test_sanitize.sh SANITIZE_ONE FAKE_GPU FAKE_NVRTC: tests sanitize.sh without a GPU: all its cases are legal, and with a
# fake compute-sanitizer it accepts clean and expected output, and nothing else. Skipped without NVRTC.
set -eu
one=$1 gpu=$2 nvrtc=$3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GEMMTUNE_CACHE="$scratch/cache" GEMMTUNE_CONFIGS="$here/../../../configs" OUT="$scratch/out" JOBS=4
cp "$here/sanitize.sh" "$scratch/"
ln -s "$GEMMTUNE_CONFIGS" "$scratch/configs"
cat >"$scratch/sanitize_one" <<END
#!/bin/sh
case \$1 in --legal | --expected) exec "$one" "\$@" ;; esac
END
cat >"$scratch/compute-sanitizer" <<'END'
#!/bin/sh
# Prints "clean" for cases and finds what is planted, or prints what SAYS contains for cases under TOOL.
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
case_of() { "$scratch/sanitize.sh" --case "$1"; }
# Cases take winners' configurations, and winners are replaced: each still has what its name says.
cat >"$scratch/table" <<'END'
teams,teams8,teams-odd,teams-out simt .*WARPS_K=[248] .*REDUCE=0
plain,plain-gelu simt .*WARPS_K=1 .*LOADER=1 PACK=0 .*SPLIT_K=1\|
cluster2,cluster2-nt,cluster2-tn,cluster2-tt,cluster-gelu simt .*PACK=0 .*REDUCE=2
cluster2-teams simt .*WARPS_K=[248] .*LOADER=[01] .*REDUCE=2
cluster2-flow simt .*LOADER=3 .*REDUCE=2
cluster3 simt .*REDUCE=3
cluster8,cluster8-out simt .*REDUCE=8
cluster8-teams simt .*WARPS_K=[248] .*REDUCE=8
last-block,last-block-bias simt .*REDUCE=1
two-steps simt .*LOADER=2 .*SPLIT_K=([2-9]|[1-9][0-9])
split66,split132,split-out simt .*REDUCE=0 .*SPLIT_K=[1-9][0-9]
pack-a simt .*PACK=1 .*SPLIT_K=1\|
pack-a-split simt .*PACK=1 .*SPLIT_K=[2-9]
pack-a-teams simt .*WARPS_K=[248] .*PACK=1 .*SPLIT_K=1\|
pack-both,pack-teams,pack-out,batch,pointers simt .*PACK=3
resident,resident-out resident .*LOADER=1
resident-bulk,resident-bias resident .*LOADER=3
skinny,skinny8,skinny-gelu,skinny-tt skinny SIDE=0 .*REDUCE=[2-8]
skinny-last,skinny-split,skinny-out skinny SIDE=0 .*REDUCE=1
skinny-side,skinny-side-out skinny SIDE=1
nt simt .*LOADER=2
tt simt .*WARPS_K=1 .*LOADER=[01] PACK=0 .*REDUCE=0
streamk-winner,streamk-winner-narrow streamk .*LOADER=1
streamk-winner-preload streamk .*LOADER=2 .*PRELOAD=1
END
while read -r names pattern; do
    for name in $(echo "$names" | tr , ' '); do
        case_of "$name" | grep -qE "^$name\|[^|]*\|$pattern" || {
            echo "sanitize.sh: the case $name is no longer one of '$pattern': $(case_of "$name")"
            exit 1
        }
    done
done <"$scratch/table"
# A case without a line there would not be noticed.
for name in $(sed -nE 's/^([a-z0-9-]+)\|[^|]*\|sgemm:.*/\1/p' "$here/sanitize.sh"); do
    cut -d ' ' -f 1 "$scratch/table" | tr , '\n' | grep -qx "$name" || {
        echo "sanitize.sh: the case $name takes a winner's configuration, and no line above says what it is there for"
        exit 1
    }
done
# config_of CASE: its configuration.
config_of() { case_of "$1" | cut -d '|' -f 3; }
# places KIND CONFIG PROBLEM: writes the places that the machine code proves harmless to $scratch/KIND.
places() { "$one" --expected "$1" "$2" "$3" >"$scratch/$1" 2>"$scratch/why"; }
# first KIND Write|Read: the first such place.
first() { sed -n "s/^$2 //p" "$scratch/$1" | head -1; }
places inbox "$(config_of cluster8-teams)" nn:100x35x1024 || {
    grep -q NVRTC "$scratch/why" || exit 1
    echo "skipped: $(cat "$scratch/why")"
    exit 77
}
# The program itself, on a driver that computes by the definition. If the driver is told another op than the
# program, the result is wrong.
plain=$(config_of plain)
GEMMTUNE_LIBCUDA=$gpu FAKE_GPU_COMPUTES=1 "$one" "$plain" nn:256x256x96
if GEMMTUNE_LIBCUDA=$gpu FAKE_GPU_COMPUTES=3 "$one" "$plain" nn:96x256x96 2>"$scratch/why"; then exit 1; fi
grep -q 'C\[[0-9]*\] is ' "$scratch/why"
# The same with epilogues and pointers, which the fake driver knows from what the fake compiler writes.
elements="simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=1 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 STORE_AT=8 \
MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
for more in epilogue=bias epilogue=rowbias+relu epilogue=bias+gelu epilogue=rowbias+gelu+out batch=3:epilogue=bias+relu+out \
    batch=3:pointers; do
    GEMMTUNE_LIBCUDA=$gpu GEMMTUNE_LIBNVRTC=$nvrtc FAKE_GPU_COMPUTES=1 "$one" "$elements" "nn:65x67x40:$more"
    if GEMMTUNE_LIBCUDA=$gpu GEMMTUNE_LIBNVRTC=$nvrtc FAKE_GPU_COMPUTES=3 "$one" "$elements" "nn:65x65x65:$more" 2>"$scratch/why"; then
        echo "a wrong product passes: $more"
        exit 1
    fi
    grep -q 'C\[[0-9]*\] is ' "$scratch/why"
done

# expect STATUS PATTERN: for CASES.
CASES='cluster8-teams plain'
expect() {
    status=0
    # shellcheck disable=SC2086
    "$scratch/sanitize.sh" $CASES >"$scratch/said" 2>&1 || status=$?
    if [ "$status" != "$1" ] || ! grep -qE "$2" "$scratch/said"; then
        cat "$scratch/said"
        echo "expected status $1 and '$2', got $status"
        exit 1
    fi
}

# races LEVEL FIRST SECOND...: a report of racecheck, with pairs of FIRST and each other one; "Write
# gemm+0x10".
races() {
    printf '========= %s: Race reported between %s access at %s\n' "$1" "${2% *}" "${2#* }"
    shift 2
    for other; do printf '=========     and %s access at %s [992 hazards]\n' "${other% *}" "${other#* }"; done
    echo '========= '
}

# summary ERRORS WARNINGS
summary() {
    printf '========= RACECHECK SUMMARY: %d hazards displayed (%d errors, %d warnings)\n' $(($1 + $2)) "$1" "$2"
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

# Thread 0's two steps are accepted in one case and not in the other; as a warning and not as an error; these
# two and no others.
init=gemm+$(first inbox Write) arrive=gemm+$(first inbox Read)
{ races Warning "Write $init" "Read $arrive" && summary 0 1; } >"$SAYS"
TOOL=racecheck expect 1 "racecheck +cluster8-teams .*expected: .*inbox"
grep -q 'racecheck *plain .*FAILED' "$scratch/said"
{ races Warning "Write $init" "Read $arrive" && races Warning "Read $arrive" "Write gemm+0x7000" && summary 0 2; } >"$SAYS"
TOOL=racecheck expect 1 'racecheck +cluster8-teams .*FAILED: .*2 warnings.*Read .*, Write 0x7000'
{ races Error "Write $init" "Read $arrive" && summary 1 0; } >"$SAYS"
TOOL=racecheck expect 1 'racecheck +cluster8-teams .*FAILED: .*1 error'

# kind CASE KIND CONFIG PROBLEM: errors of this kind are accepted, in either direction; other pairs are not.
kind() {
    CASES=$1
    places "$2" "$3" "$4"
    write=$(first "$2" Write) read=$(first "$2" Read)
    { races Error "Write gemm+$write" "Read gemm+$read" && races Error "Read gemm+$read" "Write gemm+$write" && summary 2 0; } >"$SAYS"
    TOOL=racecheck expect 0 "racecheck +$1 .*expected: 2 .*$2"
    for foreign in "Write gemm+$read" "Read gemm+$write" "Write gemm+$write" "Read gemm_pack+$read" "Read gemm+0x0"; do
        { races Error "Write gemm+$write" "Read gemm+$read" "$foreign" && summary 1 0; } >"$SAYS"
        TOOL=racecheck expect 1 "racecheck +$1 .*FAILED: .*not of the kind $2: *1 "
    done
    { races Error "Write gemm+$write" "Read gemm+$read" && summary 2 0; } >"$SAYS" # a race that the log lacks
    TOOL=racecheck expect 1 "racecheck +$1 .*FAILED: .*1 pairs in 1 reports"
}
for name in two-steps resident-flow resident-bulk; do
    IFS='|' read -r name kind config problem <<END
$(case_of $name)
END
    kind "$name" "$kind" "$config" "$problem"
done
# A kernel without such an arrival has no such pairs: with LOADER 1 all threads pass one barrier.
if places lane-stores "$plain" nn:256x256x96; then exit 1; fi
grep -q 'no such writes and reads' "$scratch/why"
