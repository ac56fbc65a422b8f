/* The model of the family for FP32 as three BF16 pieces against what was measured on an H100 (2026-11-25). */
#include "model_checks.h"

/* The fastest of each problem that was tried, in two runs. */
static const struct measured_row measured[] = {
    {"sgemm_accurate:nn:4096x4096x4096",
     "BM=128 BN=112 BK=64 STAGES=7 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 1111.3},
    {"sgemm_accurate:nn:1024x1024x1024",
     "BM=128 BN=64 BK=64 STAGES=9 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 27.2},
    {"sgemm_accurate:nn:2048x2048x2048",
     "BM=128 BN=128 BK=64 STAGES=7 FUSE=0 VA=1 VB=1 VC=2 GROUP=16 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 156.4},
    {"sgemm_accurate:nn:4095x4097x4093",
     "BM=128 BN=112 BK=64 STAGES=7 FUSE=0 VA=1 VB=1 VC=1 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 1180.2},
    {"sgemm_accurate:nn:8192x8192x8192",
     "BM=192 BN=128 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 8885.4},
    {"sgemm_accurate:nn:4096x8x4096",
     "BM=128 BN=64 BK=64 STAGES=7 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 127.5},
    {"sgemm_accurate:nn:512x512x512",
     "BM=64 BN=32 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 14.6},
    {"sgemm_accurate:nn:1024x1024x1024",
     "BM=128 BN=64 BK=64 STAGES=9 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 49.5},
    {"sgemm_accurate:nn:2048x2048x2048",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 235.0},
    {"sgemm_accurate:nn:4096x4096x4096",
     "BM=192 BN=112 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=16 SPLIT_K=2 SMS=132", 0, 0, 0, 0, 1316.0},
    {"sgemm_accurate:nn:384x14161x1152",
     "BM=192 BN=112 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=1 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 269.6},
    {"sgemm_accurate:nn:256x43264x1152",
     "BM=128 BN=112 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 389.3},
    {"sgemm_accurate:nn:256x50176x1024",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 355.0},
    {"sgemm_accurate:nn:128x1760x1760",
     "BM=128 BN=80 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=6 SMS=132", 0, 0, 0, 0, 24.2},
    {"sgemm_accurate:nn:7000x2048x2048",
     "BM=128 BN=176 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=16 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 550.2},
    {"sgemm_accurate:nn:1500x3072x1024",
     "BM=192 BN=96 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 111.7},
    {"sgemm_accurate:nn:700x5124x2048",
     "BM=192 BN=80 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 216.3},
    {"sgemm_accurate:nn:16x4096x7168",
     "BM=64 BN=112 BK=64 STAGES=9 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=6 SMS=132", 0, 0, 0, 0, 92.2},
    {"sgemm_accurate:nn:32x28672x4096",
     "BM=64 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=3 SMS=132", 0, 0, 0, 0, 352.8},
    {"sgemm_accurate:nn:128x4096x14336",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=4 SMS=132", 0, 0, 0, 0, 218.8},
    {"sgemm_accurate:nn:512x11008x4096",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=3 SMS=132", 0, 0, 0, 0, 640.4},
    {"sgemm_accurate:nn:4096x2112x7168",
     "BM=128 BN=176 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 1215.6},
    {"sgemm_accurate:nn:64x64x65536",
     "BM=64 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=64 SMS=132", 0, 0, 0, 0, 70.0},
    {"sgemm_accurate:nn:128x128x262144",
     "BM=64 BN=128 BK=64 STAGES=9 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=64 SMS=132", 0, 0, 0, 0, 200.3},
    {"sgemm_accurate:nn:512x512x32768",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=8 SMS=132", 0, 0, 0, 0, 252.8},
    {"sgemm_accurate:nt:2048x2048x2048",
     "BM=192 BN=96 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=16 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 204.1},
    {"sgemm_accurate:tn:2048x2048x2048",
     "BM=192 BN=96 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=2 GROUP=16 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 203.9},
    {"sgemm_accurate:tt:2047x2049x2051",
     "BM=192 BN=96 BK=64 STAGES=5 FUSE=0 VA=1 VB=1 VC=1 GROUP=16 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 243.0},
    {"sgemm_accurate:nn:512x512x512:batch=16",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 69.5},
    {"sgemm_accurate:nn:2048x2048x2048:beta=1",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=16 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 204.8},
    /* FUSE 2 and 3: 2026-11-27. */
    {"sgemm_accurate:nn:1024x1024x1024",
     "BM=128 BN=64 BK=64 STAGES=9 FUSE=3 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 24.4},
    {"sgemm_accurate:nn:1024x1024x1024",
     "BM=64 BN=128 BK=64 STAGES=9 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 32.7},
    {"sgemm_accurate:nn:2048x2048x2048",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=3 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0,
     151.5},
    {"sgemm_accurate:nn:4096x4096x4096",
     "BM=128 BN=112 BK=64 STAGES=9 FUSE=2 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0,
     1190.5},
    {"sgemm_accurate:nn:4096x4096x4096",
     "BM=128 BN=112 BK=64 STAGES=6 FUSE=3 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0,
     1292.1},
    {"sgemm_accurate:nt:512x4096x4096",
     "BM=128 BN=128 BK=64 STAGES=8 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0,
     156.6},
    {"sgemm_accurate:nt:512x4096x4096",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=3 SWAP=1 VA=1 VB=1 VC=1 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0,
     150.1},
    {"sgemm_accurate:nt:256x4096x11008",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=3 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=2 SMS=132", 0, 0, 0, 0,
     194.0},
    {"sgemm_accurate:nn:512x768x3072",
     "BM=128 BN=48 BK=64 STAGES=9 FUSE=3 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=2 SMS=132", 0, 0, 0, 0, 32.4},
    {"sgemm_accurate:nn:512x768x3072",
     "BM=48 BN=128 BK=64 STAGES=9 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=8 SPLIT_K=2 SMS=132", 0, 0, 0, 0, 48.4},
    /* What test_prepared_gpu measured (2026-11-26). */
    {"sgemm_accurate:nt:4096x4096x4096:prepared=b",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 1094.9},
    {"sgemm_accurate:nt:512x4096x4096:prepared=b",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 144.9},
    {"sgemm_accurate:nn:256x11008x4096:prepared=b",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 258.4},
    {"sgemm_accurate:nn:1024x1024x1024:prepared=a",
     "BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132", 0, 0, 0, 0, 42.0},
};

static void format(char text[CONFIG_TEXT_MAX], const struct measured_row *row, const struct problem *p)
{
    (void)p;
    snprintf(text, CONFIG_TEXT_MAX, "bf16x6 %s", row->tile);
}

TEST(measured_times_are_predicted_within_60_per_cent)
{
    assert_predicted_within(1.6, measured, sizeof measured / sizeof *measured, format);
}

TEST(many_rows_and_columns_are_split_before_they_are_multiplied_and_few_meanwhile)
{
    static const char
        before[] = "bf16x6 BM=128 BN=112 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
        meanwhile[] = "bf16x6 BM=128 BN=112 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132";
    static const char many[] = "sgemm_accurate:nn:4096x4096x4096", few[] = "sgemm_accurate:nn:128x43264x1152";
    assert_true(predicted_us(before, many) < predicted_us(meanwhile, many));
    assert_true(predicted_us(before, few) > predicted_us(meanwhile, few));
}

/* As measured: up to 2048x2048x2048 both are split in the block; of a large weight and few rows, at least the
 * weight. */
TEST(what_the_block_splits_costs_less_than_pieces_in_memory)
{
    static const char
        none[] = "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
        half[] = "bf16x6 BM=128 BN=128 BK=64 STAGES=8 FUSE=2 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132",
        weight[] = "bf16x6 BM=128 BN=128 BK=64 STAGES=8 FUSE=2 SWAP=1 VA=1 VB=1 VC=1 GROUP=8 "
                   "SPLIT_K=1 SMS=132",
        whole[] = "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=3 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132";
    static const char small[] = "sgemm_accurate:nn:2048x2048x2048", few[] = "sgemm_accurate:nt:512x4096x4096",
                      large[] = "sgemm_accurate:nn:4096x4096x4096";
    assert_true(predicted_us(whole, small) < predicted_us(half, small));
    assert_true(predicted_us(half, small) < predicted_us(none, small));
    assert_true(predicted_us(whole, few) < predicted_us(weight, few));
    assert_true(predicted_us(weight, few) < predicted_us(half, few));
    assert_true(predicted_us(half, large) < predicted_us(none, large));
}

/* By as much as the split of the larger operand takes, less what its pieces are larger. */
TEST(a_prepared_weight_gains_the_more_the_fewer_rows_there_are)
{
    static const char config[] =
        "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132";
    static const char *const rows[][3] = {
        {"sgemm_accurate:nt:4096x4096x4096", "sgemm_accurate:nt:4096x4096x4096:prepared=b",
         "sgemm_accurate:nt:4096x4096x4096:prepared=a"},
        {"sgemm_accurate:nt:512x4096x4096", "sgemm_accurate:nt:512x4096x4096:prepared=b",
         "sgemm_accurate:nt:512x4096x4096:prepared=a"},
        {"sgemm_accurate:nn:256x11008x4096", "sgemm_accurate:nn:256x11008x4096:prepared=b",
         "sgemm_accurate:nn:256x11008x4096:prepared=a"}};
    double last = 1;
    for (int i = 0; i < 3; i++) {
        const double plain = predicted_us(config, rows[i][0]), b = predicted_us(config, rows[i][1]),
                     a = predicted_us(config, rows[i][2]);
        assert_true(plain / b > last && plain / b < 2.5);
        assert_true(i == 0 ? fabs(a - b) < 1e-9 * a : a > b && a < plain);
        last = plain / b;
    }
    static const char fused[] =
        "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=1 VA=4 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132";
    assert_true(predicted_us(fused, rows[1][0]) == predicted_us(fused, rows[1][1]));
    static const char half[] =
        "bf16x6 BM=128 BN=128 BK=64 STAGES=8 FUSE=2 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"; /* B is
                                                                                                  right */
    assert_true(predicted_us(half, rows[1][0]) > predicted_us(half, rows[1][1]));
    assert_true(predicted_us(half, rows[1][0]) == predicted_us(half, rows[1][2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_are_predicted_within_60_per_cent),
        cmocka_unit_test(what_the_block_splits_costs_less_than_pieces_in_memory),
        cmocka_unit_test(a_prepared_weight_gains_the_more_the_fewer_rows_there_are),
        cmocka_unit_test(many_rows_and_columns_are_split_before_they_are_multiplied_and_few_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
