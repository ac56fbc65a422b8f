/* engine.h — the interface between the two halves of the drop-in. The stub is preloaded: it intercepts
 * cuBLAS, depends only on the C library, and knows neither GPU nor winners. The engine knows these, and
 * contains the libraries that it uses. The stub opens it, with local symbols, at the first call that it may
 * answer.
 */
#ifndef GT_ENGINE_H
#define GT_ENGINE_H

#include "blas_request.h"
#include "loading.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The arguments of a call of cublasLtMatmul. */
struct matmul {
    const struct real_lt *real;
    lt_handle handle;
    lt_desc desc;
    const void *alpha, *a, *b, *beta, *c;
    void *d;
    lt_layout layout_a, layout_b, layout_c, layout_d;
    const void *algorithm;
    void *workspace;
    size_t workspace_bytes;
    CUstream stream;
};

/* One call, from its arrival until the real function has returned. */
struct intercept {
    bool outer; /* set by the stub: the real function runs inside of this call */
    CUstream stream;
    struct sample *sample;
    void **thread; /* set by the stub: what the engine keeps for this thread; NULL at first */
};

/* What the program's products have come to so far. */
struct answers {
    uint64_t products, answered;
    double gain; /* cuBLAS's time of the answered ones over theirs, by their races; 0: not known */
};

/* Why no tuned kernel can answer a call, whatever its sizes. */
struct refusal {
    const char *function, *why;
    atomic_flag said;
};

/* Stub and engine must have been built with equal values. */
struct engine_terms {
    char version[32];
    size_t engine_bytes, request_bytes, matmul_bytes, intercept_bytes, refusal_bytes, answers_bytes,
        real_blas_bytes, real_lt_bytes;
};

struct engine {
    struct engine_terms terms;
    /* True: the call is done, *result is the status for the program. False: the real function must be called.
     * In either case `end` must be called afterwards if intercept->sample is set. */
    bool (*take)(const struct blas_request *request, struct intercept *intercept, int *result);
    bool (*take_matmul)(const struct matmul *matmul, struct intercept *intercept, int *result);
    void (*end)(struct intercept *intercept);
    /* Counts and times it in the capture, and logs it once, if these are on. request: only its handle and
     * stream are looked at; NULL: it is not timed. */
    void (*refuse)(struct refusal *refusal, const struct blas_request *request, struct intercept *intercept);
    /* For the products in CUDA graphs: what graph_counts.h says. */
    void (*graph_gone)(CUgraph graph);
    void (*graph_made)(CUgraphExec executable, CUgraph graph);
    void (*graph_launched)(CUgraphExec executable);
    /* Any number of threads may ask, at any time. */
    void (*count)(struct answers *answers);
    /* Called once, before the others. */
    void (*use)(const struct loading *loading);
    /* Called in every forked child. The stub has a handler from the program's start; one of the engine's
     * would not be called in a fork that began before it was opened. */
    void (*in_child)(void);
};

#define ENGINE_TERMS                                                                                         \
    {                                                                                                        \
        .version = GT_LIBRARY_VERSION, .engine_bytes = sizeof(struct engine),                                \
        .request_bytes = sizeof(struct blas_request), .matmul_bytes = sizeof(struct matmul),                 \
        .intercept_bytes = sizeof(struct intercept), .refusal_bytes = sizeof(struct refusal),                \
        .answers_bytes = sizeof(struct answers), .real_blas_bytes = sizeof(struct real_blas),                \
        .real_lt_bytes = sizeof(struct real_lt),                                                             \
    }

static inline bool engine_terms_equal(const struct engine_terms *x, const struct engine_terms *y)
{
    return memcmp(x, y, sizeof *x) == 0;
}

/* Exported by the engine. NULL: it was built with other terms. */
const struct engine *gemmtune_cublas_engine(const struct engine_terms *terms);

#endif
