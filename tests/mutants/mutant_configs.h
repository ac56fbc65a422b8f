/* mutant_configs.h — configurations in which more than one file of mutants plants its bugs: of simt, unless
 * the name says another family.
 */
#ifndef GT_MUTANT_CONFIGS_H
#define GT_MUTANT_CONFIGS_H

#define PLAIN                                                                                                \
    "simt BM=32 BN=32 BK=8 WM=16 WN=32 TM=4 TN=4 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=8 STORE_AT=4 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
#define SPLIT                                                                                                \
    "simt BM=32 BN=32 BK=4 WM=16 WN=32 TM=4 TN=4 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=9"
#define CLUSTER                                                                                              \
    "simt BM=32 BN=32 BK=4 WM=16 WN=32 TM=4 TN=4 STAGES=4 LOADER=1 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=3 GROUP=1 SPLIT_K=3"
#define TEAMS                                                                                                \
    "simt BM=32 BN=32 BK=16 WM=32 WN=32 TM=4 TN=8 WARPS_K=4 STAGES=4 LOADER=1 PACK=0 VA=1 VB=1 VC=1 "        \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"
#define LAST_BLOCK                                                                                           \
    "simt BM=32 BN=32 BK=4 WM=16 WN=32 TM=4 TN=4 STAGES=4 LOADER=1 PACK=0 VA=1 VB=1 VC=1 "                   \
    "UNROLL=4 STORE_AT=2 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=5"
#define SKINNY                                                                                               \
    "skinny SIDE=1 ROWS=6 TX=2 VX=1 VS=1 VC=1 LANES_X=8 WARPS_X=2 WARPS_K=1 DEPTH=1 STEPS=2 LOADER=0 "       \
    "MIN_BLOCKS=1 SPLIT_K=3"
#define MMA "mma BM=32 BN=32 BK=16 WM=32 WN=32 STAGES=2 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=1 SPLIT_K=1"

#endif
