/* The model of the family for wgmma against what was measured on an H100 (2026-11-25, before PACK and WALK),
 * and against what no kernel can beat. */
#include "model_checks.h"

/* The fastest of every third problem that was tried. */
static const struct measured_row measured[] = {
    {"hgemm:nn:512x64x64", "BM=8 BN=64 BK=64 SWAP=1 CONSUMERS=1 STAGES=12", 2, 1, 1, 1, 2.43},
    {"hgemm:nn:64x2048x64", "BM=16 BN=64 BK=64 SWAP=1 CONSUMERS=1 STAGES=8", 2, 1, 1, 1, 2.67},
    {"bf16gemm:nn:256x256x256", "BM=8 BN=64 BK=128 SWAP=1 CONSUMERS=1 STAGES=6", 1, 1, 1, 1, 2.89},
    {"hgemm:nn:64x64x512", "BM=48 BN=64 BK=128 SWAP=1 CONSUMERS=1 STAGES=6", 1, 8, 1, 8, 3.11},
    {"hgemm:nn:2048x64x512", "BM=16 BN=64 BK=128 SWAP=1 CONSUMERS=1 STAGES=6", 1, 1, 1, 1, 3.59},
    {"hgemm:nn:64x2048x512", "BM=16 BN=64 BK=128 SWAP=1 CONSUMERS=1 STAGES=6", 1, 1, 1, 1, 3.69},
    {"hgemm:nn:512x2048x64", "BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4", 2, 1, 8, 1, 3.84},
    {"hgemm:nn:64x512x2048", "BM=32 BN=64 BK=128 SWAP=1 CONSUMERS=1 STAGES=4", 2, 4, 1, 4, 3.95},
    {"bf16gemm:nn:16x1760x1760", "BM=24 BN=64 BK=128 SWAP=1 CONSUMERS=1 STAGES=6", 1, 4, 1, 4, 4.94},
    {"hgemm:nn:512x2048x512", "BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=6", 1, 1, 1, 1, 5.34},
    {"hgemm:nn:2048x2048x64", "BM=256 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", 1, 1, 8, 1, 6.24},
    {"hgemm:nn:512x8192x64", "BM=256 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", 1, 1, 8, 1, 6.47},
    {"bf16gemm:nn:1024x1024x1024", "BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=8", 1, 1, 1, 1, 6.61},
    {"bf16gemm:nn:128x1760x1760", "BM=64 BN=64 BK=128 SWAP=0 CONSUMERS=1 STAGES=6", 1, 2, 8, 2, 7.01},
    {"hgemm:nn:2048x512x2048", "BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=8", 1, 1, 1, 1, 9.75},
    {"hgemm:nn:512x8192x512", "BM=256 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", 1, 1, 8, 1, 11.26},
    {"bf16gemm:nn:1x4096x4096", "BM=8 BN=64 BK=128 SWAP=1 CONSUMERS=1 STAGES=4", 2, 2, 1, 2, 13.37},
    {"hgemm:nn:8192x64x2048", "BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=8", 1, 1, 1, 1, 14.68},
    {"hgemm:nn:64x2048x8192", "BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=3", 1, 8, 8, 8, 16.03},
    {"bf16gemm:nn:8x6144x4096", "BM=8 BN=128 BK=64 SWAP=1 CONSUMERS=1 STAGES=6", 2, 2, 1, 2, 18.83},
    {"bf16gemm:nn:64x64x65536", "BM=8 BN=64 BK=64 SWAP=1 CONSUMERS=1 STAGES=12", 2, 8, 1, 8, 20.98},
    {"hgemm:nn:2048x2048x2048", "BM=128 BN=256 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", 1, 1, 8, 1, 26.53},
    {"hgemm:nn:2048x512x8192", "BM=64 BN=128 BK=128 SWAP=0 CONSUMERS=1 STAGES=4", 1, 1, 1, 1, 29.80},
    {"hgemm:nn:8192x2048x512", "BM=128 BN=256 BK=64 SWAP=0 CONSUMERS=2 STAGES=3", 1, 1, 8, 1, 37.45},
    {"hgemm:nn:64x8192x8192", "BM=96 BN=128 BK=64 SWAP=1 CONSUMERS=2 STAGES=4", 1, 2, 1, 2, 48.56},
    {"bf16gemm:nn:256x50176x1024", "BM=256 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", 1, 1, 8, 1, 56.42},
    {"bf16gemm:nn:512x11008x4096", "BM=128 BN=192 BK=64 SWAP=0 CONSUMERS=2 STAGES=5", 1, 1, 8, 1, 69.43},
    {"hgemm:nn:512x8192x8192", "BM=128 BN=256 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", 1, 1, 8, 1, 92.72},
    {"hgemm:nn:2048x8192x2048", "BM=256 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", 1, 1, 8, 1, 105.31},
    {"bf16gemm:nn:4096x2112x7168", "BM=128 BN=192 BK=64 SWAP=0 CONSUMERS=2 STAGES=5", 1, 1, 8, 1, 173.25},
    {"hgemm:nn:8192x2048x8192", "BM=128 BN=256 BK=64 SWAP=0 CONSUMERS=2 STAGES=3", 1, 1, 8, 1, 371.45},
    {"hgemm:nn:8192x8192x8192", "BM=128 BN=192 BK=64 SWAP=0 CONSUMERS=1 STAGES=5", 1, 1, 8, 1, 1525.82},
};

static void format(char text[CONFIG_TEXT_MAX], const struct measured_row *row, const struct problem *p)
{
    snprintf(text, CONFIG_TEXT_MAX,
             "wgmma %s PACK=0 VC=%d MIN_BLOCKS=%d REDUCE=%d WALK=0 GROUP=%d SPLIT_K=%d SMS=1", row->tile,
             problem_align_c(p), row->blocks, row->reduce, row->group, row->splits);
}

TEST(measured_times_are_predicted_within_45_per_cent)
{
    assert_predicted_within(1.45, measured, sizeof measured / sizeof *measured, format);
}

/* The fastest of TF32 on an H200 (2026-11-27), trials and timed side by side. */
static const struct {
    const char *problem, *tile;
    double measured_us;
} fastest_of_tf32[] = {
    {"nn:256x256x256",
     "BM=16 BN=64 BK=64 SWAP=1 CONSUMERS=1 STAGES=6 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=2 WALK=0 STORE=0 GROUP=1 "
     "SPLIT_K=2 "
     "SMS=1 PDL=2",
     2.97},
    {"nn:512x512x512",
     "BM=32 BN=64 BK=64 SWAP=1 CONSUMERS=1 STAGES=6 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=1 GROUP=1 "
     "SPLIT_K=1 "
     "SMS=1 PDL=2",
     4.77},
    {"nn:128x1760x1760",
     "BM=128 BN=64 BK=32 SWAP=1 CONSUMERS=1 STAGES=6 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=4 WALK=0 STORE=0 "
     "PRELOAD=2 "
     "GROUP=8 SPLIT_K=4 SMS=1 PDL=2",
     8.08},
    {"nt:1024x1024x1024",
     "BM=64 BN=128 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=4 "
     "GROUP=8 "
     "SPLIT_K=1 SMS=1 PDL=0",
     10.0},
    {"tt:1024x1024x1024",
     "BM=64 BN=128 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=4 "
     "GROUP=8 "
     "SPLIT_K=1 SMS=1 PDL=2",
     11.7},
    {"tn:1024x1024x1024",
     "BM=64 BN=128 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=2 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=4 "
     "GROUP=8 "
     "SPLIT_K=1 SMS=1 PDL=0",
     16.2},
    {"nt:8x4096x4096",
     "BM=8 BN=64 BK=32 SWAP=1 CONSUMERS=1 STAGES=8 PACK=0 VC=4 MIN_BLOCKS=2 REDUCE=2 WALK=0 STORE=0 GROUP=1 "
     "SPLIT_K=2 "
     "SMS=1 PDL=0",
     18.8},
    {"nn:1023x1025x1027",
     "BM=128 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=4 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=1 STORE=1 "
     "GROUP=8 "
     "SPLIT_K=1 SMS=132 PDL=0",
     22.3},
    {"nn:700x5124x2048",
     "BM=240 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=1 STORE=1 "
     "PRELOAD=2 "
     "GROUP=8 SPLIT_K=1 SMS=132 PDL=0",
     44.9},
    {"nn:2048x2048x2048",
     "BM=256 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=1 STORE=1 "
     "PRELOAD=1 "
     "GROUP=8 SPLIT_K=1 SMS=132 PDL=0",
     46.1},
    {"nt:2048x2048x2048",
     "BM=128 BN=128 BK=32 SWAP=0 CONSUMERS=2 STAGES=6 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=2 STORE=0 "
     "GROUP=8 "
     "SPLIT_K=1 SMS=132 PDL=0",
     47.2},
    {"nn:512x512x32768",
     "BM=128 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=6 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=0 "
     "GROUP=8 "
     "SPLIT_K=8 SMS=1 PDL=2",
     63.1},
    {"nn:256x50176x1024",
     "BM=256 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=1 STORE=1 "
     "PRELOAD=1 "
     "GROUP=8 SPLIT_K=1 SMS=132 PDL=0",
     86.3},
    {"nn:64x559104x147",
     "BM=64 BN=64 BK=32 SWAP=1 CONSUMERS=1 STAGES=5 PACK=1 VC=4 MIN_BLOCKS=2 REDUCE=1 WALK=0 STORE=1 GROUP=8 "
     "SPLIT_K=1 "
     "SMS=1 PDL=2",
     141.1},
    {"nt:8192x8192x512",
     "BM=96 BN=256 BK=32 SWAP=1 CONSUMERS=2 STAGES=5 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=0 "
     "GROUP=8 "
     "SPLIT_K=1 SMS=1 PDL=2",
     260.8},
    {"nn:4096x4096x4096",
     "BM=256 BN=128 BK=32 SWAP=1 CONSUMERS=2 STAGES=4 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=1 STORE=1 "
     "PRELOAD=1 "
     "GROUP=8 SPLIT_K=1 SMS=132 PDL=0",
     379.6},
    {"nt:4096x2112x7168",
     "BM=128 BN=128 BK=32 SWAP=0 CONSUMERS=2 STAGES=6 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=2 STORE=0 "
     "GROUP=8 "
     "SPLIT_K=1 SMS=132 PDL=0",
     392.0},
};

TEST(times_of_tf32_are_predicted_within_35_per_cent)
{
    for (size_t i = 0; i < sizeof fastest_of_tf32 / sizeof *fastest_of_tf32; i++) {
        char problem[64], config[CONFIG_TEXT_MAX];
        snprintf(problem, sizeof problem, "tf32gemm:%s", fastest_of_tf32[i].problem);
        snprintf(config, sizeof config, "wgmma_tf32 %s", fastest_of_tf32[i].tile);
        const double ratio = predicted_us(config, problem) / fastest_of_tf32[i].measured_us;
        if (ratio < 1 / 1.35 || ratio > 1.35) fail_msg("%s: predicted %.2f of measured", problem, ratio);
    }
}

static double nn_of(const char *problem, const char *tile, int walk, int store, int preload)
{
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text,
             "wgmma_tf32 %s BK=32 SWAP=1 CONSUMERS=2 PACK=0 VC=4 MIN_BLOCKS=1 REDUCE=1 WALK=%d STORE=%d "
             "PRELOAD=%d "
             "GROUP=8 SPLIT_K=1 SMS=%d PDL=0",
             tile, walk, store, preload, walk ? 132 : 1);
    return predicted_us(text, problem);
}

/* As they were measured side by side. */
TEST(what_makes_products_with_b_across_k_faster_is_predicted)
{
    static const char square[] = "tf32gemm:nn:2048x2048x2048", large[] = "tf32gemm:nn:4096x4096x4096",
                      wide[] = "tf32gemm:nn:512x11008x4096";
    const double ahead = nn_of(square, "BM=256 BN=128 STAGES=4", 0, 0, 1);
    assert_true(ahead < nn_of(square, "BM=128 BN=128 STAGES=6", 0, 0, 0));
    assert_true(nn_of(square, "BM=256 BN=128 STAGES=4", 0, 1, 1) < ahead);
    assert_true(nn_of(large, "BM=256 BN=128 STAGES=4", 1, 1, 1) <
                nn_of(large, "BM=256 BN=128 STAGES=4", 0, 1, 1));
    assert_true(nn_of(large, "BM=256 BN=128 STAGES=4", 1, 1, 1) <
                nn_of(large, "BM=208 BN=128 STAGES=4", 0, 0, 0));
    assert_true(nn_of(wide, "BM=176 BN=128 STAGES=5", 0, 0, 2) <=
                nn_of(wide, "BM=176 BN=128 STAGES=5", 0, 0, 0));
    assert_true(nn_of(wide, "BM=176 BN=128 STAGES=5", 0, 0, 2) <
                nn_of(wide, "BM=256 BN=128 STAGES=4", 0, 1, 1));
}

TEST(no_candidate_is_faster_than_tensor_cores_and_memory_allow)
{
    assert_none_beats_tensor_cores(GT_SOURCE_DIR "/configs/spaces/wgmma.conf");
    assert_none_beats_tf32(GT_SOURCE_DIR "/configs/spaces/wgmma_tf32.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_are_predicted_within_45_per_cent),
        cmocka_unit_test(times_of_tf32_are_predicted_within_35_per_cent),
        cmocka_unit_test(what_makes_products_with_b_across_k_faster_is_predicted),
        cmocka_unit_test(no_candidate_is_faster_than_tensor_cores_and_memory_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
