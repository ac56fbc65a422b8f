#include "engine.h"
#include "dropin.h"
#include "graph_counts.h"
#include "lt_matmul.h"

const struct engine *gemmtune_cublas_engine(const struct engine_terms *terms)
{
    static const struct engine engine = {.terms = ENGINE_TERMS,
                                         .take = dropin_take,
                                         .take_matmul = lt_matmul_take,
                                         .end = dropin_end,
                                         .refuse = dropin_refuse,
                                         .graph_gone = graph_counts_gone,
                                         .graph_made = graph_counts_made,
                                         .graph_launched = graph_counts_launched,
                                         .use = loading_use,
                                         .in_child = dropin_in_child};
    return engine_terms_equal(terms, &engine.terms) ? &engine : NULL;
}
