/* stub.h — the preloaded half of the drop-in: opens the engine when a call may need it, and distinguishes the
 * program's own calls from those inside cuBLAS.
 *
 *     struct turn turn;
 *     int result;
 *     if (!stub_enter(&turn) || !stub_engine()->take(&request, &turn, &result))
 *         result = <the real function>(...);
 *     stub_leave(&turn);
 *     return result;
 */
#ifndef GT_STUB_H
#define GT_STUB_H

#include "engine.h"

/* A call of the program is being answered in this thread; calls that arrive meanwhile come from the real
 * library. The stub is loaded at program start, so this thread-local variable may use the static TLS block
 * (initial-exec). */
extern __thread bool stub_inside __attribute__((tls_model("initial-exec")));

extern _Atomic(const struct engine *) stub_engine_found;
const struct engine *stub_engine_find(void);

/* Never NULL. If there is no engine, or it is switched off, one that answers nothing. */
static inline const struct engine *stub_engine(void)
{
    const struct engine *engine = atomic_load_explicit(&stub_engine_found, memory_order_acquire);
    return engine ? engine : stub_engine_find();
}

/* Call it at the start of a call. False: the call is not the program's own. */
static inline bool stub_enter(struct turn *turn)
{
    turn->outer = stub_inside;
    turn->sample = NULL;
    stub_inside = true;
    return !turn->outer;
}

/* Call it when the real function has returned, or need not be called. */
static inline void stub_leave(struct turn *turn)
{
    stub_inside = turn->outer;
    if (turn->sample) stub_engine()->end(turn);
}

/* No tuned kernel can answer the program's call. The engine is opened for this only if refusals are
 * logged. */
void stub_refuse(struct refusal *refusal, const struct blas_request *request, struct turn *turn);

#endif
