/* model16_checks.h — what the tests of the models of 16-bit families have in common: rows that were measured
 * on an H100, and what no kernel can beat.
 */
#ifndef GT_MODEL16_CHECKS_H
#define GT_MODEL16_CHECKS_H

#include "model_checks.h"

/* A configuration that was measured: the tile and so on, MIN_BLOCKS, REDUCE, GROUP, SPLIT_K, us. */
struct measured_row {
    const char *problem, *tile;
    int blocks, reduce, group, splits;
    double measured_us;
};

/* format: the whole configuration of a row. Each is predicted within this factor. */
static inline void assert_predicted_within(double factor, const struct measured_row *rows, size_t count,
                                           void (*format)(char text[CONFIG_TEXT_MAX],
                                                          const struct measured_row *row,
                                                          const struct problem *problem))
{
    struct gpu gpu;
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", "h100_sxm", &gpu));
    for (size_t i = 0; i < count; i++) {
        const struct problem p = problem_of(rows[i].problem);
        struct config config;
        char text[CONFIG_TEXT_MAX];
        format(text, &rows[i], &p);
        assert_ok(config_parse(text, &config));
        const char *why = config.template->check(&config, &p, &gpu);
        if (why) fail_msg("%s: %s: %s", rows[i].problem, text, why);
        const double ratio = model_predict(&config, &p, &gpu, NULL).time_us / rows[i].measured_us;
        if (ratio < 1 / factor || ratio > factor)
            fail_msg("%s, row %zu: predicted %.2f of measured", rows[i].problem, i, ratio);
    }
}

static inline void assert_none_beats_tensor_cores(const char *file)
{
    static const char *const problems[] = {"bf16gemm:nn:4096x4096x4096", "hgemm:tt:1023x1025x1027",
                                           "bf16gemm:nt:8x4096x4096", "hgemm:tn:2048x64x64:batch=4"};
    const struct counted counted = assert_none_beats_the_gpu(file, "bf16", (double)INFINITY, problems,
                                                             sizeof problems / sizeof *problems);
    assert_true(counted.least > 50);
}

#endif
