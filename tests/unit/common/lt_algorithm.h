/* lt_algorithm.h — an algorithm of cublasLt as fake_lt.c keeps it, as a configuration: for operands at
 * multiples of 16 bytes, scalars on the host; needs no workspace. sums: a number of
 * cublasLtReductionScheme_t, as text.
 */
#ifndef GT_LT_ALGORITHM_H
#define GT_LT_ALGORITHM_H

#define LT_ALGORITHM_ADDS(sums)                                                                              \
    "cublaslt ALGO=21 TILE_ID=0 STAGES_ID=0 SPLIT_K=0 SUMS=" sums " SWIZZLE=0 CUSTOM=0 INNER_ID=0 "          \
    "CLUSTER_ID=0 WORKSPACE=0 VERSION=130100 W0=16 W1=0 W2=0 W3=0 W4=1 W5=0 W6=0 W7=0 W8=0 W9=0 W10=21 "     \
    "W11=0 W12=0 W13=0 W14=0 W15=0"
#define LT_ALGORITHM LT_ALGORITHM_ADDS("0")

#endif
