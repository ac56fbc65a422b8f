#include "engine.h"
#include "calls.h"
#include "dropin.h"
#include "graph_counts.h"
#include "log.h"
#include "lt_matmul.h"

static bool count(const struct intercept *intercept, bool answered)
{
    struct calls *mine = dropin_on() ? calls_of(intercept) : NULL;
    if (!mine) return answered;
    calls_count(&mine->products);
    if (answered) calls_count(&mine->answered);
    return answered;
}

static bool take(const struct blas_request *request, struct intercept *intercept, int *result)
{
    return count(intercept, dropin_take(request, intercept, result));
}

static bool take_matmul(const struct matmul *matmul, struct intercept *intercept, int *result)
{
    return count(intercept, lt_matmul_take(matmul, intercept, result));
}

static void count_all(struct answers *answers)
{
    *answers = (struct answers){0};
    if (dropin_on()) log_answers(answers);
}

const struct engine *gemmtune_cublas_engine(const struct engine_terms *terms)
{
    static const struct engine engine = {.terms = ENGINE_TERMS,
                                         .take = take,
                                         .take_matmul = take_matmul,
                                         .end = dropin_end,
                                         .refuse = dropin_refuse,
                                         .graph_gone = graph_counts_gone,
                                         .graph_made = graph_counts_made,
                                         .graph_launched = graph_counts_launched,
                                         .count = count_all,
                                         .use = loading_use,
                                         .in_child = dropin_in_child};
    return engine_terms_equal(terms, &engine.terms) ? &engine : NULL;
}
