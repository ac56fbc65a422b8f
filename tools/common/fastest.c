#include "fastest.h"

#include "answer.h"
#include "exact.h"
#include "template.h"
#include <stdio.h>
#include <string.h>

static void describe(const struct worker_info *worker, bool cold, struct db_context *context)
{
    *context = (struct db_context){.gpu = worker->gpu, .cold = cold};
    memcpy(context->gpu_uuid, worker->uuid, sizeof context->gpu_uuid);
    snprintf(context->driver, sizeof context->driver, "%s", worker->driver);
    snprintf(context->nvrtc, sizeof context->nvrtc, "%s", worker->nvrtc);
    snprintf(context->cublas, sizeof context->cublas, "%s", worker->cublas);
}

static bool keep(void *self, const struct db_winner *winner)
{
    struct fastest *found = self;
    if (winner->base.predicted || winner->unusable) return true;
    found->cublas_won |= answer_is_cublas(winner);
    if (!winner->config.template) return true;
    found->config = winner->config;
    found->how = "tuned";
    found->stale = winner->stale;
    found->checked = winner->checked;
    return false;
}

static bool is_pretuned(struct winner_store *pretuned, struct db *db, const struct problem *problem,
                        struct fastest *fastest)
{
    struct stored_winner winner;
    bool failed = false;
    if (!pretuned || exact_find(pretuned, problem, &winner, &fastest->config) || winner.base.predicted)
        return false;
    if (db && winner.config != CUBLAS_WON &&
        (db_has_failed(db, &pretuned->gpu, problem, &fastest->config, winner.base.when, &failed) || failed))
        return false;
    fastest->cublas_won |= winner.config == CUBLAS_WON || answer_is_rival(&winner.base);
    if (winner.config == CUBLAS_WON) return false;
    fastest->how = winner.system ? "system" : "pretuned";
    fastest->stale = winner.stale;
    fastest->checked = winner.claim.checked;
    return true;
}

enum { BEST_MAX = 16 };

static enum status find(struct db *db, struct winner_store *pretuned, const struct worker_info *worker,
                        bool cold, const struct problem *problem, struct fastest *fastest)
{
    struct db_context context;
    struct db_filter filter = {.gpu = worker->gpu.name, .problem = problem, .alike = true};
    *fastest = (struct fastest){.how = NULL};
    describe(worker, cold, &context);
    enum status st = db ? db_winners(db, &filter, &context, keep, fastest) : OK;
    if (st && st != E_ABSENT) return st;
    if (fastest->how || is_pretuned(pretuned, db, problem, fastest)) return OK;

    /* Rules may have changed since the trials. */
    struct db_best best[BEST_MAX];
    int count = 0, first = 0;
    st = db ? db_best(db, &context, problem, best, BEST_MAX, &count) : OK;
    while (first < count && best[first].config.template->check(&best[first].config, problem, &worker->gpu))
        first++;
    if (!st && first == count) st = fail(E_ABSENT, "nothing is known of this problem on this GPU");
    if (st) return st;
    fastest->config = best[first].config;
    fastest->how = "best so far";
    return OK;
}

enum status fastest_find(struct db *db, struct winner_store *pretuned, const struct worker_info *worker,
                         bool cold, const struct problem *problem, struct fastest *fastest)
{
    struct problem plain = *problem;
    enum status st = find(db, pretuned, worker, cold, problem, fastest);
    if (st != E_ABSENT || !problem->prepared) return st;
    plain.prepared = PREPARED_NONE;
    st = find(db, pretuned, worker, cold, &plain, fastest);
    if (!st) fastest->how = "tuned plain";
    return st;
}
