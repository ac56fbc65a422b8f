/* store.h — a database in a folder of its own, for tests: GPU, problem, configurations, outcomes. */
#ifndef GT_TEST_STORE_H
#define GT_TEST_STORE_H

#include "h200.h"
#include "least_config.h"
#include "unit.h"

#include "db.h"
#include "db_internal.h"
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char store_folder[64], store_path[128];

static inline int store_remove(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static inline int store_setup(void **state)
{
    (void)state;
    const char *base =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* in memory the many syncs cost nothing */
    snprintf(store_folder, sizeof store_folder, "%s/gemmtune-test-XXXXXX", base);
    if (!mkdtemp(store_folder)) return -1;
    snprintf(store_path, sizeof store_path, "%s/test.db", store_folder);
    char cache[128];
    snprintf(cache, sizeof cache, "%s/cache", store_folder);
    return setenv("XDG_CACHE_HOME", cache, 1);
}

static inline int store_teardown(void **state)
{
    (void)state;
    return nftw(store_folder, store_remove, 16, FTW_DEPTH | FTW_PHYS);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)

static inline struct db_context store_context(void)
{
    return (struct db_context){.gpu = {H200_LIMITS, H200_FIGURES, .rate = {{"fp32", 66.9}}, .source = "test"},
                               .gpu_uuid = "GPU-1",
                               .driver = "580.95.05",
                               .nvrtc = "13.0",
                               .cublas = "13.1.0",
                               .cold = true,
                               .power_limit_w = 700};
}

/* The number-th configuration of simt; all different. Not necessarily legal. */
static inline struct config store_config(int number)
{
    struct config config = least_config("simt");
    for (int i = config.template->param_count - 1; i >= 0 && number > 0; i--) {
        int32_t range = config.template->params[i].most - config.template->params[i].least + 1;
        config.value[i] += number % range;
        number /= range;
    }
    return config;
}

/* A configuration that passes its rules anywhere: the first rung of the ladder. */
static inline struct config store_legal_config(void)
{
    struct db_context context = store_context();
    struct problem problem = problem_make(4096, 4096, 4096);
    struct config config = {.template = template_find("ladder_coalesced")};
    for (int first = 1; first <= 1024; first *= 2)
        for (int second = 1; second <= 1024; second *= 2) {
            config.value[0] = first;
            config.value[1] = second;
            if (!config.template->check(&config, &problem, &context.gpu)) return config;
        }
    return config;
}

static inline struct outcome store_outcome(double time_us)
{
    struct outcome o = {
        .verdict = VERDICT_MEASURED,
        .facts = {.registers = 128, .static_smem_bytes = 16384, .cubin_bytes = 9000, .compile_ms = 300.25},
        .time_us = time_us,
        .sample_count = 3,
        .samples_us = {time_us, time_us * 1.25, 1.0 / 3},
        .worst_error = 0.125,
        .exact = true,
        .cold = true,
        .state = {.sm_clock_mhz = 1980,
                  .memory_clock_mhz = 3201,
                  .power_w = 612.5,
                  .temperature_c = 55,
                  .throttle_reasons = UINT64_C(0x8000000000000004)},
        .wall_ms = 12.5};
    return o;
}

/* The columns that version 2 has got since version2.db.gz was written, and since its first day: without them
 * a file is as it was then, but for new tables. */
#define DROP_NEW_COLUMNS                                                                                     \
    "ALTER TABLE decisions DROP COLUMN rival_joules; ALTER TABLE decisions DROP COLUMN joules; "             \
    "ALTER TABLE decisions DROP COLUMN objective; ALTER TABLE decisions DROP COLUMN timing; "                \
    "ALTER TABLE decision_samples DROP COLUMN throttle_reasons; "                                            \
    "ALTER TABLE decision_samples DROP COLUMN power_w; "                                                     \
    "ALTER TABLE decision_samples DROP COLUMN sm_clock_mhz; "                                                \
    "ALTER TABLE decision_samples DROP COLUMN joules; ALTER TABLE decision_samples DROP COLUMN timing"
#define DROP_GROWN_COLUMNS DROP_NEW_COLUMNS "; ALTER TABLE decisions DROP COLUMN pinned"

static inline struct db *store_open(enum db_mode mode)
{
    struct db *db = NULL;
    assert_ok(db_open(store_path, mode, &db));
    return db;
}

/* One trial, from attempt to record. */
static inline void store_trial(struct db *db, int64_t run, const struct problem *problem,
                               const struct config *config, const struct outcome *outcome)
{
    int64_t attempt;
    assert_ok(db_attempt(db, run, problem, config, &attempt));
    assert_ok(db_record(db, attempt, outcome));
}

static inline int64_t store_run(struct db *db, const struct db_context *context)
{
    int64_t run;
    assert_ok(db_run_start(db, context, "tune --shape 64x64x64", UINT64_C(0xfedcba9876543210), &run));
    return run;
}

/* A run that has begun, and the problem that most trials here are of. */
struct working {
    struct db *db;
    struct db_context context;
    int64_t run;
    struct problem problem;
};

static inline struct working store_begin(void)
{
    struct working w = {store_open(DB_WRITE), store_context(), 0, problem_make(64, 64, 64)};
    w.run = store_run(w.db, &w.context);
    return w;
}

/* A run with trials, which goes on. */
static inline int64_t store_some(struct db *db, int trials)
{
    struct db_context context = store_context();
    struct problem problem = problem_make(64, 64, 64);
    int64_t run = store_run(db, &context);
    for (int i = 0; i < trials; i++) {
        struct config config = store_config(i);
        struct outcome outcome = store_outcome(i + 1);
        store_trial(db, run, &problem, &config, &outcome);
    }
    return run;
}

/* A measured one, and what decided it. config: NULL for cuBLAS. */
static inline struct db_winner store_winner(const struct problem *problem, const struct config *config)
{
    struct db_winner w = {.base.problem = *problem,
                          .base.cold = true,
                          .base.exact = true,
                          .base.time_us = 2600,
                          .base.ratio = 1.01,
                          .base.ratio_low = 1.005,
                          .base.ratio_high = 1.015,
                          .base.anchor_us = 2626,
                          .rival = "cublasSgemm",
                          .tied = true,
                          .rounds = 10,
                          .trials = 12,
                          .legal_count = 500,
                          .model_rank = 3,
                          .model_first16_share = 0.98,
                          .registers = 40};
    if (config) w.config = *config;
    return w;
}

/* The file as it is: integrity, references, hashes, values. */
static inline void store_assert_clean(void)
{
    struct db *db = store_open(DB_READ);
    char text[2048];
    bool clean;
    assert_ok(db_check(db, text, sizeof text, &clean));
    if (!clean) fail_msg("%s", text);
    db_close(db);
}

/* The end of a test that has written. */
static inline void store_close_clean(struct db *db)
{
    db_close(db);
    store_assert_clean();
}

#endif
