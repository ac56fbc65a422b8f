#include "contexts.h"

#include <limits.h>
#include <stdlib.h>

_Atomic(struct context *) contexts_first;
_Atomic unsigned contexts_types = UINT_MAX;
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER; /* for adding contexts and using winners */

enum { RETRY_CALLS = 256 };
static atomic_int calls_to_pass; /* until a context that could not be opened is tried again */

/* Under its type, and under those of the accuracy classes that its winner answers, too. */
static bool add_problem(void *self, int64_t number, const struct problem *problem)
{
    struct context *c = self;
    (void)number;
    c->epilogues |= UINT64_C(1) << problem->epilogue;
    struct problem asked = *problem;
    c->listed = true;
    for (int type = 0; type < GEMM_TYPE_COUNT && c->listed; type++) {
        asked.type = (enum gemm_type)type;
        const bool better = gemm_type_has_limits(asked.type) && gemm_type_answers(problem->type, asked.type);
        if (asked.type != problem->type && !better) continue;
        c->types |= GEMM_TYPE_BIT(asked.type);
        c->listed = problem_set_add(&c->winners, problem_set_hash(&asked));
    }
    return c->listed;
}

/* Lists every stored problem: more than have a winner, but none is missing. */
static void list_winners(struct context *c)
{
    c->listed = !c->store.held; /* else there may be more later */
    for (size_t i = 0; i < c->store.set.count && c->listed; i++)
        add_problem(c, 0, &c->store.set.winners[i].base.problem);
    if (c->listed && c->store.db && db_problems_each(c->store.db, add_problem, c)) c->listed = false;
    if (c->listed) return;
    problem_set_free(&c->winners);
    c->epilogues = UINT64_MAX;
    c->types = UINT_MAX;
}

static struct context *open_context(uint64_t id)
{
    static struct notices notices;
    static bool started;
    struct device device;
    struct context *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    if (!started) notices_start(&notices, false);
    started = true;
    enum status st = device_of_context(&device);
    if (!st) st = winner_store_open(&c->store, &device.gpu, NULL, NULL, &notices);
    if (st) {
        notice(&notices, NOTICE_KERNEL, "calls go to cuBLAS for now: %s", status_text());
        free(c);
        return NULL;
    }
    c->id = id;
    pthread_mutex_init(&c->opening, NULL);
    list_winners(c);
    return c;
}

static struct context *add_context(uint64_t id)
{
    static int count;
    struct context *fresh = count < CONTEXTS_MAX ? open_context(id) : NULL;
    if (!fresh) {
        atomic_store_explicit(&calls_to_pass, RETRY_CALLS, memory_order_relaxed);
        return NULL;
    }
    atomic_store(&contexts_types, fresh->types | (count ? atomic_load(&contexts_types) : 0));
    count++;
    fresh->next = atomic_load(&contexts_first);
    atomic_store_explicit(&contexts_first, fresh, memory_order_release);
    return fresh;
}

struct context *contexts_get(uint64_t id)
{
    struct context *c = contexts_find(id);
    if (c) return c;
    if (atomic_load_explicit(&calls_to_pass, memory_order_relaxed) > 0 &&
        atomic_fetch_sub_explicit(&calls_to_pass, 1, memory_order_relaxed) > 0)
        return NULL;
    pthread_mutex_lock(&contexts_lock);
    c = contexts_find(id);
    if (!c) c = add_context(id);
    pthread_mutex_unlock(&contexts_lock);
    return c;
}

static bool choose(struct context *c, const struct problem *problem, int alignment, bool nearest,
                   struct choice *choice)
{
    struct choice choices[CHOICES_MAX];
    int count;
    bool found = !lookup_exact(&c->store, problem, alignment, choices, &count) && count > 0;
    if (!found && nearest)
        found = !lookup_others(&c->store, problem, alignment, choices, &count) && count > 0 &&
                choices[0].source == CHOICE_NEAREST;
    if (found) *choice = choices[0];
    return found;
}

bool contexts_choose(struct context *context, const struct problem *problem, int alignment, bool nearest,
                     struct choice *choice, bool *held)
{
    pthread_mutex_lock(&contexts_lock);
    const bool found = choose(context, problem, alignment, nearest, choice);
    *held = context->store.held;
    pthread_mutex_unlock(&contexts_lock);
    return found;
}
