/* The model of the tensor-core family for 16-bit operands against what was measured on an H100
 * (docs/results/h100-tensor-16bit.csv), and against what no kernel can beat. */
#include "model_checks.h"

/* The tile and so on, who adds the parts, and us. */
static const struct row {
    const char *problem, *tile;
    int reduce, splits;
    double measured_us;
} measured[] = {
    {"hgemm:nn:64x64x64", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 1.66},
    {"hgemm:nn:64x64x512", "BM=8 BN=64 BK=64 WM=8 WN=16 SWAP=1 WARPS_K=1 STAGES=3", 8, 8, 2.40},
    {"hgemm:nn:64x64x2048", "BM=16 BN=32 BK=128 WM=16 WN=16 SWAP=0 WARPS_K=4 STAGES=3", 8, 8, 2.78},
    {"hgemm:nn:64x512x64", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 2.06},
    {"hgemm:nn:64x512x512", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=3", 4, 4, 2.87},
    {"hgemm:nn:64x512x2048", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=5", 8, 8, 4.02},
    {"hgemm:nn:64x2048x64", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 2.40},
    {"hgemm:nn:64x2048x512", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=9", 1, 1, 3.67},
    {"hgemm:nn:64x8192x64", "BM=32 BN=64 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 2.99},
    {"hgemm:nn:512x64x64", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 2.05},
    {"hgemm:nn:512x64x512", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=3", 4, 4, 2.87},
    {"hgemm:nn:512x64x2048", "BM=16 BN=64 BK=128 WM=16 WN=64 SWAP=0 WARPS_K=4 STAGES=5", 4, 4, 4.12},
    {"hgemm:nn:512x512x64", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 2.37},
    {"hgemm:nn:2048x64x64", "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 2.37},
    {"hgemm:nn:2048x64x2048", "BM=16 BN=64 BK=128 WM=16 WN=64 SWAP=0 WARPS_K=4 STAGES=5", 2, 2, 6.09},
    {"hgemm:nn:2048x64x8192", "BM=16 BN=64 BK=128 WM=16 WN=64 SWAP=0 WARPS_K=4 STAGES=5", 2, 2, 15.24},
    {"hgemm:nn:2048x512x64", "BM=32 BN=64 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 3.23},
    {"hgemm:nn:8192x64x64", "BM=32 BN=64 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=2", 1, 1, 3.08},
    {"hgemm:nn:8192x64x512", "BM=32 BN=64 BK=64 WM=16 WN=32 SWAP=0 WARPS_K=1 STAGES=5", 1, 1, 5.86},
    {"bf16gemm:nt:1x2048x2048", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=8 STAGES=7", 1, 1, 4.78},
    {"bf16gemm:nt:1x5632x2048", "BM=8 BN=48 BK=128 WM=8 WN=16 SWAP=1 WARPS_K=2 STAGES=5", 1, 1, 9.64},
    {"bf16gemm:nt:1x2048x5632", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=8 STAGES=7", 1, 1, 9.65},
    {"bf16gemm:nt:8x2048x2048", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=8 STAGES=7", 1, 1, 4.87},
    {"bf16gemm:nt:8x5632x2048", "BM=8 BN=48 BK=128 WM=8 WN=16 SWAP=1 WARPS_K=2 STAGES=5", 1, 1, 9.78},
    {"bf16gemm:nt:8x2048x5632", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=8 STAGES=7", 1, 1, 9.79},
    {"bf16gemm:nt:16x2048x2048", "BM=16 BN=16 BK=256 WM=16 WN=16 SWAP=1 WARPS_K=4 STAGES=5", 1, 1, 5.04},
    {"bf16gemm:nt:1x4096x4096", "BM=8 BN=32 BK=256 WM=8 WN=32 SWAP=1 WARPS_K=4 STAGES=5", 1, 1, 13.03},
    {"bf16gemm:nt:8x4096x4096", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=8 STAGES=7", 1, 1, 13.21},
    {"bf16gemm:nt:8x14336x4096", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=4 STAGES=3", 4, 4, 40.47},
    {"bf16gemm:nt:8x4096x14336", "BM=8 BN=32 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=4 STAGES=7", 1, 1, 40.79},
    {"bf16gemm:nt:1x14336x4096", "BM=8 BN=16 BK=256 WM=8 WN=16 SWAP=1 WARPS_K=4 STAGES=3", 4, 4, 39.81},
    {"bf16gemm:nn:256x256x256", "BM=16 BN=32 BK=64 WM=16 WN=16 SWAP=0 WARPS_K=1 STAGES=5", 1, 1, 2.68},
    {"bf16gemm:nn:32x1605632x27", "BM=64 BN=128 BK=32 WM=32 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 1, 1, 84.23},
    {"bf16gemm:nn:64x1605632x147", "BM=64 BN=128 BK=32 WM=32 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 1, 1, 256.95},
    {"bf16gemm:nn:64x559104x147", "BM=64 BN=128 BK=32 WM=32 WN=64 SWAP=0 WARPS_K=1 STAGES=3", 1, 1, 97.77},
    {"bf16gemm:nn:700x35x2048", "BM=32 BN=32 BK=128 WM=16 WN=16 SWAP=0 WARPS_K=2 STAGES=3", 8, 8, 5.66},
    {"bf16gemm:nn:4x5124x2560", "BM=8 BN=64 BK=64 WM=8 WN=16 SWAP=1 WARPS_K=1 STAGES=5", 4, 4, 12.15},
    {"bf16gemm:nn:1x4096x4096", "BM=8 BN=64 BK=128 WM=8 WN=32 SWAP=1 WARPS_K=2 STAGES=5", 2, 2, 13.04},
    {"bf16gemm:nn:8x6144x4096", "BM=8 BN=64 BK=64 WM=8 WN=16 SWAP=1 WARPS_K=1 STAGES=5", 2, 2, 18.68},
    {"bf16gemm:nn:16x4096x7168", "BM=16 BN=64 BK=128 WM=16 WN=64 SWAP=0 WARPS_K=4 STAGES=5", 2, 2, 21.46},
};
enum { MEASURED = sizeof measured / sizeof *measured };

static double predicted_row_us(const struct row *row)
{
    const struct problem p = problem_of(row->problem);
    struct gpu gpu;
    struct config config;
    char text[CONFIG_TEXT_MAX];
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", "h100_sxm", &gpu));
    snprintf(text, sizeof text, "mma16 %s PRELOAD=0 PACK=0 VA=%d VB=%d VC=%d MIN_BLOCKS=1 REDUCE=%d GROUP=8 SPLIT_K=%d",
             row->tile, problem_align_a(&p), problem_align_b(&p), problem_align_c(&p), row->reduce, row->splits);
    assert_ok(config_parse(text, &config));
    const char *why = config.template->check(&config, &p, &gpu);
    if (why) fail_msg("%s: %s: %s", row->problem, text, why);
    return model_predict(&config, &p, &gpu, NULL).time_us;
}

TEST(measured_times_are_predicted_within_45_per_cent)
{
    for (int i = 0; i < MEASURED; i++) {
        const double ratio = predicted_row_us(&measured[i]) / measured[i].measured_us;
        if (ratio < 1 / 1.45 || ratio > 1.45)
            fail_msg("%s, row %d: predicted %.2f of measured", measured[i].problem, i, ratio);
    }
}

TEST(no_candidate_is_faster_than_tensor_cores_and_memory_allow)
{
    static const char *const problems[] = {"bf16gemm:nn:4096x4096x4096", "hgemm:tt:1023x1025x1027",
                                           "bf16gemm:nt:8x4096x4096", "hgemm:tn:2048x64x64:batch=4"};
    const struct counted counted =
        assert_none_beats_the_gpu(GT_SOURCE_DIR "/configs/spaces/mma16.conf", "bf16", (double)INFINITY,
                                  problems, sizeof problems / sizeof *problems);
    assert_true(counted.least > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_are_predicted_within_45_per_cent),
        cmocka_unit_test(no_candidate_is_faster_than_tensor_cores_and_memory_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
