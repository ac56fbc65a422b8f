/* The model of the family for FP32 as two FP16 pieces against what was measured on an H100 (2026-11-27). */
#include "model_checks.h"

/* Of one run, in turns (docs/accuracy.md). */
static const struct measured_row measured[] = {
    {"sgemm_normwise:nn:1024x1024x1024", "BM=128 BN=64 BK=128 STAGES=9 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 32.8},
    {"sgemm_normwise:nn:1024x1024x1024", "BM=64 BN=128 BK=128 STAGES=9 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 34.4},
    {"sgemm_normwise:nn:1024x1024x1024", "BM=128 BN=72 BK=128 STAGES=9 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 33.8},
    {"sgemm_normwise:nn:1024x1024x1024", "BM=64 BN=64 BK=128 STAGES=14 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 38.3},
    {"sgemm_normwise:nn:1024x1024x1024", "BM=128 BN=64 BK=64 STAGES=9 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 33.8},
    {"sgemm_normwise:nn:1024x1024x1024", "BM=128 BN=64 BK=64 STAGES=9 LOW=0 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 31.1},
    {"sgemm_normwise:nn:2048x2048x2048", "BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 141.7},
    {"sgemm_normwise:nn:2048x2048x2048", "BM=192 BN=88 BK=128 STAGES=6 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 154.9},
    {"sgemm_normwise:nn:2048x2048x2048", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 181.8},
    {"sgemm_normwise:nn:2048x2048x2048", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 176.2},
    {"sgemm_normwise:nn:2048x2048x2048", "BM=128 BN=128 BK=64 STAGES=7 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 145.3},
    {"sgemm_normwise:nn:2048x2048x2048", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 183.9},
    {"sgemm_normwise:nn:2048x2048x2048", "BM=128 BN=128 BK=64 STAGES=7 LOW=0 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 125.7},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=128 BN=112 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 910.5},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 888.9},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=128 BN=176 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 896.7},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 982.0},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 950.7},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=128 BN=128 BK=64 STAGES=7 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 925.6},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=128 BN=208 BK=64 STAGES=5 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 929.9},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 1005.8},
    {"sgemm_normwise:nn:4096x4096x4096", "BM=128 BN=208 BK=64 STAGES=5 LOW=0 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 762.5},
    {"sgemm_normwise:nn:8192x8192x8192", "BM=128 BN=128 BK=128 STAGES=7 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 6466.4},
    {"sgemm_normwise:nn:8192x8192x8192", "BM=128 BN=176 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 6155.8},
    {"sgemm_normwise:nn:8192x8192x8192", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 6174.3},
    {"sgemm_normwise:nn:8192x8192x8192", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 6419.4},
    {"sgemm_normwise:nn:8192x8192x8192", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 7179.9},
    {"sgemm_normwise:nn:8192x8192x8192", "BM=128 BN=208 BK=64 STAGES=5 LOW=16 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 7422.8},
    {"sgemm_normwise:nn:8192x8192x8192", "BM=128 BN=208 BK=64 STAGES=5 LOW=0 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 5776.7},
    {"sgemm_normwise:nn:4095x4097x4093", "BM=128 BN=176 BK=128 STAGES=5 LOW=8 VC=1 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 965.2},
    {"sgemm_normwise:nn:4095x4097x4093", "BM=128 BN=200 BK=128 STAGES=5 LOW=8 VC=1 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 1037.4},
    {"sgemm_normwise:nn:4095x4097x4093", "BM=192 BN=128 BK=128 STAGES=5 LOW=8 VC=1 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 1021.0},
    {"sgemm_normwise:nn:4095x4097x4093", "BM=192 BN=128 BK=64 STAGES=5 LOW=16 VC=1 GROUP=8 SPLIT_K=1 SMS=132",
     0, 0, 0, 0, 1065.5},
};

static void format(char text[CONFIG_TEXT_MAX], const struct measured_row *row, const struct problem *p)
{
    (void)p;
    snprintf(text, CONFIG_TEXT_MAX, "f16x3 %s", row->tile);
}

TEST(measured_times_are_predicted_within_25_per_cent)
{
    assert_predicted_within(1.25, measured, sizeof measured / sizeof *measured, format);
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
