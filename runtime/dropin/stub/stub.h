/* stub.h — the preloaded half of the drop-in: opens the engine when a call may need it, and distinguishes the
 * program's own calls from those inside cuBLAS.
 *
 *     struct intercept intercept;
 *     int result;
 *     if (!stub_enter(&intercept) || !stub_take(&request, &intercept, &result))
 *         result = <the real function>(...);
 *     stub_leave(&intercept);
 *     return result;
 */
#ifndef GT_STUB_H
#define GT_STUB_H

#include "engine.h"
#include "stack_room.h"

/* A call of the program is being answered in this thread; calls that arrive meanwhile come from the real
 * library. The stub is loaded at program start, so this thread-local variable may use the static TLS block
 * (initial-exec). */
extern __thread bool stub_inside __attribute__((tls_model("initial-exec")));

/* The engine's: thread-local variables of a library that is opened late cost it a call. */
extern __thread void *stub_thread __attribute__((tls_model("initial-exec")));

extern _Atomic(const struct engine *) stub_engine_found;
const struct engine *stub_engine_find(void);

/* Never NULL. If there is no engine, or it is switched off, one that answers nothing. */
static inline const struct engine *stub_engine(void)
{
    const struct engine *engine = atomic_load_explicit(&stub_engine_found, memory_order_acquire);
    return engine ? engine : stub_engine_find();
}

/* Of this thread. */
extern __thread struct stack_room stub_room __attribute__((tls_model("initial-exec")));

bool stub_take_apart(const struct blas_request *request, struct intercept *intercept, int *result);
bool stub_take_matmul_apart(const struct matmul *matmul, struct intercept *intercept, int *result);

/* The engine's functions of these names, on a stack that has room for them. */
static inline bool stub_take(const struct blas_request *request, struct intercept *intercept, int *result)
{
    return stack_has_room(&stub_room) ? stub_engine()->take(request, intercept, result)
                                      : stub_take_apart(request, intercept, result);
}

static inline bool stub_take_matmul(const struct matmul *matmul, struct intercept *intercept, int *result)
{
    return stack_has_room(&stub_room) ? stub_engine()->take_matmul(matmul, intercept, result)
                                      : stub_take_matmul_apart(matmul, intercept, result);
}

/* Call it at the start of a call. False: the call is not the program's own. */
static inline bool stub_enter(struct intercept *intercept)
{
    intercept->outer = stub_inside;
    intercept->sample = NULL;
    intercept->thread = &stub_thread;
    stub_inside = true;
    return !intercept->outer;
}

/* Call it when the real function has returned, or need not be called. */
static inline void stub_leave(struct intercept *intercept)
{
    stub_inside = intercept->outer;
    if (intercept->sample) stub_engine()->end(intercept);
}

/* Exported, for programs that ask what was answered so far, such as Python's gemmtune.report: products that a
 * tuned kernel might have answered, those that one has, and cuBLAS's time of these over theirs by their races
 * (0: unknown). Returns 0 where the engine was not opened: no such call has come, or all go to cuBLAS. */
int gemmtune_cublas_report(uint64_t *products, uint64_t *answered, double *gain);

/* No tuned kernel can answer the program's call. The engine is opened for this only if refusals are
 * logged. */
void stub_refuse(struct refusal *refusal, const struct blas_request *request, struct intercept *intercept);

#endif
