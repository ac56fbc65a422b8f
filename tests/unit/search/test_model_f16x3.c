/* The model of the family for FP32 as two FP16 pieces against what was measured on an H100 (2026-11-27). */
#include "model_checks.h"

#define ROW(problem, tile, us)                                                                               \
    {                                                                                                        \
        "sgemm_normwise:" problem, "f16x3 " tile " GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, us                \
    }

/* Of one run, in turns (docs/accuracy.md). */
static const struct measured_row measured[] = {
    ROW("nn:1024x1024x1024", "BM=128 BN=64 BK=128 STAGES=9 LOW=8 VC=2", 32.8),
    ROW("nn:1024x1024x1024", "BM=64 BN=128 BK=128 STAGES=9 LOW=8 VC=2", 34.4),
    ROW("nn:1024x1024x1024", "BM=128 BN=72 BK=128 STAGES=9 LOW=8 VC=2", 33.8),
    ROW("nn:1024x1024x1024", "BM=64 BN=64 BK=128 STAGES=14 LOW=8 VC=2", 38.3),
    ROW("nn:1024x1024x1024", "BM=128 BN=64 BK=64 STAGES=9 LOW=16 VC=2", 33.8),
    ROW("nn:1024x1024x1024", "BM=128 BN=64 BK=64 STAGES=9 LOW=0 VC=2", 31.1),
    ROW("nn:2048x2048x2048", "BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2", 141.7),
    ROW("nn:2048x2048x2048", "BM=192 BN=88 BK=128 STAGES=6 LOW=8 VC=2", 154.9),
    ROW("nn:2048x2048x2048", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=2", 181.8),
    ROW("nn:2048x2048x2048", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=2", 176.2),
    ROW("nn:2048x2048x2048", "BM=128 BN=128 BK=64 STAGES=7 LOW=16 VC=2", 145.3),
    ROW("nn:2048x2048x2048", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=2", 183.9),
    ROW("nn:2048x2048x2048", "BM=128 BN=128 BK=64 STAGES=7 LOW=0 VC=2", 125.7),
    ROW("nn:4096x4096x4096", "BM=128 BN=112 BK=128 STAGES=7 LOW=8 VC=2", 910.5),
    ROW("nn:4096x4096x4096", "BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2", 888.9),
    ROW("nn:4096x4096x4096", "BM=128 BN=176 BK=128 STAGES=5 LOW=8 VC=2", 896.7),
    ROW("nn:4096x4096x4096", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=2", 982.0),
    ROW("nn:4096x4096x4096", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=2", 950.7),
    ROW("nn:4096x4096x4096", "BM=128 BN=128 BK=64 STAGES=7 LOW=16 VC=2", 925.6),
    ROW("nn:4096x4096x4096", "BM=128 BN=208 BK=64 STAGES=5 LOW=16 VC=2", 929.9),
    ROW("nn:4096x4096x4096", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=2", 1005.8),
    ROW("nn:4096x4096x4096", "BM=128 BN=208 BK=64 STAGES=5 LOW=0 VC=2", 762.5),
    ROW("nn:8192x8192x8192", "BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2", 6466.4),
    ROW("nn:8192x8192x8192", "BM=128 BN=176 BK=128 STAGES=5 LOW=8 VC=2", 6155.8),
    ROW("nn:8192x8192x8192", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=2", 6174.3),
    ROW("nn:8192x8192x8192", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=2", 6419.4),
    ROW("nn:8192x8192x8192", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=2", 7179.9),
    ROW("nn:8192x8192x8192", "BM=128 BN=208 BK=64 STAGES=5 LOW=16 VC=2", 7422.8),
    ROW("nn:8192x8192x8192", "BM=128 BN=208 BK=64 STAGES=5 LOW=0 VC=2", 5776.7),
    ROW("nn:4095x4097x4093", "BM=128 BN=176 BK=128 STAGES=5 LOW=8 VC=1", 965.2),
    ROW("nn:4095x4097x4093", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=1", 1037.4),
    ROW("nn:4095x4097x4093", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=1", 1021.0),
    ROW("nn:4095x4097x4093", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=1", 1065.5),
};

TEST(measured_times_are_predicted_within_25_per_cent)
{
    assert_predicted_within(1.25, measured, sizeof measured / sizeof *measured, format_whole);
}

TEST(low_pieces_of_8_bits_are_faster_than_of_16)
{
    static const char eight[] = "f16x3 BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
                      sixteen[] = "f16x3 BM=128 BN=128 BK=64 STAGES=7 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132";
    static const char problem[] = "sgemm_normwise:nn:4096x4096x4096";
    assert_true(predicted_us(eight, problem) < predicted_us(sixteen, problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_are_predicted_within_25_per_cent),
        cmocka_unit_test(low_pieces_of_8_bits_are_faster_than_of_16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
