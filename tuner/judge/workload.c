#include "workload.h"

#include "operand_layout.h"

static int64_t round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
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

/* Behind what has a place, with a guard band of its own. */
static int64_t reserve_words(struct workload_layout *l, int64_t words)
{
    const int64_t at = l->set_words;
    l->set_words += round_up(words, LINE) + WORKLOAD_GUARD;
    return at;
}

static int64_t reserve(struct workload_layout *l, const struct problem *p, enum operand which)
{
    return reserve_words(l, (operand_bytes(p, which) + 3) / 4);
}

struct workload_layout workload_layout(const struct problem *problem, bool cold, int64_t l2_bytes,
                                       int64_t room_bytes)
{
    const struct problem placed = workload_placed(problem, WORKLOAD_EXACT), *p = &placed; /* the larger */
    const int64_t arrays = problem->pointers ? ARRAYS * p->batch * (int64_t)sizeof(oracle_u64) / 4 : 0;
    struct workload_layout l = {.set_words = WORKLOAD_GUARD};
    int64_t words = arrays;
    for (int i = 0; i < OPERANDS; i++) words += (operand_bytes(p, (enum operand)i) + 3) / 4;
    for (int i = OPERAND_A; i <= OPERAND_B; i++) l.at[i] = reserve(&l, p, (enum operand)i);
    for (int i = OPERAND_C + 1; i < OPERANDS; i++)
        if (operand_bytes(p, (enum operand)i) > 0) l.at[i] = reserve(&l, p, (enum operand)i);
    if (arrays > 0) l.arrays = reserve_words(&l, arrays);
    l.at[OPERAND_C] = reserve(&l, p, OPERAND_C);

    int64_t wanted = 1, bytes = 4 * words;
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
    const int64_t *at = work->layout.at;
    const CUdeviceptr base = set_address(work, set);
    struct operands operands = {.prepared = 0};
    for (int i = 0; i < OPERANDS; i++)
        if (at[i]) operands.at[i] = base + (CUdeviceptr)(4 * at[i]);
    return operands;
}

struct operands workload_operands(const struct workload *work, int set)
{
    if (!work->problem.pointers) return places(work, set);
    const CUdeviceptr arrays = set_address(work, set) + (CUdeviceptr)(4 * work->layout.arrays),
                      bytes = sizeof(oracle_u64) * (CUdeviceptr)work->problem.batch;
    return (struct operands){.at = {arrays, arrays + bytes, arrays + 2 * bytes}};
}

int workload_set_of(const struct workload *work, const struct operands *operands)
{
    return (int)((int64_t)(operands->at[OPERAND_A] - work->slab.address) / (4 * work->layout.set_words));
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

struct matrices workload_matrices(const struct workload *work, int set, enum operand which)
{
    const struct problem placed = workload_placed(&work->problem, set);
    const struct operand_layout x = operand_layout(&placed, which);
    const struct operands operands = places(work, set);
    CUdeviceptr at = operands.at[which];
    if (!at && which == OPERAND_SOURCE) at = operands.at[OPERAND_C];
    return matrices_at(at, x.element, at ? x.rows : 0, x.cols, x.ld, x.batch, x.stride);
}

struct matrices workload_a(const struct workload *work, int set)
{
    return workload_matrices(work, set, OPERAND_A);
}

struct matrices workload_b(const struct workload *work, int set)
{
    return workload_matrices(work, set, OPERAND_B);
}

struct matrices workload_c(const struct workload *work, int set)
{
    return workload_matrices(work, set, OPERAND_C);
}

void workload_list(const struct workload *work, int set, struct matrices at[OPERANDS])
{
    for (int i = 0; i < OPERANDS; i++) at[i] = workload_matrices(work, set, (enum operand)i);
}

struct matrices workload_read_only(const struct workload *work, int set)
{
    const struct workload_layout *l = &work->layout;
    int64_t begin = l->arrays;
    for (int i = OPERANDS - 1; i > OPERAND_C; i--)
        if (l->at[i]) begin = l->at[i];
    const int64_t words = begin ? l->at[OPERAND_C] - WORKLOAD_GUARD - begin : 0;
    return matrices_at(set_address(work, set) + (CUdeviceptr)(4 * begin), ELEMENT_F32, 1, words, words, 1, 0);
}

bool workload_feeds_back(const struct workload *work)
{
    return work->problem.beta != 0 && !work->layout.at[OPERAND_SOURCE];
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

static enum status fill(const struct workload *work, int set, enum operand which)
{
    const struct fill_rule *rules = set == WORKLOAD_EXACT ? work->exact.rule : work->random.rule;
    return oracle_fill(work->kernels, distinct(workload_matrices(work, set, which)), rules[which]);
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
    enum status st = oracle_fill_thinned(work->kernels, a, work->exact.rule[OPERAND_A], of_a);
    return st ? st : oracle_fill_thinned(work->kernels, b, work->exact.rule[OPERAND_B], of_b);
}

static enum status fill_random_operands(const struct workload *work, int set)
{
    enum status st = fill(work, set, OPERAND_A);
    return st ? st : fill(work, set, OPERAND_B);
}

/* C starts as poison with the values written over it, so that every set is a copy of the first. Out of place
 * with beta = 0 C must not be read: it stays NaN. */
static enum status fill_set(const struct workload *work, int set)
{
    double alpha, beta;
    workload_scalars(work, set, &alpha, &beta);
    enum status st =
        device_check(cuda.MemsetD32Async(set_address(work, set), POISON_NAN, (size_t)work->layout.set_words,
                                         work->kernels->device->stream),
                     "clearing the operands");
    if (!st) st = set == WORKLOAD_EXACT ? fill_exact_operands(work) : fill_random_operands(work, set);
    const bool reads_c = beta != 0 || !work->layout.at[OPERAND_SOURCE];
    for (int i = OPERAND_C + 1; i < OPERANDS && !st; i++)
        if (i != OPERAND_SOURCE || reads_c) st = fill(work, set, (enum operand)i);
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
    enum status st = OK;
    for (int i = 0; i < ARRAYS && !st; i++) {
        const struct addresses_args args = {.to = (oracle_u64 *)(uintptr_t)arrays.at[i],
                                            .of = workload_matrices(work, set, (enum operand)i),
                                            .step = order.step,
                                            .first = order.first};
        st = oracle_addresses(work->kernels, &args);
    }
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
    int64_t words = work->layout.set_words - work->layout.at[OPERAND_C] + WORKLOAD_GUARD;
    CUdeviceptr start = places(work, set).at[OPERAND_C] - 4 * WORKLOAD_GUARD;
    enum status st = device_check(cuda.MemsetD32Async(start, workload_poison_word(work, poison),
                                                      (size_t)words, work->kernels->device->stream),
                                  "poisoning C");
    if (st || beta == 0 || work->layout.at[OPERAND_SOURCE]) return st;
    return fill(work, set, OPERAND_C);
}
