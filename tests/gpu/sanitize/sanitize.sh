#!/bin/bash
# sanitize.sh [--legal | --case] [NAME...]: the shipped winners under compute-sanitizer: a small problem for
# each family and feature below, each under memcheck, initcheck, synccheck and racecheck. Prints a line for
# each tool and case; NAME is one of the cases, without one all are run. Runs in the folder that pack.sh made,
# JOBS at a time (8); needs the driver, NVRTC, and compute-sanitizer: COMPUTE_SANITIZER, or that of the PATH
# or of CUDA_HOME. The tools' output is kept in OUT (./sanitize.out). Exits with 1 if anything was found, 77
# if nothing can be run.
#
# --legal: without a GPU: checks that all cases are legal on an H200.
# --case NAME: without a GPU: prints the case, NAME|what racecheck may report|CONFIG|PROBLEM.
#
# Before the cases each tool must find a planted defect.
#
# racecheck is expected to report some pairs of a write and a read that are no race, or a harmless one. Each
# case names the kind; docs/racecheck.md gives the reason:
#
#   inbox         thread 0's mbarrier.init and its own arrive.expect_tx (a warning)
#   lane-stores   stores of a warp for which one lane arrives at an mbarrier, and reads after a wait
#   lane-copies   cp.async after a wait, and reads of a warp for which one lane arrives
#   lane-bulk     the same for bulk copies, and for the zeros stored beside them
#
# They are ignored only for the cases marked so, and only between instructions that `sanitize_one --expected`
# finds, together with what orders them, in the cubin that was run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tools=${TOOLS:-memcheck racecheck synccheck initcheck}

# NAME|what racecheck may report (kinds joined by +), or nothing|the winner's problem, a configuration, or the case that has it|the
# small problem. A case that is there for what its kernel does names the configuration: winners are replaced.
cases() {
    cat <<'END'
teams||sgemm:nn:256x256x256|nn:96x128x256
teams8||sgemm:nn:512x512x512|nn:64x128x512
teams-odd||sgemm:nn:777x333x555|nn:97x95x131
plain||simt BM=128 BN=256 BK=8 WM=128 WN=32 TM=16 TN=8 WARPS_K=1 STAGES=2 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=1 MIN_BLOCKS=1 REDUCE=0 GROUP=8 SPLIT_K=1|nn:256x512x96
three-blocks||simt BM=96 BN=128 BK=16 WM=48 WN=64 TM=12 TN=8 WARPS_K=1 STAGES=2 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=2 ORDER=1 MIN_BLOCKS=3 REDUCE=0 GROUP=8 SPLIT_K=1|nn:200x256x128
narrow||simt BM=128 BN=64 BK=8 WM=64 WN=64 TM=16 TN=8 WARPS_K=1 STAGES=2 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=0 MIN_BLOCKS=4 REDUCE=0 GROUP=1 SPLIT_K=1|nn:256x192x64
cluster2|inbox|simt BM=64 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 WARPS_K=1 STAGES=2 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8 ORDER=0 MIN_BLOCKS=1 REDUCE=2 GROUP=1 SPLIT_K=2|nn:128x256x256
cluster2-teams|inbox|sgemm:nn:333x777x555|nn:97x193x131
cluster2-nt|inbox|sgemm:nt:1000x1000x1000|nt:132x140x200
cluster2-tn|inbox|sgemm:tn:1000x1000x1000|tn:132x140x200
cluster2-tt|inbox|sgemm:tt:1000x1000x1000|tt:132x140x200
cluster2-flow|inbox|sgemm:nn:128x1760x1760|nn:64x128x512
cluster3|inbox|sgemm:nn:640x640x640|nn:80x128x192
cluster8|inbox|simt BM=64 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 WARPS_K=1 STAGES=2 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8 ORDER=0 MIN_BLOCKS=1 REDUCE=8 GROUP=1 SPLIT_K=8|nn:64x256x512
cluster8-teams|inbox|sgemm:nn:700x35x2048|nn:100x35x1024
last-block||simt BM=64 BN=192 BK=8 WM=32 WN=96 TM=8 TN=12 WARPS_K=1 STAGES=3 LOADER=1 PACK=0 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=1 MIN_BLOCKS=1 REDUCE=1 GROUP=8 SPLIT_K=4|nn:128x384x128
two-steps|lane-stores|sgemm:nn:32x28672x4096|nn:32x256x448
split66||sgemm:nn:64x64x65536|nn:64x64x4224
split132|lane-stores|sgemm:nn:128x128x262144|nn:128x128x4224
pack-a||sgemm:nn:384x14161x1152|nn:192x225x100
pack-a-split||simt BM=128 BN=96 BK=16 WM=32 WN=96 TM=8 TN=12 WARPS_K=1 STAGES=3 LOADER=2 PACK=1 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=1 MIN_BLOCKS=1 REDUCE=1 GROUP=8 SPLIT_K=2|nn:128x192x256
pack-both||sgemm:nn:4095x4097x4093|nn:131x133x67
pack-teams||simt BM=64 BN=32 BK=32 WM=64 WN=32 TM=8 TN=8 WARPS_K=4 STAGES=2 LOADER=1 PACK=3 VA=4 VB=4 VC=1 UNROLL=8 STORE_AT=4 ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1|nn:65x67x131
pack-a-teams||sgemm:nn:1023x1025x1027|nn:131x67x131
batch||pack-teams|nn:33x35x67:batch=3
nt|lane-stores|sgemm:nt:4096x4096x4096|nt:200x260x72
tt||sgemm:tt:4096x4096x4096|tt:256x132x72
resident||sgemm:nn:32x1605632x27|nn:32x2048x27
resident-bulk|lane-bulk|sgemm:nn:64x1605632x147|nn:64x2048x147
skinny||sgemm:nn:1x4096x4096|nn:1x512x512
skinny8||sgemm:nn:16x1760x1760|nn:16x320x640
skinny-last||sgemm:nn:16x4096x7168|nn:16x256x1024
skinny-tt||sgemm:tt:8x6144x4096|tt:8x384x512
skinny-side||sgemm:nn:3333x5x3333|nn:333x5x333
skinny-split||sgemm:nn:16x16x1000000|nn:16x16x67584
slabs||simt BM=8 BN=4 BK=16 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=1 PACK=3 VA=4 VB=4 VC=1 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1|nn:3x5x262200:batch=2
tall||tall SIDE=1 BM=128 BN=64 BK=21 TM=8 TN=8 STAGES=2 VC=4 UNROLL=10 MIN_BLOCKS=1 SMS=1|nn:640x64x147
tall-nt||tall SIDE=0 BM=64 BN=128 BK=21 TM=8 TN=8 STAGES=2 VC=1 UNROLL=10 MIN_BLOCKS=1 SMS=1|nt:64x640x147
resident-flow|lane-copies|resident SIDE=0 BM=64 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=4 LOADER=2 VS=4 VC=4 UNROLL=4 MIN_BLOCKS=2 SMS=1|nn:64x1024x147
streamk|lane-stores|streamk BM=64 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=2 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=0 MIN_BLOCKS=2 GROUP=2 SMS=3|nt:200x260x72
streamk-preload|lane-stores|streamk BM=64 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=2 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=0 PRELOAD=1 MIN_BLOCKS=2 GROUP=2 SMS=3|nt:200x260x72
streamk-whole||streamk BM=64 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=0 PRELOAD=1 MIN_BLOCKS=2 GROUP=2 WHOLE=1 SMS=3|nn:200x260x72:batch=2
streamk-one-tile||streamk BM=64 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=2 LOADER=1 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=0 MIN_BLOCKS=2 GROUP=1 SMS=3|nn:64x64x1024
streamk-batch||streamk BM=64 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=2 LOADER=1 VA=1 VB=1 VC=1 UNROLL=8 STORE_AT=4 ORDER=0 PRELOAD=1 MIN_BLOCKS=2 GROUP=1 SMS=5|nn:131x133x67:batch=3
teams-flow|lane-stores|simt BM=48 BN=256 BK=16 WM=48 WN=64 TM=12 TN=8 WARPS_K=2 STAGES=3 LOADER=2 PACK=0 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=1 ORDER=1 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1|nt:100x260x72
teams-cluster-flow|inbox+lane-stores|simt BM=64 BN=96 BK=32 WM=64 WN=48 TM=8 TN=12 WARPS_K=4 STAGES=3 LOADER=2 PACK=0 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=1 ORDER=2 MIN_BLOCKS=1 REDUCE=2 GROUP=1 SPLIT_K=2|nt:68x200x136
long-threads|lane-stores|simt BM=128 BN=256 BK=8 WM=32 WN=128 TM=8 TN=16 WARPS_K=1 STAGES=3 LOADER=2 PACK=0 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=1 ORDER=0 MIN_BLOCKS=1 REDUCE=0 GROUP=8 SPLIT_K=1|nt:200x260x72
streamk-ten|lane-stores|streamk BM=128 BN=160 BK=8 WM=32 WN=160 TM=16 TN=10 STAGES=3 LOADER=2 VA=4 VB=4 VC=2 UNROLL=8 STORE_AT=1 ORDER=0 PRELOAD=0 MIN_BLOCKS=2 GROUP=8 WHOLE=1 SMS=3|nt:200x320x72
mma||mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=2 SPLIT_K=2|tf32gemm:nt:136x260x200
streamk-winner||sgemm:nn:4096x4096x4096|nn:256x512x96
streamk-winner-preload|lane-stores|sgemm:nn:4096x2112x7168|nn:256x192x64
streamk-winner-narrow||sgemm:nn:700x5124x2048|nn:128x384x128
streamk-gelu|lane-stores|streamk BM=64 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=2 VA=4 VB=4 VC=4 UNROLL=8 STORE_AT=4 ORDER=0 MIN_BLOCKS=2 GROUP=2 SMS=3|nt:200x260x72:epilogue=bias+gelu
streamk-out||streamk BM=64 BN=64 BK=8 WM=32 WN=64 TM=8 TN=8 STAGES=2 LOADER=1 VA=1 VB=1 VC=1 UNROLL=8 STORE_AT=4 ORDER=0 PRELOAD=1 MIN_BLOCKS=2 GROUP=1 SMS=5|nn:131x133x67:batch=3:epilogue=rowbias+relu+out
plain-gelu||plain|nn:256x512x96:epilogue=bias+gelu
pack-out||sgemm:nn:4095x4097x4093|nn:131x133x67:epilogue=bias+out
teams-out||sgemm:nn:512x512x512|nn:64x128x512:epilogue=rowbias+relu+out
cluster-gelu|inbox|cluster2|nn:128x256x256:epilogue=bias+gelu
cluster8-out|inbox|sgemm:nn:700x35x2048|nn:100x35x1024:epilogue=bias+relu+out
split-out||sgemm:nn:64x64x65536|nn:64x64x4224:epilogue=rowbias+gelu+out
last-block-bias||last-block|nn:128x384x128:epilogue=bias+relu
skinny-gelu||sgemm:nn:16x1760x1760|nn:16x320x640:epilogue=bias+gelu
skinny-out||sgemm:nn:16x4096x7168|nn:16x256x1024:epilogue=rowbias+out
skinny-side-out||sgemm:nn:3333x5x3333|nn:333x5x333:epilogue=bias+relu+out
resident-out||sgemm:nn:32x1605632x27|nn:32x2048x27:epilogue=rowbias+gelu+out
resident-bias|lane-bulk|sgemm:nn:64x1605632x147|nn:64x2048x147:epilogue=bias
tall-out||tall SIDE=1 BM=128 BN=64 BK=21 TM=8 TN=8 STAGES=2 VC=4 UNROLL=10 MIN_BLOCKS=1 SMS=1|nn:640x64x147:epilogue=bias+relu+out
pointers||pack-teams|nn:65x67x131:batch=3:pointers
pointers-split||simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=1 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=4|nn:65x67x256:batch=2:pointers
pointers-skinny||skinny SIDE=0 ROWS=4 TX=4 VX=1 VS=1 VC=1 LANES_X=32 WARPS_X=1 WARPS_K=8 WARPS_R=1 DEPTH=2 STEPS=2 BUFFERS=2 LOADER=0 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=2|nn:4x260x640:batch=3:pointers
pointers-mma||mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=1 VB=1 VC=1 MIN_BLOCKS=2 GROUP=2 SPLIT_K=2|tf32gemm:nt:136x260x200:batch=3:pointers
mma-gelu||mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=2 SPLIT_K=2|tf32gemm:nt:136x260x200:epilogue=bias+gelu+out
mma-ragged||mma BM=128 BN=64 BK=16 WM=64 WN=32 STAGES=4 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=2 SPLIT_K=1|tf32gemm:nn:133x97x211
mma16||mma16 BM=32 BN=64 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=8 PRELOAD=1 PACK=0 VA=8 VB=8 VC=8 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1 PDL=1 ASK=16|hgemm:nn:64x128x192
mma16-cluster|inbox|mma16 BM=32 BN=64 BK=128 WM=32 WN=32 SWAP=0 WARPS_K=2 STAGES=5 PRELOAD=1 PACK=0 VA=8 VB=8 VC=8 MIN_BLOCKS=1 REDUCE=2 GROUP=1 SPLIT_K=2 PDL=1 ASK=16|bf16gemm:nn:64x128x512
mma16-pack||mma16 BM=8 BN=32 BK=64 WM=8 WN=16 SWAP=1 WARPS_K=1 STAGES=2 PRELOAD=1 PACK=2 VA=1 VB=8 VC=1 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=3|hgemm:nn:13x67x385
gemv16|inbox|gemv16 SIDE=0 FEW=16 TX=8 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=2 SPLIT_K=2 PDL=1 ASK=16 PAD=0|bf16gemm:nn:16x128x1024
wgmma||wgmma BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=3 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=0 GROUP=2 SPLIT_K=1 SMS=1 PDL=0|hgemm:nn:136x136x200
wgmma-store||wgmma BM=64 BN=64 BK=128 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=4 GROUP=1 SPLIT_K=1 SMS=1 PDL=2|hgemm:nn:80x144x512
wgmma-swap||wgmma BM=16 BN=64 BK=64 SWAP=1 CONSUMERS=1 STAGES=8 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=4 WALK=0 STORE=0 GROUP=1 SPLIT_K=4 SMS=1 PDL=2|bf16gemm:nn:16x128x512
wgmma-pack||wgmma BM=96 BN=128 BK=64 SWAP=1 CONSUMERS=2 STAGES=6 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=0 GROUP=1 SPLIT_K=1 SMS=1 PDL=2|bf16gemm:nn:97x131x131
wgmma-walk||wgmma BM=128 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=1 STORE=2 GROUP=8 SPLIT_K=1 SMS=2 PDL=2|hgemm:nn:256x272x192
wgmma-walk2||wgmma BM=128 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=6 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=2 STORE=2 GROUP=8 SPLIT_K=1 SMS=1 PDL=0|bf16gemm:nt:256x272x192
wgmma-preload||wgmma_tf32 BM=24 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=3 PACK=0 VC=2 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=0 PRELOAD=1 GROUP=1 SPLIT_K=1 SMS=1 PDL=0|tf32gemm:nn:48x260x132
bf16x6-pieces||bf16x6 BM=128 BN=64 BK=64 STAGES=9 FUSE=0 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132|sgemm_accurate:nn:131x66x193
bf16x6-fuse1||bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=1 SWAP=0 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132|sgemm_accurate:nn:128x128x132:batch=2
bf16x6-fuse2||bf16x6 BM=128 BN=144 BK=64 STAGES=6 FUSE=2 SWAP=0 VA=1 VB=1 VC=2 GROUP=16 SPLIT_K=3 SMS=132|sgemm_accurate:nn:132x144x384
bf16x6-prepared||bf16x6 BM=128 BN=128 BK=64 STAGES=8 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=16 SPLIT_K=1 SMS=132|sgemm_accurate:nt:132x132x192:prepared=a
bf16x6-fuse3||bf16x6 BM=64 BN=80 BK=64 STAGES=6 FUSE=3 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=3 SMS=132|sgemm_accurate:nn:68x160x384
f16x3||f16x3 BM=128 BN=112 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132|sgemm_normwise:nn:132x114x257
END
}

config_of() {
    case $1 in
    '') ;;
    sgemm:*) sed -nE "s/.*\"problem\": \"$1\",.*\"config\": \"([^\"]+)\".*/\1/p" "$winners" | head -1 ;;
    *=*) printf '%s\n' "$1" ;;
    *) config_of "$(cases | sed -nE "s/^$1\|[^|]*\|([^|]+)\|.*/\1/p")" ;;
    esac
}

# ---- one tool and one case ----

# foreign EXPECTED LOG: the pairs that racecheck reports and that are not expected.
foreign() {
    awk '
        NR == FNR { expected[$0]; next }
        / access at / {
            kind = place = $0
            sub(/ access at .*/, "", kind)
            sub(/.* /, "", kind)
            sub(/.* access at gemm\+/, "", place)
            sub(/ .*/, "", place)
            at = kind " " place
            if (/Race reported between/) { first = at; first_kind = kind; reports++; next }
            pairs++
            if (kind == first_kind || !(first in expected) || !(at in expected)) print first ", " at
        }
        /RACECHECK SUMMARY/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^hazards?$/) displayed = $i }
        END { if (!pairs || reports != displayed) print pairs + 0 " pairs in " reports + 0 " reports" }' "$1" "$2"
}

# Of each of the kinds, which are joined by +: a pair of two kinds, and errors where one kind has warnings only,
# pass with joined kinds.
expected_pairs() { # KINDS CONFIG PROBLEM
    for kind in $(echo "$1" | tr + ' '); do "$here/sanitize_one" --expected "$kind" "$2" "$3" || return; done
}

# The result of a log: "clean", "expected: N" or the findings. KIND: what racecheck may report.
verdict() { # LOG KIND CONFIG PROBLEM
    summary=$(sed -nE 's/^=+ +((RACECHECK|ERROR) SUMMARY: .*)/\1/p' "$1" | tail -1)
    case $2:$summary in
    *:'ERROR SUMMARY: 0 errors' | *:'RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'*) echo clean ;;
    inbox:'RACECHECK SUMMARY: '*'(0 errors,'* | *lane-*:'RACECHECK SUMMARY: '*)
        if ! expected_pairs "$2" "$3" "$4" >"$1.expected" 2>&1; then echo "$summary: $(tail -1 "$1.expected")"
        else
            strange=$(foreign "$1.expected" "$1" | sort | uniq -c | sort -rn | head -1)
            if [ -n "$strange" ]; then echo "$summary: not of the kind $2:$strange"
            else echo "expected: ${summary#*: }, $2"; fi
        fi
        ;;
    *:) echo "no summary, but at last: $(tail -1 "$1")" ;;
    *) echo "$summary" ;;
    esac
}

# Each run has its own number, so that no two use the same ports.
look() { # NUMBER TOOL ARGUMENT...
    number=$1 tool=$2
    shift 2
    set -- --tool "$tool" --port $((40000 + 12 * number)) "$here/sanitize_one" "$@"
    [ "$tool" != racecheck ] || set -- --racecheck-report analysis --print-limit 1000 "$@"
    timeout "${LIMIT_S:-150}" "$sanitizer" "$@"
}

plant() { # NUMBER TOOL
    begin=$(date +%s)
    look "$1" "$2" --planted "$2" >"$out/$2.planted.log" 2>&1
    said=$(verdict "$out/$2.planted.log" '' '' '')
    case $said in
    clean | 'no summary'* | expected*) result="FAILED: the planted defect was not found ($said)" ;;
    *) result="found: $said" ;;
    esac
    line "$2" planted "$begin" "$result" | tee "$out/$2.planted.line"
}

one() { # NUMBER TOOL NAME KIND CONFIG PROBLEM
    begin=$(date +%s) code=0
    log=$out/$2.$3.log
    look "$1" "$2" "$5" "$6" >"$log" 2>&1 || code=$?
    said=$(verdict "$log" "$4" "$5" "$6")
    case $said in
    clean | expected*) [ "$code" = 0 ] && result=$said || result="FAILED: exit status $code ($said)" ;;
    *) result="FAILED: $said" ;;
    esac
    line "$2" "$3" "$begin" "$result" | tee "$out/$2.$3.line"
}

line() { # TOOL NAME BEGIN RESULT
    printf '%-10s %-15s %4d s  %s\n' "$1" "$2" $(($(date +%s) - $3)) "$4"
}

# ---- all tools and cases ----

winners=$here/configs/winners/h200.jsonl
[ -e "$winners" ] || winners=$here/../../../configs/winners/h200.jsonl
only=
case ${1:-} in --legal | --case) only=$1 && shift ;; esac
wanted=" $* "

wanted_cases() {
    cases | while IFS='|' read -r name kind source problem; do
        case $wanted in "  " | *" $name "*) ;; *) continue ;; esac
        config=$(config_of "$source")
        [ -n "$config" ] || config="no winner of $source"
        printf '%s|%s|%s|%s\n' "$name" "$kind" "$config" "$problem"
    done
}

if [ "$only" = --case ]; then
    wanted_cases
    exit
fi
if [ "$only" = --legal ]; then
    wanted_cases | {
        wrong=0 count=0
        while IFS='|' read -r name kind config problem; do
            "${SANITIZE_ONE:-$here/sanitize_one}" --legal "$config" "$problem" || {
                echo "^ $name"
                wrong=1
            }
            count=$((count + 1))
        done
        echo "$count cases"
        exit $wrong
    }
    exit
fi

sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")}
"$sanitizer" --version >/dev/null 2>&1 || {
    echo "skipped: no compute-sanitizer (it comes with the CUDA toolkit; COMPUTE_SANITIZER may name it)"
    exit 77
}
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" GEMMTUNE_CONFIGS="$here/configs"
out=${OUT:-$PWD/sanitize.out}
mkdir -p "$out/cache"
rm -f "$out"/*.log "$out"/*.expected "$out"/*.line
export GEMMTUNE_CACHE="$out/cache"

number=0
# at_once COMMAND ARGUMENT...: runs it in the background, JOBS at a time.
at_once() {
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-8}" ]; do wait -n || true; done
    "$@" &
    number=$((number + 1))
}

# First without a tool: kernels are compiled once, and wrong results are found before the tools run.
echo "== alone"
wanted_cases >"$out/cases"
while IFS='|' read -r name kind config problem; do
    at_once sh -c '"$1" "$2" "$3" >"$4" 2>&1; echo $? >>"$4"' sh "$here/sanitize_one" "$config" "$problem" "$out/alone.$name.log"
done <"$out/cases"
wait
failed=0
while IFS='|' read -r name kind config problem; do
    case $(tail -1 "$out/alone.$name.log") in
    0) ;;
    77)
        sed '$d' "$out/alone.$name.log"
        exit 77
        ;;
    *)
        echo "FAILED: $name: $(cat "$out/alone.$name.log")"
        failed=1
        ;;
    esac
done <"$out/cases"

echo "== under compute-sanitizer"
number=0
for tool in $tools; do at_once plant "$number" "$tool"; done
for tool in $tools; do
    while IFS='|' read -r name kind config problem; do
        at_once one "$number" "$tool" "$name" "$kind" "$config" "$problem"
    done <"$out/cases"
done
wait
runs=$(cat "$out"/*.line | wc -l)
found=$(cat "$out"/*.line | grep -c FAILED)
echo "$runs runs, $found failed; what the tools said is in $out"
[ "$found" = 0 ] || failed=1
[ "$runs" = "$number" ] || failed=1
exit $failed
