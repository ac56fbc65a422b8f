/* export_store.h — winners of several GPUs in a database, for the tests of what is exported. */
#ifndef GT_EXPORT_STORE_H
#define GT_EXPORT_STORE_H

#include "store.h"

#define ALIGNED                                                                                              \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=4 VB=4 VC=4 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=2"
#define UNALIGNED                                                                                            \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=1"

/* A winner to be stored, and the number of the run that has found it. */
struct stored {
    int run;
    const char *problem;
    double time_us;
    enum { MEASURED, MEASURED_CUBLAS, PREDICTED } how;
};

struct stored_run {
    int64_t id;
    bool cold;
};

static inline void add_winner(struct db *db, const struct stored_run *run, const struct stored *stored)
{
    const bool cublas = stored->how == MEASURED_CUBLAS, predicted = stored->how == PREDICTED;
    struct db_winner w = {.base.cold = run->cold,
                          .base.predicted = predicted,
                          .base.exact = true,
                          .base.time_us = stored->time_us};
    assert_ok(problem_parse(stored->problem, &w.base.problem));
    const bool aligned = problem_align_a(&w.base.problem) == 4 && problem_align_b(&w.base.problem) == 4;
    if (!cublas) {
        const char *const text = aligned ? ALIGNED : UNALIGNED;
        assert_ok(config_parse(text, &w.config));
    }
    if (!predicted) {
        w.base.ratio = 1.1, w.base.ratio_low = 1.05, w.base.ratio_high = 1.15,
        w.base.anchor_us = stored->time_us * 1.1, w.rounds = 9;
        snprintf(w.rival, sizeof w.rival, "%s", cublas ? "another" : "cublasSgemm");
        w.errors = (struct db_errors){true, 1.25e-7, 3e-8, 1.0 / 3};
        w.rival_errors = (struct db_errors){true, 0, 1e-30, 2};
    }
    assert_ok(db_set_winner(db, run->id, &w, &w.config, cublas ? 0 : 1, NULL, 0));
}

static inline void add_winners(struct db *db, const struct stored_run *runs, const struct stored *stored,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) add_winner(db, &runs[stored[i].run], &stored[i]);
}

static inline struct stored_run run_on(struct db *db, const char *gpu, int sm_count, bool cold,
                                       const char *driver)
{
    struct db_context context = store_context();
    snprintf(context.gpu.name, sizeof context.gpu.name, "%s", gpu);
    context.gpu.sm_count = sm_count;
    context.cold = cold;
    snprintf(context.driver, sizeof context.driver, "%s", driver);
    return (struct stored_run){store_run(db, &context), cold};
}

#endif
