#include "lt_shortcut.h"

#include "blas_lt.h"
#include "dropin.h"
#include "lt_descriptor.h"
#include "lt_form.h"

#include <stdlib.h>

/* Of a thread, a power of two: so many that those of a program with a hundred problems rarely meet. */
enum { SHORTCUTS = 1024 };

struct shortcut {
    _Alignas(64) XXH128_hash_t hash;
    struct gt_plan *plan;
    struct executable *kernel;
    uint64_t context; /* its id */
    unsigned changes;
    bool passes; /* it goes to cuBLAS, and what follows is not set */
    bool has_bias, out_of_place;
    struct extents extents;          /* the problem's */
    _Atomic(struct record *) record; /* NULL: it is free */
    _Atomic uint64_t answers;        /* not yet added to the record's */
};

/* What a call consists of, without addresses and scalars. The descriptor's attributes follow. */
struct call_bytes {
    const struct real_lt *real;
    uint64_t handle, workspace_bytes, flags;
    struct lt_layout a, b, c, d;
    struct lt_algorithm algorithm;
    uint64_t desc[LT_DESC_WORDS];
};
enum { IN_PLACE = 1, WORKSPACE_16 = 2, WORKSPACE_256 = 4, HAS_ALGORITHM = 8, ADDS = 16 };
_Static_assert(offsetof(struct call_bytes, desc) == 4 * 8 + 5 * 64, "a key has no bytes that are nobody's");

static bool is_complete(const struct matmul *x)
{
    return x->desc && x->alpha && x->beta && x->a && x->b && x->d && x->layout_a && x->layout_b &&
           x->layout_c && x->layout_d;
}

static uint64_t flags_of(const struct matmul *x)
{
    const uintptr_t workspace = (uintptr_t)x->workspace;
    const bool adds =
        lt_desc_get(x, LT_DESC_POINTER_MODE) == BLAS_HOST_SCALARS && *(const float *)x->beta != 0;
    return (x->c == x->d ? IN_PLACE : 0) | (workspace && workspace % 16 == 0 ? WORKSPACE_16 : 0) |
           (workspace && workspace % 256 == 0 ? WORKSPACE_256 : 0) | (x->algorithm ? HAS_ALGORITHM : 0) |
           (adds ? ADDS : 0);
}

/* False: there is no shortcut for such a call. */
static bool hash_of(const struct matmul *x, XXH128_hash_t *hash)
{
    enum { ALIGNMENT = 16 };
    struct call_bytes key;
    const uintptr_t bits = (uintptr_t)x->a | (uintptr_t)x->b | (uintptr_t)x->c | (uintptr_t)x->d;
    if (!is_complete(x) || bits % ALIGNMENT) return false;
    const size_t words = lt_desc_words(x, key.desc);
    if (!words) return false;
    key.real = x->real;
    key.handle = (uintptr_t)x->handle;
    key.workspace_bytes = x->workspace_bytes;
    key.flags = flags_of(x);
    key.a = *x->layout_a;
    key.b = *x->layout_b;
    key.c = *x->layout_c;
    key.d = *x->layout_d;
    if (x->algorithm) memcpy(&key.algorithm, x->algorithm, sizeof key.algorithm);
    else memset(&key.algorithm, 0, sizeof key.algorithm);
    *hash = XXH3_128bits(&key, offsetof(struct call_bytes, desc) + words * sizeof *key.desc);
    return true;
}

static struct shortcut *slot_of(struct shortcut *table, const XXH128_hash_t *hash)
{
    return &table[hash->low64 % SHORTCUTS];
}

/* A call with other addresses may be one that goes to cuBLAS: lt_matmul.c finds out. */
static bool addresses_fit(const struct shortcut *s, const struct blas_request *request)
{
    unsigned long long at[OPERANDS];
    if (s->has_bias && (!request->bias || (uintptr_t)request->bias % BLAS_LT_KEPT_ALIGNMENT)) return false;
    if (s->out_of_place && !request->source) return false;
    blas_request_addresses(request, at);
    return !overlap_meets(&s->extents, at);
}

enum shortcut_answer lt_shortcut_take(const struct matmul *x, struct calls *mine, unsigned changes,
                                      int *result)
{
    XXH128_hash_t hash;
    unsigned long long context;
    struct shortcut *table = atomic_load_explicit(&mine->shortcuts, memory_order_relaxed);
    if (!table || !hash_of(x, &hash)) return SHORTCUT_NONE;
    struct shortcut *s = slot_of(table, &hash);
    if (!XXH128_isEqual(s->hash, hash) || s->changes != changes ||
        cuda.CtxGetId(NULL, &context) != CUDA_SUCCESS || context != s->context)
        return SHORTCUT_NONE;
    if (s->passes) return SHORTCUT_PASSES;
    const bool scalars_on_device = s->plan->traits.scalars_on_device;
    if (!scalars_on_device && *(const float *)x->alpha == 0) return SHORTCUT_NONE;
    const struct blas_request request = {.alpha = x->alpha,
                                         .a = x->a,
                                         .b = x->b,
                                         .beta = x->beta,
                                         .c = x->d,
                                         .bias = s->has_bias ? lt_desc_bias(x) : NULL,
                                         .source = s->out_of_place ? x->c : NULL,
                                         .stream = x->stream,
                                         .matmul = x,
                                         .repeated = true,
                                         .workspace = (uintptr_t)x->workspace % 16 ? NULL : x->workspace,
                                         .workspace_bytes = x->workspace_bytes};
    if (!addresses_fit(s, &request)) return SHORTCUT_NONE;
    const bool reads_c = scalars_on_device || *(const float *)x->beta != 0;
    struct record *record = atomic_load_explicit(&s->record, memory_order_relaxed);
    if (!dropin_launch(&request, record, s->plan, s->kernel, x->stream, reads_c, result))
        return SHORTCUT_NONE;
    atomic_fetch_add_explicit(&s->answers, 1, memory_order_relaxed);
    return SHORTCUT_DONE;
}

/* ---- keeping ---- */

static void flush_one(struct shortcut *s)
{
    struct record *record = atomic_load_explicit(&s->record, memory_order_relaxed);
    const uint64_t answers = record ? atomic_exchange_explicit(&s->answers, 0, memory_order_relaxed) : 0;
    if (answers) atomic_fetch_add_explicit(&record->tuned, answers, memory_order_relaxed);
}

/* NULL: no memory. */
static struct shortcut *table_of(struct calls *mine)
{
    struct shortcut *table = atomic_load_explicit(&mine->shortcuts, memory_order_relaxed);
    if (table || !(table = aligned_alloc(64, SHORTCUTS * sizeof *table))) return table;
    memset(table, 0, SHORTCUTS * sizeof *table);
    atomic_store_explicit(&mine->shortcuts, table, memory_order_release);
    return table;
}

/* The place of the call, free. NULL: there is none. */
static struct shortcut *place_for(const struct matmul *x, struct shortcut *table,
                                  const struct blas_request *request)
{
    XXH128_hash_t hash;
    if (!table || !hash_of(x, &hash)) return NULL;
    struct shortcut *s = slot_of(table, &hash);
    flush_one(s);
    s->hash = hash;
    s->changes = request->changes;
    s->context = request->context->id;
    return s;
}

void lt_shortcut_keep(const struct blas_request *request, struct record *record, struct gt_plan *plan,
                      struct executable *kernel)
{
    struct shortcut *s = place_for(request->matmul, table_of(request->calls), request);
    if (!s) return;
    s->passes = false;
    s->plan = plan;
    s->kernel = kernel;
    s->has_bias = request->bias;
    s->out_of_place = request->source;
    s->extents = plan->extents;
    atomic_store_explicit(&s->record, record, memory_order_relaxed);
}

void lt_shortcut_keep_passing(const struct blas_request *request, const struct matmul *x)
{
    if (!request->context) return; /* it may be opened later */
    struct shortcut *table = atomic_load_explicit(&request->calls->shortcuts, memory_order_relaxed);
    struct shortcut *s = place_for(x, table, request);
    if (!s) return;
    s->passes = true;
    atomic_store_explicit(&s->record, NULL, memory_order_relaxed);
}

void lt_shortcut_flush(struct calls *calls, bool forget)
{
    struct shortcut *table = atomic_load_explicit(&calls->shortcuts, memory_order_acquire);
    for (int i = 0; table && i < SHORTCUTS; i++) flush_one(&table[i]);
    if (!forget) return;
    free(table);
    atomic_store_explicit(&calls->shortcuts, NULL, memory_order_relaxed);
}
