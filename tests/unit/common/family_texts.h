/* family_texts.h — a legal configuration of each kernel family, and for families with two sides one of the
 * other side. */
#ifndef GT_FAMILY_TEXTS_H
#define GT_FAMILY_TEXTS_H

#define SIMT_BASE                                                                                            \
    "simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=0 VA=4 VB=4 VC=4 "                \
    "UNROLL=16 STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1"

#define SKINNY_BASE                                                                                          \
    "skinny SIDE=0 ROWS=8 TX=4 VX=4 VS=4 VC=4 LANES_X=32 WARPS_X=1 WARPS_K=8 DEPTH=2 "                       \
    "STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=1"

#define RESIDENT_BASE                                                                                        \
    "resident SIDE=0 BM=64 BN=256 BK=21 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 VS=4 "                       \
    "VC=4 UNROLL=8 MIN_BLOCKS=2 SMS=132"
#define RESIDENT_NARROW                                                                                      \
    "resident SIDE=1 BM=256 BN=64 BK=21 WM=64 WN=32 TM=8 TN=8 STAGES=3 LOADER=1 VS=4 "                       \
    "VC=4 UNROLL=8 MIN_BLOCKS=2 SMS=132"

#define TALL_BASE "tall SIDE=1 BM=256 BN=64 BK=21 TM=8 TN=8 STAGES=3 VC=4 UNROLL=10 MIN_BLOCKS=1 SMS=132"
#define TALL_LOW  "tall SIDE=0 BM=64 BN=256 BK=21 TM=8 TN=8 STAGES=3 VC=1 UNROLL=10 MIN_BLOCKS=1 SMS=132"

#define STREAMK_BASE                                                                                         \
    "streamk BM=128 BN=128 BK=8 WM=64 WN=64 TM=16 TN=8 STAGES=3 LOADER=2 VA=4 VB=4 VC=4 UNROLL=8 "           \
    "STORE_AT=4 ORDER=0 MIN_BLOCKS=2 GROUP=8 SMS=132"

#define MMA_BASE "mma BM=128 BN=256 BK=16 WM=64 WN=64 STAGES=4 VA=4 VB=4 VC=4 MIN_BLOCKS=1 GROUP=8 SPLIT_K=1"

#define MMA16_BASE                                                                                           \
    "mma16 BM=128 BN=256 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=4 PRELOAD=1 PACK=0 VA=8 VB=8 VC=8 "       \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=8 SPLIT_K=1"

#define GEMV16_BASE                                                                                          \
    "gemv16 SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=2 MIN_BLOCKS=1 REDUCE=1 "      \
    "SPLIT_K=1 "                                                                                             \
    "PDL=0 ASK=0 PAD=0"

#define WGMMA_BASE                                                                                           \
    "wgmma BM=128 BN=256 BK=64 SWAP=0 CONSUMERS=2 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=0 "        \
    "GROUP=8 SPLIT_K=1 SMS=1"
#define WGMMA_TF32_BASE                                                                                      \
    "wgmma_tf32 BM=128 BN=208 BK=32 SWAP=0 CONSUMERS=2 STAGES=4 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "   \
    "GROUP=8 SPLIT_K=1 SMS=1"
#define BF16X6_BASE "bf16x6 BM=128 BN=208 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define F16X3_BASE  "f16x3 BM=128 BN=208 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132"

#endif
