/* model_checks.h — what the tests of the families' models have in common: predictions for an H200 of
 * configurations and problems by their text, the candidates of the spaces, and what was measured.
 */
#ifndef GT_MODEL_CHECKS_H
#define GT_MODEL_CHECKS_H

#include "described_gpu.h"
#include "model.h"
#include "space.h"
#include "template.h"
#include "workspace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a configuration that is legal for the problem. facts: NULL before compiling. */
static inline struct prediction predicted(const char *config_text, const char *problem_text,
                                          const struct kernel_facts *facts)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_of(problem_text);
    struct config config;
    assert_ok(config_parse(config_text, &config));
    const char *why = config.template->check(&config, &p, &gpu);
    if (why) fail_msg("%s: %s: %s", problem_text, config_text, why);
    return model_predict(&config, &p, &gpu, facts);
}

static inline double predicted_us(const char *config_text, const char *problem_text)
{
    return predicted(config_text, problem_text, NULL).time_us;
}

/* The candidates of one space file, NULL: of all; free with candidates_free. */
static inline struct candidates candidates_for(const char *file, const struct problem *p,
                                               const struct gpu *gpu)
{
    struct space *space;
    struct candidates all;
    if (file) assert_ok(space_load(file, &space));
    else assert_ok(space_load_all(GT_SOURCE_DIR "/configs/spaces", &space));
    assert_ok(space_enumerate(space, p, gpu, WORKSPACE_DEFAULT, &all));
    space_free(space);
    return all;
}

/* How many candidates the problems had. */
struct counted {
    size_t least, most;
};

/* No candidate of the file is predicted to be faster than arithmetic (at the rate of that name) and memory
 * allow on an H200, nor to take `slowest` times both. */
static inline struct counted assert_none_beats_the_gpu(const char *file, const char *rate, double slowest,
                                                       const char *const *problems, size_t problem_count)
{
    const struct gpu gpu = h200();
    struct counted counted = {SIZE_MAX, 0};
    for (size_t i = 0; i < problem_count; i++) {
        const struct problem p = problem_of(problems[i]);
        struct candidates all = candidates_for(file, &p, &gpu);
        const double arithmetic_us = problem_flop(&p) / (gpu_rate(&gpu, rate) * 1e6);
        const double memory_us = problem_bytes(&p) / (gpu.memory_gb_per_s * 1e3);
        for (size_t j = 0; j < all.count; j++) {
            const double us = model_predict(&all.config[j], &p, &gpu, NULL).time_us;
            if (!(us > arithmetic_us && us > memory_us && us < slowest * (arithmetic_us + memory_us)))
                fail_msg("%s: %g us, but arithmetic takes %g and memory %g", problems[i], us, arithmetic_us,
                         memory_us);
        }
        counted.least = all.count < counted.least ? all.count : counted.least;
        counted.most = all.count > counted.most ? all.count : counted.most;
        candidates_free(&all);
    }
    return counted;
}

/* ---- of 16-bit families ---- */

/* A configuration that was measured on an H100: the tile and so on, MIN_BLOCKS, REDUCE, GROUP, SPLIT_K, us.
 */
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

/* For rows whose tile is the whole configuration. */
static inline void format_whole(char text[CONFIG_TEXT_MAX], const struct measured_row *row,
                                const struct problem *problem)
{
    (void)problem;
    snprintf(text, CONFIG_TEXT_MAX, "%s", row->tile);
}

static inline void assert_none_beats_tensor_cores(const char *file)
{
    static const char *const problems[] = {"bf16gemm:nn:4096x4096x4096", "hgemm:tt:1023x1025x1027",
                                           "bf16gemm:nt:8x4096x4096", "hgemm:tn:2048x64x64:batch=4"};
    const struct counted counted = assert_none_beats_the_gpu(file, "bf16", (double)INFINITY, problems,
                                                             sizeof problems / sizeof *problems);
    assert_true(counted.least > 50);
}

static inline void assert_none_beats_tf32(const char *file)
{
    static const char *const problems[] = {"tf32gemm:nn:4096x4096x4096", "tf32gemm:tn:1023x1025x1027",
                                           "tf32gemm:nt:8x4096x4096", "tf32gemm:tt:2048x64x64:batch=4"};
    const struct counted counted = assert_none_beats_the_gpu(file, "tf32", (double)INFINITY, problems,
                                                             sizeof problems / sizeof *problems);
    assert_true(counted.least > 50);
}

#endif
