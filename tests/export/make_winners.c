/* make_winners.c — make_winners COUNT [PROBLEM[@CONFIG]...]: so many winners as tune export --json would
 * write them, for tests: the problems that are named, then random shapes; configurations that the rules allow
 * (from the lists in tests/exec), invented times. Always the same ones.
 */
#include "epilogue.h"
#include "exchange_json.h"
#include "stats.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGS_MAX 256

static struct config configs[CONFIGS_MAX];
static size_t config_count;

static int read_list(const char *path)
{
    char line[CONFIG_TEXT_MAX];
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    while (config_count < CONFIGS_MAX && fgets(line, sizeof line, file)) {
        line[strcspn(line, "|#\n")] = '\0';
        for (size_t end = strlen(line); end > 0 && !strchr("0123456789", line[end - 1]);) line[--end] = '\0';
        if (config_parse(line, &configs[config_count]) == OK) config_count++;
    }
    fclose(file);
    return 1;
}

static uint64_t random_state = 20261120;

static int64_t below(int64_t n)
{
    return (int64_t)stats_random_below(&random_state, (uint64_t)n);
}

/* Around a power of two, often a multiple of four. */
static int64_t size(void)
{
    const int64_t about = (int64_t)1 << (2 + below(11));
    int64_t x = about + below(about);
    return below(4) ? (x + 3) / 4 * 4 : x;
}

static struct problem make_problem(void)
{
    struct problem p = problem_make(size(), size(), size());
    if (below(4) == 0) p.m = 1 + below(16);
    if (below(8) == 0) p.n = 1 + below(16);
    p.trans_a = below(2);
    p.trans_b = below(2);
    p.batch = below(8) ? 1 : 1 + below(64);
    p.lda = problem_cols_a(&p) + (below(6) ? 0 : 1);
    p.ldb = problem_cols_b(&p);
    p.ldc = p.n;
    p.stride_a = problem_rows_a(&p) * p.lda;
    p.stride_b = problem_rows_b(&p) * p.ldb;
    if (p.batch % 5 == 0) p.stride_a = 0; /* one for all */
    if (p.batch % 7 == 0) p.stride_b = 0;
    p.stride_c = p.m * p.ldc;
    p.beta = below(6) ? 0 : 1;
    if (below(6) == 0) p.type = (enum gemm_type)below(GEMM_TYPE_COUNT);
    return p;
}

/* All codes in turn. */
static int next_epilogue(void)
{
    static int code;
    do code = (code + 1) % EPILOGUE_CODES;
    while (!epilogue_is_known(code));
    return code;
}

/* A configuration for the problem; without a template: cuBLAS. */
static struct config choose(const struct problem *p, const struct gpu *gpu)
{
    for (int tries = 0; tries < 300; tries++) {
        const struct config *config = &configs[below((int64_t)config_count)];
        if (!config->template->check(config, p, gpu)) return *config;
    }
    return (struct config){.template = NULL};
}

/* The first that is right for the problem: as plain as they come. */
static struct config choose_first(const struct problem *p, const struct gpu *gpu)
{
    for (size_t i = 0; i < config_count; i++)
        if (!configs[i].template->check(&configs[i], p, gpu)) return configs[i];
    return (struct config){.template = NULL};
}

int main(int argc, char **argv)
{
    struct gpu gpu;
    const long count = argc >= 2 ? strtol(argv[1], NULL, 10) : 0;
    if (count < 1 || gpu_find(GT_SOURCE_DIR "/configs/gpus", "h200", &gpu) ||
        !read_list(GT_SOURCE_DIR "/tests/exec/lists/simt.list") ||
        !read_list(GT_SOURCE_DIR "/tests/exec/lists/skinny.list") ||
        !read_list(GT_SOURCE_DIR "/tests/exec/lists/resident.list")) {
        fprintf(stderr, "make_winners COUNT [PROBLEM[@CONFIG]...]: %s\n", status_text());
        return 2;
    }
    for (long i = 0; i < count; i++) {
        struct db_winner w = {
            .base.problem = make_problem(), .gpu = gpu, .base.cold = true, .base.exact = true, .rounds = 12};
        const bool named = i + 2 < argc;
        char *config = named ? strchr(argv[i + 2], '@') : NULL;
        if (config) *config++ = '\0';
        if ((named && problem_parse(argv[i + 2], &w.base.problem)) ||
            (config && config_parse(config, &w.config))) {
            fprintf(stderr, "make_winners: %s\n", status_text());
            return 2;
        }
        if (!named && i % 6 == 5) w.base.problem.epilogue = next_epilogue();
        if (named && !config) w.config = choose_first(&w.base.problem, &gpu);
        else if (!named && i % 7 != 6) w.config = choose(&w.base.problem, &gpu);
        w.base.time_us = problem_flop(&w.base.problem) / 5e7 + 2;
        w.base.ratio = named ? 1.25 : 0.95 + 0.001 * (double)below(400);
        w.base.ratio_low = w.base.ratio - 0.01;
        w.base.ratio_high = w.base.ratio + 0.01;
        w.base.anchor_us = w.base.time_us * w.base.ratio;
        if (named && gemm_type_has_limits(w.base.problem.type)) /* what a class demands */
            w.errors = w.rival_errors = (struct db_errors){true, 1e-7, 1e-7, 1e-7};
        snprintf(w.driver, sizeof w.driver, "580.95.05");
        snprintf(w.base.when, sizeof w.base.when, "2026-11-20T12:00:%02ldZ", i % 60);
        json_t *json = winner_to_json(&w, false);
        if (!json || json_dumpf(json, stdout, 0)) return 1;
        putchar('\n');
        json_decref(json);
    }
    return 0;
}
