/* The model of the streaming family for 16-bit operands against what was measured on an H100 (2026-11-25),
 * and against what no kernel can beat. */
#include "model_checks.h"

/* Of each problem the fastest, the fastest that does not begin early, and two of the others. */
static const struct row {
    const char *problem, *config;
    double measured_us;
} measured[] = {
    {"bf16gemm:nt:8x2048x2048",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=16 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=1 ASK=16 PAD=76",
     4.00},
    {"bf16gemm:nt:8x2048x2048",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=16 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=0 ASK=0 PAD=0",
     5.53},
    {"bf16gemm:nt:8x2048x2048",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=4 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=8 SPLIT_K=8 "
     "PDL=1 ASK=16 PAD=0",
     5.29},
    {"bf16gemm:nt:8x2048x2048",
     "SIDE=0 FEW=8 TX=8 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=4 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=4 SPLIT_K=4 "
     "PDL=1 ASK=16 PAD=0",
     5.61},
    {"bf16gemm:nt:8x2048x5632",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=16 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=1 ASK=16 PAD=76",
     9.06},
    {"bf16gemm:nt:8x2048x5632",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=16 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=0 ASK=0 PAD=0",
     11.15},
    {"bf16gemm:nt:8x2048x5632",
     "SIDE=0 FEW=8 TX=4 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=2 MIN_BLOCKS=1 REDUCE=2 SPLIT_K=2 "
     "PDL=1 ASK=16 PAD=0",
     10.79},
    {"bf16gemm:nt:8x5632x2048",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=4 SPAN=4 DEPTH=1 MIN_BLOCKS=2 REDUCE=1 SPLIT_K=1 "
     "PDL=1 ASK=16 PAD=0",
     10.96},
    {"bf16gemm:nt:8x4096x4096",
     "SIDE=0 FEW=8 TX=4 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=2 SPLIT_K=2 "
     "PDL=1 ASK=16 PAD=76",
     11.12},
    {"bf16gemm:nt:8x4096x4096",
     "SIDE=0 FEW=8 TX=4 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=2 SPLIT_K=2 "
     "PDL=0 ASK=0 PAD=0",
     14.14},
    {"bf16gemm:nt:8x4096x4096",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=2 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=0 ASK=0 PAD=0",
     14.65},
    {"bf16gemm:nt:8x4096x4096",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=4 SPAN=4 DEPTH=1 MIN_BLOCKS=2 REDUCE=1 SPLIT_K=3 "
     "PDL=1 ASK=16 PAD=0",
     16.25},
    {"bf16gemm:nt:16x2048x2048",
     "SIDE=0 FEW=16 TX=4 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=4 DEPTH=1 MIN_BLOCKS=1 REDUCE=2 SPLIT_K=2 "
     "PDL=1 ASK=16 PAD=0",
     5.68},
    {"bf16gemm:nt:1x4096x4096",
     "SIDE=0 FEW=8 TX=4 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=16 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=1 ASK=16 PAD=0",
     11.19},
    {"bf16gemm:nt:1x4096x4096",
     "SIDE=0 FEW=8 TX=1 VX=8 VS=8 VC=8 WARPS_X=2 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=1 SPLIT_K=1 "
     "PDL=0 ASK=0 PAD=0",
     13.96},
    {"bf16gemm:nt:1x4096x4096",
     "SIDE=0 FEW=8 TX=4 VX=8 VS=8 VC=8 WARPS_X=2 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=1 ASK=16 PAD=0",
     14.74},
    {"bf16gemm:nt:8x14336x4096",
     "SIDE=0 FEW=8 TX=4 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=4 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=1 SPLIT_K=1 "
     "PDL=0 ASK=0 PAD=0",
     45.38},
    {"bf16gemm:nt:8x14336x4096",
     "SIDE=0 FEW=8 TX=4 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=4 DEPTH=1 MIN_BLOCKS=1 REDUCE=1 SPLIT_K=1 "
     "PDL=0 ASK=0 PAD=0",
     49.33},
    {"bf16gemm:nt:8x14336x4096",
     "SIDE=0 FEW=8 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=4 DEPTH=1 MIN_BLOCKS=2 REDUCE=2 SPLIT_K=2 "
     "PDL=1 ASK=0 PAD=76",
     51.29},
    {"hgemm:nn:64x64x2048",
     "SIDE=1 FEW=64 TX=1 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=4 SPAN=2 DEPTH=1 MIN_BLOCKS=2 REDUCE=8 SPLIT_K=8 "
     "PDL=1 ASK=16 PAD=0",
     3.55},
    {"bf16gemm:nn:8x4096x4096",
     "SIDE=0 FEW=8 TX=8 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=2 SPLIT_K=2 "
     "PDL=2 ASK=16 PAD=76",
     11.40},
    {"bf16gemm:nn:8x4096x4096",
     "SIDE=0 FEW=8 TX=8 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=1 MIN_BLOCKS=1 REDUCE=2 SPLIT_K=2 "
     "PDL=0 ASK=0 PAD=0",
     14.28},
};
enum { MEASURED = sizeof measured / sizeof *measured };

static double predicted_row_us(const struct row *row)
{
    const struct problem p = problem_of(row->problem);
    struct gpu gpu;
    struct config config;
    char text[CONFIG_TEXT_MAX];
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", "h100_sxm", &gpu));
    snprintf(text, sizeof text, "gemv16 %s", row->config);
    assert_ok(config_parse(text, &config));
    const char *why = config.template->check(&config, &p, &gpu);
    if (why) fail_msg("%s: %s: %s", row->problem, text, why);
    return model_predict(&config, &p, &gpu, NULL).time_us;
}

TEST(measured_times_are_predicted_within_a_half)
{
    for (int i = 0; i < MEASURED; i++) {
        const double ratio = predicted_row_us(&measured[i]) / measured[i].measured_us;
        if (ratio < 1 / 1.5 || ratio > 1.5)
            fail_msg("%s, row %d: predicted %.2f of measured", measured[i].problem, i, ratio);
    }
}

TEST(no_candidate_is_faster_than_tensor_cores_and_memory_allow)
{
    static const char *const problems[] = {"bf16gemm:nt:8x4096x4096", "hgemm:tn:2048x64x64:batch=4",
                                           "hgemm:nn:16x4096x7168", "bf16gemm:tt:1001x33x777"};
    const struct counted counted =
        assert_none_beats_the_gpu(GT_SOURCE_DIR "/configs/spaces/gemv16.conf", "bf16", (double)INFINITY,
                                  problems, sizeof problems / sizeof *problems);
    assert_true(counted.least > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_are_predicted_within_a_half),
        cmocka_unit_test(no_candidate_is_faster_than_tensor_cores_and_memory_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
