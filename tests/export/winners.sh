#!/bin/sh
# winners.sh MAKE_WINNERS COUNT: so many random winners, and those that tests of exported kernels need besides.
set -eu
"$1" "$2"
# A batch that is launched in pieces, and one whose operands are too long to be packed at once.
"$1" 2 "sgemm:nt:16x32x8:batch=100000" "sgemm:nn:1000x1000x20000@simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=1 PACK=3 VA=4 VB=4 VC=1 \
UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=2 SPLIT_K=1"
# Two of one shape, by type: strict FP32, and tensor cores with a cut k.
"$1" 2 "sgemm:nt:640x768x512@simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=4 VB=4 VC=4 \
UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=2 SPLIT_K=1" \
    "tf32gemm:nt:640x768x512@mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=2 SPLIT_K=2"
# With an epilogue: a cut k whose parts a kernel adds, packed operands, few rows, tensor cores.
"$1" 4 "sgemm:nt:640x768x512:beta=1:epilogue=bias+gelu+out@simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 \
VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=2 SPLIT_K=4" \
    "sgemm:nn:1000x1000x2000:epilogue=relu@simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=1 PACK=3 VA=4 VB=4 VC=1 \
UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=2 SPLIT_K=1" \
    "sgemm:nn:4x1000x512:beta=1:epilogue=rowbias+out" \
    "tf32gemm:nt:640x768x512:epilogue=rowbias+relu@mma BM=64 BN=128 BK=32 WM=32 WN=64 STAGES=3 VA=4 VB=4 VC=4 MIN_BLOCKS=2 GROUP=2 \
SPLIT_K=2"
