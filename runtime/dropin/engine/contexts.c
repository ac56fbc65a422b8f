#include "contexts.h"

#include "memo.h"
#include "watch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Atomic(struct context *) contexts_first;
_Atomic unsigned contexts_types = UINT_MAX;
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER; /* for adding contexts and using winners */

enum { RETRY_CALLS = 256 };
static atomic_int calls_to_pass; /* until a context that could not be opened is tried again */

/* Equal for problems that are as good (problem_alike). */
static uint64_t hash_of(const struct problem *p)
{
    const bool many = p->batch > 1;
    const int64_t words[] = {(int64_t)p->type * 8 + p->pointers * 4 + p->trans_a * 2 + p->trans_b,
                             (p->alpha != 0) * 2 + (p->beta != 0),
                             p->m,
                             p->n,
                             p->k,
                             p->lda,
                             p->ldb,
                             p->ldc,
                             p->batch,
                             many ? p->stride_a : 0,
                             many ? p->stride_b : 0,
                             many ? p->stride_c : 0,
                             p->epilogue,
                             many ? p->stride_bias : 0};
    return memo_hash(words, sizeof words);
}

static int by_value(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static bool add_hash(struct known *k, uint64_t hash)
{
    if (k->count == k->room) {
        const size_t room = k->room ? 2 * k->room : 64;
        uint64_t *grown = realloc(k->winners, room * sizeof *grown);
        k->listed = grown;
        if (!grown) return false;
        k->winners = grown;
        k->room = room;
    }
    k->winners[k->count++] = hash;
    return true;
}

/* Under the types for which its winner decides. */
static bool add_problem(void *self, int64_t number, const struct problem *problem)
{
    struct known *k = self;
    struct problem request = *problem;
    (void)number;
    k->epilogues |= UINT64_C(1) << problem->epilogue;
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        request.type = (enum gemm_type)type;
        if (!gemm_type_decides(problem->type, request.type)) continue;
        k->types |= GEMM_TYPE_BIT(request.type);
        if (!add_hash(k, hash_of(&request))) return false;
    }
    return true;
}

static void free_known(struct known *k)
{
    if (k) free(k->winners);
    free(k);
}

static bool same_known(const struct known *x, const struct known *y)
{
    return x && x->listed == y->listed && x->count == y->count && x->epilogues == y->epilogues &&
           x->types == y->types &&
           (!x->count || memcmp(x->winners, y->winners, x->count * sizeof *x->winners) == 0);
}

/* Lists every stored problem: more than have a winner, but none is missing. False: no memory. */
static bool list_winners(struct context *c)
{
    struct known *k = calloc(1, sizeof *k);
    if (!k) return false;
    k->listed = !c->store.held; /* else there may be more later */
    for (size_t i = 0; i < c->store.set.count && k->listed; i++)
        add_problem(k, 0, &c->store.set.winners[i].base.problem);
    if (k->listed && c->store.db && db_problems_each(c->store.db, add_problem, k)) k->listed = false;
    if (k->count) qsort(k->winners, k->count, sizeof *k->winners, by_value);
    if (!k->listed) {
        k->epilogues = UINT64_MAX;
        k->types = UINT_MAX;
    }
    k->older = atomic_load(&c->known);
    if (same_known(k->older, k)) free_known(k);
    else atomic_store_explicit(&c->known, k, memory_order_release);
    return true;
}

bool contexts_may_know(const struct context *context, const struct problem *problem)
{
    const uint64_t hash = hash_of(problem);
    const struct known *k = contexts_known(context);
    return !k->listed || (k->count && bsearch(&hash, k->winners, k->count, sizeof hash, by_value));
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
    if (!st && !list_winners(c)) {
        st = fail(E_MEMORY, "out of memory for the winners");
        winner_store_close(&c->store);
    }
    if (st) {
        notice(&notices, NOTICE_KERNEL, "calls go to cuBLAS for now: %s", status_text());
        free(c);
        return NULL;
    }
    c->id = id;
    c->handle = device.context;
    pthread_mutex_init(&c->opening, NULL);
    return c;
}

/* ---- new winners ---- */

static void (*tell)(void);

/* In the thread of the watch. */
static void renew(void *self)
{
    (void)self;
    bool all = true;
    unsigned types = 0;
    if (device_lost()) return;
    pthread_mutex_lock(&contexts_lock);
    for (struct context *c = atomic_load(&contexts_first); c; c = c->next) {
        all &= winner_store_renew(&c->store, NULL) && list_winners(c);
        types |= contexts_known(c)->types;
    }
    atomic_store(&contexts_types, types);
    pthread_mutex_unlock(&contexts_lock);
    if (all) tell();
}

void contexts_watch(void (*changed)(void))
{
    tell = changed;
    watch_start(NULL, renew, NULL);
}

bool contexts_enter(const struct context *context)
{
    unsigned long long id;
    return cuda.CtxGetId(context->handle, &id) == CUDA_SUCCESS && (uint64_t)id + 1 == context->id &&
           cuda.CtxPushCurrent(context->handle) == CUDA_SUCCESS;
}

void contexts_leave(void)
{
    CUcontext popped;
    cuda.CtxPopCurrent(&popped);
}

static struct context *add_context(uint64_t id)
{
    static int count;
    struct context *fresh = count < CONTEXTS_MAX ? open_context(id) : NULL;
    if (!fresh) {
        atomic_store_explicit(&calls_to_pass, RETRY_CALLS, memory_order_relaxed);
        return NULL;
    }
    atomic_store(&contexts_types, contexts_known(fresh)->types | (count ? atomic_load(&contexts_types) : 0));
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
