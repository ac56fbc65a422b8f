/* stub.h — the preloaded half of the drop-in: opens the engine when a call may need it, and tells the
 * program's own calls from those inside cuBLAS.
 *
 *     struct turn turn;
 *     int result;
 *     if (!stub_enter(&turn) || !stub_engine()->take(&asked, &turn, &result))
 *         result = <the real function>(...);
 *     stub_leave(&turn);
 *     return result;
 */
#ifndef GT_STUB_H
#define GT_STUB_H

#include "engine.h"

/* A call of the program is being answered in this thread: what arrives meanwhile are the real library's own
 * calls. The stub is there from the program's start, so its threads' memory has a fixed place for this. */
extern __thread bool stub_inside __attribute__((tls_model("initial-exec")));

extern _Atomic(const struct engine *) stub_engine_found;
const struct engine *stub_engine_find(void);

/* Never NULL; one that answers nothing where there is none, or it is switched off. */
static inline const struct engine *stub_engine(void)
{
    const struct engine *engine = atomic_load_explicit(&stub_engine_found, memory_order_acquire);
    return engine ? engine : stub_engine_find();
}

/* A call begins. False: it is not the program's own. */
static inline bool stub_enter(struct turn *turn)
{
    turn->outer = stub_inside;
    turn->sample = NULL;
    stub_inside = true;
    return !turn->outer;
}

/* The real function is done, or need not be called. */
static inline void stub_leave(struct turn *turn)
{
    stub_inside = turn->outer;
    if (turn->sample) stub_engine()->end(turn);
}

/* No tuned kernel can answer the call of the program. The engine is not opened for that, unless somebody
 * wants to know. */
void stub_refuse(struct refusal *refusal);

#endif
