#include "workload.h"

static int64_t round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

static int64_t words_of(int64_t elements, enum element element)
{
    return (elements * element_bytes(element) + 3) / 4;
}

enum { ARRAYS = 3 };
enum { LINE = 64 }; /* words: 256 bytes, the alignment of an allocation */

struct problem workload_placed(const struct problem *problem, int set)
{
    struct problem p = *problem;
    if (!p.pointers) return p;
    p.pointers = false;
    int64_t *const strides[] = {&p.stride_a, &p.stride_b, &p.stride_c};
    for (int i = 0; i < 3; i++) *strides[i] = round_up(*strides[i], LINE) + (set == WORKLOAD_EXACT);
    return p;
}

struct workload_layout workload_layout(const struct problem *problem, bool cold, int64_t l2_bytes,
                                       int64_t room_bytes)
{
    const struct problem placed = workload_placed(problem, WORKLOAD_EXACT), *p = &placed; /* the larger */
    const struct gemm_type_row *row = gemm_type_row(p->type);
    int64_t a = words_of(problem_span_a(p), row->a), b = words_of(problem_span_b(p), row->b),
            c = words_of(problem_span_c(p), row->c), bias = words_of(problem_span_bias(p), row->c),
            source = epilogue_out_of_place(p->epilogue) ? c : 0,
            arrays = problem->pointers ? ARRAYS * p->batch * (int64_t)sizeof(oracle_u64) / 4 : 0;
    struct workload_layout l = {.a = WORKLOAD_GUARD};
    l.b = l.a + round_up(a, LINE) + WORKLOAD_GUARD;
    l.c = l.b + round_up(b, LINE) + WORKLOAD_GUARD;
    if (source > 0) {
        l.source = l.c;
        l.c = l.source + round_up(source, LINE) + WORKLOAD_GUARD;
    }
    if (bias > 0) {
        l.bias = l.c;
        l.c = l.bias + round_up(bias, LINE) + WORKLOAD_GUARD;
    }
    if (arrays > 0) {
        l.arrays = l.c;
        l.c = l.arrays + round_up(arrays, LINE) + WORKLOAD_GUARD;
    }
    l.set_words = l.c + round_up(c, LINE) + WORKLOAD_GUARD;

    int64_t wanted = 1, bytes = 4 * (a + b + c + source + bias + arrays);
    if (cold) wanted = bytes > 0 ? 2 * l2_bytes / bytes + (2 * l2_bytes % bytes != 0) : 2;
    if (cold && wanted < 2) wanted = 2;
    if (wanted > WORKLOAD_SETS_MAX) wanted = WORKLOAD_SETS_MAX;
    int64_t fit = room_bytes / (4 * l.set_words) - 1;
    l.sets = (int)(fit < wanted ? (fit < 0 ? 0 : fit) : wanted);
    return l;
}

enum status workload_open(const struct oracle_kernels *kernels, const struct problem *problem, bool cold,
                          uint64_t seed, int64_t room_bytes, struct workload *work)
{
    struct workload w = {.kernels = kernels,
                         .problem = *problem,
                         .random = oracle_random_test(seed),
                         .exact = oracle_exact_test(problem, seed)};
    w.layout = workload_layout(problem, cold, kernels->device->gpu.l2_bytes, room_bytes);
    if (w.layout.sets < 1)
        return fail(E_GPU, "two sets of operands need %.2f GiB on the GPU, and %.2f GiB are left for them",
                    8.0 * (double)w.layout.set_words / (1 << 30), (double)room_bytes / (1 << 30));
    enum status st = device_allocate(&w.slab, (size_t)(4 * w.layout.set_words * (w.layout.sets + 1)));
    if (!st) st = workload_fill(&w);
    if (st) device_free(&w.slab);
    else *work = w;
    return st;
}

void workload_close(struct workload *work)
{
    device_free(&work->slab);
    *work = (struct workload){0};
}

static CUdeviceptr set_address(const struct workload *work, int set)
{
    int64_t index = set == WORKLOAD_EXACT ? work->layout.sets : set;
    return work->slab.address + (CUdeviceptr)(4 * index * work->layout.set_words);
}

/* Where the matrices are. */
static struct operands places(const struct workload *work, int set)
{
    const struct workload_layout *l = &work->layout;
    CUdeviceptr base = set_address(work, set);
    return (struct operands){.a = base + (CUdeviceptr)(4 * l->a),
                             .b = base + (CUdeviceptr)(4 * l->b),
                             .c = base + (CUdeviceptr)(4 * l->c),
                             .source = l->source ? base + (CUdeviceptr)(4 * l->source) : 0,
                             .bias = l->bias ? base + (CUdeviceptr)(4 * l->bias) : 0};
}

struct operands workload_operands(const struct workload *work, int set)
{
    if (!work->problem.pointers) return places(work, set);
    const CUdeviceptr arrays = set_address(work, set) + (CUdeviceptr)(4 * work->layout.arrays),
                      bytes = sizeof(oracle_u64) * (CUdeviceptr)work->problem.batch;
    return (struct operands){.a = arrays, .b = arrays + bytes, .c = arrays + 2 * bytes};
}

static struct matrices matrices_at(CUdeviceptr at, enum element element, int64_t rows, int64_t cols,
                                   int64_t ld, int64_t batch, int64_t stride)
{
    return (struct matrices){.data = (void *)(uintptr_t)at,
                             .element = element,
                             .rows = rows,
                             .cols = cols,
                             .ld = ld,
                             .batch = batch,
                             .stride = stride};
}

struct matrices workload_a(const struct workload *work, int set)
{
    const struct problem placed = workload_placed(&work->problem, set), *p = &placed;
    return matrices_at(places(work, set).a, gemm_type_row(p->type)->a, problem_rows_a(p), problem_cols_a(p),
                       p->lda, p->batch, p->stride_a);
}

struct matrices workload_b(const struct workload *work, int set)
{
    const struct problem placed = workload_placed(&work->problem, set), *p = &placed;
    return matrices_at(places(work, set).b, gemm_type_row(p->type)->b, problem_rows_b(p), problem_cols_b(p),
                       p->ldb, p->batch, p->stride_b);
}

struct matrices workload_c(const struct workload *work, int set)
{
    const struct problem placed = workload_placed(&work->problem, set), *p = &placed;
    return matrices_at(places(work, set).c, gemm_type_row(p->type)->c, p->m, p->n, p->ldc, p->batch,
                       p->stride_c);
}

struct matrices workload_source(const struct workload *work, int set)
{
    struct matrices c = workload_c(work, set);
    const CUdeviceptr source = places(work, set).source;
    if (source) c.data = (void *)(uintptr_t)source;
    return c;
}

struct matrices workload_bias(const struct workload *work, int set)
{
    const struct problem *p = &work->problem;
    const CUdeviceptr bias = places(work, set).bias;
    const int64_t length = problem_bias_length(p);
    return matrices_at(bias, gemm_type_row(p->type)->c, bias ? 1 : 0, length, length,
                       p->stride_bias ? p->batch : 1, p->stride_bias);
}

struct matrices workload_read_only(const struct workload *work, int set)
{
    const struct workload_layout *l = &work->layout;
    const int64_t begin = l->source ? l->source : l->bias ? l->bias : l->arrays;
    const int64_t words = begin ? l->c - WORKLOAD_GUARD - begin : 0;
    return matrices_at(set_address(work, set) + (CUdeviceptr)(4 * begin), ELEMENT_F32, 1, words, words, 1, 0);
}

bool workload_feeds_back(const struct workload *work)
{
    return work->problem.beta != 0 && !work->layout.source;
}

void workload_scalars(const struct workload *work, int set, double *alpha, double *beta)
{
    bool exact = set == WORKLOAD_EXACT;
    *alpha = exact ? work->exact.alpha : work->problem.alpha;
    *beta = exact ? work->exact.beta : work->problem.beta;
}

/* The matrices to be filled: one that items share counts once. */
static struct matrices distinct(struct matrices x)
{
    if (x.stride == 0) x.batch = 1;
    return x;
}

/* An activation tells nothing from another where its argument is large, as it is after a sum over a long K.
 * So in the exact set every ninth row or column of C, whichever it has more of, is of one product, beta C and
 * the bias. */
static enum status fill_exact_operands(const struct workload *work)
{
    const struct problem *p = &work->problem;
    const bool thin = epilogue_activation(p->epilogue) != ACTIVATION_NONE, by_rows = p->m >= p->n;
    enum oracle_thinning of_a = ORACLE_KEEP_ALL, of_b = ORACLE_KEEP_ALL;
    if (thin && by_rows) of_a = p->trans_a ? ORACLE_THIN_COLUMNS : ORACLE_THIN_ROWS;
    if (thin && !by_rows) of_b = p->trans_b ? ORACLE_THIN_ROWS : ORACLE_THIN_COLUMNS;
    const struct matrices a = distinct(workload_a(work, WORKLOAD_EXACT)),
                          b = distinct(workload_b(work, WORKLOAD_EXACT));
    enum status st = oracle_fill_thinned(work->kernels, a, work->exact.a, of_a);
    return st ? st : oracle_fill_thinned(work->kernels, b, work->exact.b, of_b);
}

static enum status fill_random_operands(const struct workload *work, int set)
{
    enum status st = oracle_fill(work->kernels, distinct(workload_a(work, set)), work->random.a);
    return st ? st : oracle_fill(work->kernels, distinct(workload_b(work, set)), work->random.b);
}

/* C starts as poison with the values written over it, so that every set is a copy of the first. Out of place
 * with beta = 0 C must not be read: it stays NaN. */
static enum status fill_set(const struct workload *work, int set)
{
    const struct oracle_kernels *k = work->kernels;
    bool exact = set == WORKLOAD_EXACT;
    double alpha, beta;
    workload_scalars(work, set, &alpha, &beta);
    enum status st = device_check(cuda.MemsetD32Async(set_address(work, set), POISON_NAN,
                                                      (size_t)work->layout.set_words, k->device->stream),
                                  "clearing the operands");
    if (!st) st = exact ? fill_exact_operands(work) : fill_random_operands(work, set);
    if (!st && (beta != 0 || !work->layout.source))
        st = oracle_fill(k, workload_source(work, set), exact ? work->exact.c : work->random.c);
    if (!st) st = oracle_fill(k, workload_bias(work, set), exact ? work->exact.bias : work->random.bias);
    return st;
}

/* Item i lies at place (step i + first) mod batch. step has no divisor in common with the batch, and is no
 * small part of it, so that neighbours lie apart. */
struct order {
    int64_t step, first;
};

static struct order order_of(const struct problem *p)
{
    struct order order = {.step = p->batch - (int64_t)(0.38 * (double)p->batch), .first = p->batch / 2};
    for (;; order.step++) {
        int64_t x = p->batch, y = order.step;
        while (y) {
            const int64_t rest = x % y;
            x = y;
            y = rest;
        }
        if (x == 1) return order;
    }
}

int64_t workload_item(const struct problem *problem, int64_t place)
{
    if (!problem->pointers) return place;
    const struct order order = order_of(problem);
    int64_t item = 0;
    while ((item * order.step + order.first) % problem->batch != place) item++;
    return item;
}

static enum status fill_arrays(const struct workload *work, int set)
{
    if (!work->problem.pointers) return OK;
    const struct order order = order_of(&work->problem);
    const struct operands arrays = workload_operands(work, set);
    const CUdeviceptr to[ARRAYS] = {arrays.a, arrays.b, arrays.c};
    const struct matrices of[ARRAYS] = {workload_a(work, set), workload_b(work, set), workload_c(work, set)};
    enum status st = OK;
    for (int i = 0; i < ARRAYS && !st; i++)
        st = oracle_addresses(work->kernels, &(struct addresses_args){.to = (oracle_u64 *)(uintptr_t)to[i],
                                                                      .of = of[i],
                                                                      .step = order.step,
                                                                      .first = order.first});
    return st;
}

enum status workload_fill(const struct workload *work)
{
    enum status st = fill_set(work, WORKLOAD_EXACT);
    if (!st) st = fill_set(work, 0);
    for (int set = 1; set < work->layout.sets && !st; set++)
        st = device_check(cuda.MemcpyDtoDAsync(set_address(work, set), set_address(work, 0),
                                               (size_t)(4 * work->layout.set_words),
                                               work->kernels->device->stream),
                          "copying the operands");
    for (int set = WORKLOAD_EXACT; set < work->layout.sets && !st; set++) st = fill_arrays(work, set);
    return st;
}

int64_t workload_guard(const struct workload *work)
{
    return 4 * WORKLOAD_GUARD / element_bytes(gemm_type_row(work->problem.type)->c);
}

unsigned workload_poison_word(const struct workload *work, unsigned poison)
{
    const bool words = element_bytes(gemm_type_row(work->problem.type)->c) == 4;
    return words ? poison : (poison >> 16) * 0x10001u;
}

enum status workload_poison(const struct workload *work, int set, unsigned poison, double beta)
{
    int64_t words = work->layout.set_words - work->layout.c + WORKLOAD_GUARD;
    CUdeviceptr start = places(work, set).c - 4 * WORKLOAD_GUARD;
    enum status st = device_check(cuda.MemsetD32Async(start, workload_poison_word(work, poison),
                                                      (size_t)words, work->kernels->device->stream),
                                  "poisoning C");
    if (st || beta == 0 || work->layout.source) return st;
    return oracle_fill(work->kernels, workload_c(work, set),
                       set == WORKLOAD_EXACT ? work->exact.c : work->random.c);
}
