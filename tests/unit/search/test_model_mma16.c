/* The model of the tensor-core family for 16-bit operands against what was measured on an H100 (2026-11-25,
 * before PRELOAD and PACK), and against what no kernel can beat. */
#include "model_checks.h"

/* The fastest of every third problem that was tried. */
static const struct measured_row measured[] = {
    {"bf16gemm:nn:1024x1024x1024", "BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=5", 1, 1, 1, 1,
     9.97},
    {"bf16gemm:nn:1023x1025x1027", "BM=64 BN=128 BK=64 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=4", 2, 1, 8, 4,
     33.01},
    {"hgemm:nn:64x64x512", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=4 STAGES=5", 1, 1, 1, 1, 2.36},
    {"hgemm:nn:64x512x64", "BM=8 BN=64 BK=64 WM=8 WN=32 SWAP=1 WARPS_K=1 STAGES=5", 1, 1, 1, 1, 2.23},
    {"hgemm:nn:64x512x8192", "BM=32 BN=32 BK=128 WM=32 WN=32 SWAP=0 WARPS_K=4 STAGES=3", 1, 8, 1, 8, 7.36},
    {"hgemm:nn:64x2048x2048", "BM=32 BN=32 BK=128 WM=32 WN=32 SWAP=0 WARPS_K=4 STAGES=5", 1, 1, 1, 1, 6.54},
    {"hgemm:nn:64x8192x512", "BM=32 BN=32 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=5", 1, 1, 1, 1, 6.16},
    {"hgemm:nn:512x64x64", "BM=8 BN=64 BK=64 WM=8 WN=32 SWAP=1 WARPS_K=2 STAGES=5", 1, 1, 1, 1, 2.18},
    {"hgemm:nn:512x64x8192", "BM=64 BN=64 BK=128 WM=32 WN=64 SWAP=0 WARPS_K=2 STAGES=5", 1, 8, 1, 8, 7.29},
    {"hgemm:nn:512x512x2048", "BM=64 BN=64 BK=128 WM=32 WN=64 SWAP=0 WARPS_K=2 STAGES=3", 1, 2, 1, 2, 7.71},
    {"hgemm:nn:512x2048x512", "BM=64 BN=64 BK=64 WM=32 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 2, 1, 8, 1, 7.12},
    {"hgemm:nn:512x8192x64", "BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=3", 1, 1, 1, 1, 7.63},
    {"hgemm:nn:512x8192x8192", "BM=128 BN=256 BK=64 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 1, 1, 8, 1,
     166.86},
    {"hgemm:nn:2048x64x2048", "BM=16 BN=64 BK=128 WM=16 WN=32 SWAP=0 WARPS_K=4 STAGES=3", 1, 2, 1, 2, 6.70},
    {"hgemm:nn:2048x512x512", "BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=3", 1, 1, 1, 1, 6.52},
    {"hgemm:nn:2048x2048x64", "BM=256 BN=64 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 2, 1, 8, 1, 6.82},
    {"hgemm:nn:2048x2048x8192", "BM=128 BN=128 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=5", 2, 1, 8, 1,
     159.39},
    {"hgemm:nn:2048x8192x2048", "BM=128 BN=128 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 2, 1, 8, 1,
     172.56},
    {"hgemm:nn:8192x64x512", "BM=32 BN=64 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=5", 1, 1, 1, 1, 5.84},
    {"hgemm:nn:8192x512x64", "BM=256 BN=64 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 2, 1, 8, 1, 6.86},
    {"hgemm:nn:8192x512x8192", "BM=128 BN=128 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=5", 2, 1, 8, 1,
     162.35},
    {"hgemm:nn:8192x2048x2048", "BM=128 BN=128 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=5", 2, 1, 8, 1,
     170.49},
    {"hgemm:nn:8192x8192x512", "BM=128 BN=128 BK=32 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=5", 2, 1, 8, 1,
     218.38},
    {"bf16gemm:nn:256x256x256", "BM=16 BN=32 BK=256 WM=16 WN=32 SWAP=0 WARPS_K=4 STAGES=3", 1, 1, 1, 1, 2.61},
    {"bf16gemm:nn:4096x4096x4096", "BM=128 BN=128 BK=64 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 2, 1, 8, 1,
     343.72},
    {"bf16gemm:nn:64x1605632x147", "BM=64 BN=128 BK=64 WM=64 WN=32 SWAP=0 WARPS_K=1 STAGES=4", 2, 1, 8, 1,
     330.85},
    {"bf16gemm:nn:256x43264x1152", "BM=128 BN=256 BK=64 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=4", 1, 1, 8, 1,
     81.30},
    {"bf16gemm:nn:128x1760x1760", "BM=64 BN=64 BK=128 WM=32 WN=64 SWAP=0 WARPS_K=4 STAGES=5", 1, 2, 1, 2,
     7.38},
    {"bf16gemm:nn:700x5124x2048", "BM=128 BN=128 BK=64 WM=64 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 2, 1, 8, 1,
     53.67},
    {"bf16gemm:nn:8x6144x4096", "BM=8 BN=64 BK=128 WM=8 WN=32 SWAP=1 WARPS_K=1 STAGES=5", 1, 1, 1, 1, 18.45},
    {"bf16gemm:nn:128x4096x14336", "BM=64 BN=128 BK=64 WM=64 WN=32 SWAP=0 WARPS_K=1 STAGES=4", 2, 1, 8, 4,
     52.66},
    {"bf16gemm:nn:64x64x65536", "BM=16 BN=32 BK=128 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=8", 1, 1, 1, 16,
     12.76},
    {"bf16gemm:nn:1000x1000x1000", "BM=128 BN=64 BK=64 WM=64 WN=32 SWAP=0 WARPS_K=1 STAGES=4", 2, 1, 8, 1,
     12.62},
};

static void format(char text[CONFIG_TEXT_MAX], const struct measured_row *row, const struct problem *p)
{
    snprintf(text, CONFIG_TEXT_MAX,
             "mma16 %s PRELOAD=0 PACK=0 VA=%d VB=%d VC=%d MIN_BLOCKS=%d REDUCE=%d GROUP=%d SPLIT_K=%d",
             row->tile, problem_align_a(p), problem_align_b(p), problem_align_c(p), row->blocks, row->reduce,
             row->group, row->splits);
}

TEST(measured_times_are_predicted_within_two_thirds)
{
    assert_predicted_within(1.65, measured, sizeof measured / sizeof *measured, format);
}

TEST(no_candidate_is_faster_than_tensor_cores_and_memory_allow)
{
    assert_none_beats_tensor_cores(GT_SOURCE_DIR "/configs/spaces/mma16.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_are_predicted_within_two_thirds),
        cmocka_unit_test(no_candidate_is_faster_than_tensor_cores_and_memory_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
