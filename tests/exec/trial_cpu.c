#include "trial_cpu.h"

#include "../reference.h"
#include "cpu_elements.h"
#include <accuracy.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes)   ((void)(begin), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) ((void)(begin), (void)(bytes))
#endif

enum { GUARD = 64, GUARD_BYTE = 0x5c }; /* elements on both sides: a multiple of 16 bytes */

/* An operand: [guard | misalignment][span][guard]. */
struct guarded {
    enum element type;
    char *block, *at; /* at: the first element */
    float *x;         /* the values of the elements when they were last written or read here */
    int64_t span;
    size_t before, bytes, after; /* bytes of the three */
};

static struct guarded operand_build(enum element type, int64_t span, int misalign)
{
    const size_t size = (size_t)element_bytes(type);
    struct guarded o = {.type = type,
                        .span = span,
                        .before = (size_t)(GUARD + misalign) * size,
                        .bytes = (size_t)span * size,
                        .after = GUARD * size};
    void *block = NULL;
    if (posix_memalign(&block, 16, o.before + o.bytes + o.after)) abort();
    memset(block, GUARD_BYTE, o.before + o.bytes + o.after);
    o.block = block;
    o.at = o.block + o.before;
    o.x = malloc((size_t)span * sizeof *o.x + 1);
    if (!o.x) abort();
    return o;
}

static void operand_free(struct guarded *o)
{
    free(o->block);
    free(o->x);
}

static void operand_read(const struct guarded *o)
{
    for (int64_t i = 0; i < o->span; i++) o->x[i] = elements_get(o->at, o->type, i);
}

/* Stores the values, and rounds them so. */
static void operand_write(const struct guarded *o)
{
    for (int64_t i = 0; i < o->span; i++) elements_put(o->at, o->type, i, o->x[i]);
    operand_read(o);
}

/* From now on, until operand_open_guards, an access to a guard band ends the process. */
static void operand_close_guards(const struct guarded *o)
{
    ASAN_POISON_MEMORY_REGION(o->block, o->before);
    ASAN_POISON_MEMORY_REGION(o->at + o->bytes, o->after);
}

static void operand_open_guards(const struct guarded *o)
{
    ASAN_UNPOISON_MEMORY_REGION(o->block, o->before);
    ASAN_UNPOISON_MEMORY_REGION(o->at + o->bytes, o->after);
}

static bool guards_intact(const struct guarded *o)
{
    for (size_t i = 0; i < o->before; i++)
        if (o->block[i] != GUARD_BYTE) return false;
    for (size_t i = 0; i < o->after; i++)
        if (o->at[o->bytes + i] != GUARD_BYTE) return false;
    return true;
}

/* xorshift64*: the same numbers on every machine. */
static uint32_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * UINT64_C(2685821657736338717) >> 32);
}

static float draw_value(enum trial_data data, uint64_t *state)
{
    uint32_t bits = draw(state);
    return data == DATA_UNIFORM ? (float)(bits >> 8) * 0x1p-23F - 1.0F : (float)((int)(bits % 9) - 4);
}

/* Fills a stored matrix of rows x cols, batch times; the gaps get `padding`. */
static void fill(const struct guarded *o, int64_t rows, int64_t cols, int64_t ld, int64_t batch,
                 int64_t stride, enum trial_data data, bool poisoned, float padding, uint64_t *state)
{
    for (int64_t i = 0; i < o->span; i++) o->x[i] = padding;
    for (int64_t z = 0; z < batch; z++)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t col = 0; col < cols; col++)
                o->x[z * stride + row * ld + col] = poisoned ? NAN : draw_value(data, state);
    operand_write(o);
}

/* The same for one item, by the judge's rule. */
static void fill_kind(const struct guarded *o, int64_t rows, int64_t cols, int64_t ld, struct fill_rule rule)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < cols; col++) {
            const uint64_t at = (uint64_t)(row * ld + col);
            o->x[at] = oracle_element(rule, at, (uint64_t)row, (uint64_t)col, (uint64_t)ld);
        }
    operand_write(o);
}

/* Multiplies one item by powers of 2. The lines of the product's operand, of op(A) or columns of op(B), have
 * exponents from `first` on within `range`, those of k from -10 to 0, of op(B) the opposite ones. */
static void grade(const struct guarded *o, int64_t rows, int64_t cols, int64_t ld, bool k_in_rows, int first,
                  int range, int sign)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < cols; col++) {
            const int64_t line = k_in_rows ? col : row, k = k_in_rows ? row : col;
            const int exponent = first + (int)(line * 37 % range) + sign * (int)(k * 7 % 11 - 10);
            o->x[row * ld + col] = ldexpf(o->x[row * ld + col], exponent);
        }
    operand_write(o);
}

/* True where C may be written. */
static bool is_element_of_c(const struct problem *p, int64_t offset)
{
    int64_t in_item = p->batch > 1 ? offset % p->stride_c : offset;
    return in_item / p->ldc < p->m && in_item % p->ldc < p->n;
}

static bool padding_intact(const struct problem *p, const struct guarded *c, const char *before, char *why)
{
    const size_t size = (size_t)element_bytes(c->type);
    for (int64_t i = 0; i < c->span; i++)
        if (!is_element_of_c(p, i) &&
            memcmp(c->at + (size_t)i * size, before + (size_t)i * size, size) != 0) {
            snprintf(why, TRIAL_TEXT_MAX, "padding of C written at element %" PRId64, i);
            return false;
        }
    return true;
}

static void say_wrong(const struct problem *p, int64_t offset, double got, double want, double bound,
                      char *why)
{
    int64_t in_item = p->batch > 1 ? offset % p->stride_c : offset;
    snprintf(why, TRIAL_TEXT_MAX,
             "wrong answer: item %" PRId64 " C[%" PRId64 ",%" PRId64 "] = %.9g, not %.9g +- %g",
             p->batch > 1 ? offset / p->stride_c : 0, in_item / p->ldc, in_item % p->ldc, got, want, bound);
}

/* Error of an element of 16 bits when it is stored, at most; those of FP32 are counted with the sum's. */
static double storing_error(const struct problem *p, double x)
{
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    return type->c == ELEMENT_F32 ? 0.0 : type->c_roundoff * fabs(x) + 0x1p-25; /* FP16's least, halved */
}

/* Of gt_cpu.h: how often a kernel has computed sums again since it was set to 0. */
extern int gt_sums_again;

/* A NaN must stay one. */
static bool is_right(float got, double right, double bound)
{
    return isnan(right) ? isnan(got) : (double)got == right || fabs((double)got - right) <= bound;
}

/* No two values are further apart after the activation than this times as far as before it. */
static double steepest(const struct problem *p)
{
    return epilogue_activation(p->epilogue) == ACTIVATION_GELU ? 1.13 : 1.0;
}

/* `old` is C before the run. */
static bool equals_reference(const struct problem *p, const struct guarded *x, const float *old, bool by_rows,
                             char *why)
{
    const struct guarded *const d = &x[OPERAND_C];
    float *want = malloc((size_t)d->span * sizeof *want + 1);
    if (!want) abort();
    memcpy(want, old, (size_t)d->span * sizeof *want);
    (by_rows ? reference_ikj : reference_ijk)(p, x[OPERAND_A].x, x[OPERAND_B].x, want);
    bool equal = true;
    for (int64_t i = 0; equal && i < d->span; i++) {
        if (!is_element_of_c(p, i)) continue;
        const int64_t item = p->batch > 1 ? i / p->stride_c : 0, in_item = i - item * p->stride_c;
        const double sum = (double)(want[i] + reference_bias(p, x[OPERAND_BIAS].x, item, in_item / p->ldc,
                                                             in_item % p->ldc));
        const double exact = reference_activated(p, sum), inexact = reference_activation_error(p, sum);
        const double right = inexact > 0 ? exact : (double)element_nearest(d->type, (float)exact);
        const double bound = inexact > 0 ? inexact + storing_error(p, exact) : 0;
        if (is_right(d->x[i], right, bound)) continue;
        say_wrong(p, i, (double)d->x[i], right, bound, why);
        equal = false;
    }
    free(want);
    return equal;
}

/* To nearest, ties away from zero, with a relative error of at most roundoff. */
static float rounded(float x, double roundoff)
{
    int exponent;
    const double fraction = frexp((double)x, &exponent); /* in [0.5, 1) */
    return (float)ldexp(round(fraction / roundoff) * roundoff, exponent);
}

/* The operand rounded as kernels of the problem's type do; must be freed. */
static float *taken(const struct problem *p, const struct guarded *o)
{
    const double roundoff = gemm_type_row(p->type)->operand_roundoff;
    float *x = malloc((size_t)o->span * sizeof *x + 1);
    if (!x) abort();
    for (int64_t i = 0; i < o->span; i++) x[i] = roundoff > 0 ? rounded(o->x[i], roundoff) : o->x[i];
    return x;
}

/* |c - ref| <= 4 u K g + u |ref| with u = 2^-24 and g = |alpha| |A| |B| + |beta| |C| + |bias|; and what an
 * activation makes of it, and storing it in 16 bits. */
static bool is_near_reference(const struct problem *p, const struct guarded *x, const float *old, char *why)
{
    const struct guarded *const c = &x[OPERAND_C];
    size_t count = (size_t)(p->m * p->n * p->batch);
    double *want = malloc(2 * count * sizeof *want + 1), *magnitude = want + count;
    if (!want) abort();
    float *const taken_a = taken(p, &x[OPERAND_A]), *const taken_b = taken(p, &x[OPERAND_B]);
    reference_double(p, taken_a, taken_b, old, want, magnitude);
    free(taken_a);
    free(taken_b);
    bool near = true;
    for (size_t i = 0; near && i < count; i++) {
        int64_t item = (int64_t)i / (p->m * p->n), row = (int64_t)i / p->n % p->m, col = (int64_t)i % p->n;
        int64_t offset = item * p->stride_c + row * p->ldc + col;
        const double bias = (double)reference_bias(p, x[OPERAND_BIAS].x, item, row, col);
        const double sum = want[i] + bias, right = reference_activated(p, sum);
        double got = (double)c->x[offset];
        const double before_it =
            0x1p-24 * (4.0 * (double)(p->k > 0 ? p->k : 1) * (magnitude[i] + fabs(bias)) + fabs(sum));
        const double bound =
            steepest(p) * before_it + reference_activation_error(p, sum) + storing_error(p, right);
        if (is_right(c->x[offset], right, bound)) continue;
        say_wrong(p, offset, got, right, bound, why);
        near = false;
    }
    free(want);
    return near;
}

/* Of C, relative as struct accuracy says. */
static struct accuracy errors_of(const struct problem *p, const float *c, const double *want,
                                 const double *magnitude)
{
    struct accuracy e = {0, 0, 0};
    double largest = 0;
    for (int64_t i = 0; i < p->m * p->n; i++) {
        const double error = fabs((double)c[i / p->n * p->ldc + i % p->n] - want[i]);
        e.componentwise = fmax(e.componentwise, isnan(error) ? (double)INFINITY : error / magnitude[i]);
        e.max = fmax(e.max, isnan(error) ? (double)INFINITY : error);
        e.rms += error * error;
        largest = fmax(largest, fabs(want[i]));
    }
    e.rms = sqrt(e.rms / (double)(p->m * p->n)) / largest;
    e.max /= largest;
    return e;
}

/* One item, alpha 1, beta 0, no epilogue. */
static bool is_accurate(const struct problem *p, const struct guarded *x, enum data_class kind, char *why)
{
    const size_t count = (size_t)(p->m * p->n), bytes = (size_t)x[OPERAND_C].span * sizeof(float);
    double *const want = malloc(2 * count * sizeof *want), *const magnitude = want + count;
    float *const in_order = malloc(bytes);
    if (!want || !in_order) abort();
    memset(in_order, 0, bytes);
    reference_double(p, x[OPERAND_A].x, x[OPERAND_B].x, in_order, want, magnitude);
    reference_ijk(p, x[OPERAND_A].x, x[OPERAND_B].x, in_order);
    const struct accuracy own = errors_of(p, x[OPERAND_C].x, want, magnitude),
                          other = errors_of(p, in_order, want, magnitude);
    const bool compared = data_class_is_compared(kind);
    const bool accurate = compared ? accuracy_answers(gemm_type_row(p->type), &own, &other)
                                   : own.componentwise <= accuracy_bound(p->k);
    if (!accurate && !compared)
        snprintf(why, TRIAL_TEXT_MAX, "wrong answer: error %.3g of |A||B|, and at most %.3g is allowed",
                 own.componentwise, accuracy_bound(p->k));
    else if (!accurate)
        snprintf(why, TRIAL_TEXT_MAX,
                 "wrong answer: errors %.3g (componentwise), %.3g (rms), %.3g (largest), not about %.3g, "
                 "%.3g, %.3g",
                 own.componentwise, own.rms, own.max, other.componentwise, other.rms, other.max);
    free(want);
    free(in_order);
    return accurate;
}

/* The problem as its operands lie in memory. With pointers the items are an odd number of elements further
 * apart than they are long, so that they begin at every alignment. */
static struct problem laid_out(const struct problem *p)
{
    struct problem lies = *p;
    if (!p->pointers) return lies;
    lies.pointers = false;
    lies.stride_a += lies.stride_a % 2 ? 4 : 5;
    lies.stride_b += lies.stride_b % 2 ? 6 : 3;
    lies.stride_c += lies.stride_c % 2 ? 2 : 7;
    return lies;
}

/* The addresses of items in an order that has no rule; must be freed. */
struct addresses {
    void **a, **b, **c;
};

static void *element_at(const struct guarded *o, int64_t i)
{
    return o->at + i * element_bytes(o->type);
}

static struct addresses addresses_build(const struct problem *lies, const struct guarded x[OPERANDS],
                                        uint64_t seed)
{
    const size_t count = (size_t)lies->batch, bytes = count * sizeof(void *);
    struct addresses at = {malloc(bytes), malloc(bytes), malloc(bytes)};
    int64_t *place = malloc(count * sizeof *place);
    uint64_t state = seed * 2 + 7;
    if (!at.a || !at.b || !at.c || !place) abort();
    for (size_t i = 0; i < count; i++) {
        const size_t other = draw(&state) % (i + 1);
        place[i] = place[other];
        place[other] = (int64_t)i;
    }
    for (size_t i = 0; i < count; i++) {
        at.a[i] = element_at(&x[OPERAND_A], place[i] * lies->stride_a);
        at.b[i] = element_at(&x[OPERAND_B], place[i] * lies->stride_b);
        at.c[i] = element_at(&x[OPERAND_C], place[i] * lies->stride_c);
    }
    free(place);
    return at;
}

static void addresses_free(struct addresses *at)
{
    free(at->a);
    free(at->b);
    free(at->c);
}

static void add_operands(struct cpu_operands *operands, const struct guarded x[OPERANDS])
{
    for (int i = 0; i < OPERANDS; i++)
        operands->region[operands->regions++] = (struct region){x[i].at, x[i].bytes};
}

static void run_on_addresses(const struct cpu_kernel *kernel, const struct trial *trial,
                             const struct problem *lies, const struct guarded x[OPERANDS])
{
    struct addresses at = addresses_build(lies, x, trial->mode.seed);
    const size_t bytes = (size_t)lies->batch * sizeof(void *);
    struct cpu_operands operands = {.a = at.a,
                                    .b = at.b,
                                    .c = at.c,
                                    .region = {{at.a, bytes}, {at.b, bytes}, {at.c, bytes}},
                                    .regions = 3};
    add_operands(&operands, x);
    cpu_kernel_run(kernel, &trial->problem, &trial->mode, &operands);
    addresses_free(&at);
}

/* Fills in the operands. What must not be read is NaN, and sometimes one value of the bias. */
static void build_operands(const struct trial *trial, const struct problem *p, struct guarded x[OPERANDS])
{
    const bool unread = p->alpha == 0.0, apart = epilogue_out_of_place(p->epilogue);
    const int64_t bias = problem_bias_length(p);
    uint64_t state = trial->mode.seed * 2 + 1;
    const struct gemm_type_row *const row = gemm_type_row(p->type);
    const enum element type[OPERANDS] = {row->a, row->b, row->c, row->c, row->c};
    const int64_t span[OPERANDS] = {problem_span_a(p), problem_span_b(p), problem_span_c(p),
                                    apart ? problem_span_c(p) : 0, problem_span_bias(p)};
    /* A bias may begin at any element. */
    for (int i = 0; i < OPERANDS; i++)
        x[i] = operand_build(type[i], span[i],
                             i == OPERAND_BIAS ? (int)(trial->mode.seed % 4) : trial->misalign);
    fill(&x[OPERAND_A], problem_rows_a(p), problem_cols_a(p), p->lda, p->batch, p->stride_a, trial->data,
         unread, NAN, &state);
    fill(&x[OPERAND_B], problem_rows_b(p), problem_cols_b(p), p->ldb, p->batch, p->stride_b, trial->data,
         unread, NAN, &state);
    if (trial->data == DATA_ACCURATE) {
        const struct random_test test = data_class_test(trial->kind, p, trial->mode.seed);
        fill_kind(&x[OPERAND_A], problem_rows_a(p), problem_cols_a(p), p->lda, test.rule[OPERAND_A]);
        fill_kind(&x[OPERAND_B], problem_rows_b(p), problem_cols_b(p), p->ldb, test.rule[OPERAND_B]);
    }
    if (trial->data == DATA_GRADED) {
        /* Products down to the least denormal number; elements, too, but for BF16, which has fewer. */
        const int least = p->type == GEMM_SGEMM_ACCURATE ? -131 : -149;
        grade(&x[OPERAND_A], problem_rows_a(p), problem_cols_a(p), p->lda, p->trans_a, least + 10, 61, 1);
        grade(&x[OPERAND_B], problem_rows_b(p), problem_cols_b(p), p->ldb, !p->trans_b, -149 - least - 10, 61,
              -1);
    }
    if (trial->data == DATA_NOT_FINITE && !unread && p->k > 0) { /* in a row and in a column of the product */
        const int64_t middle = p->k / 2, last = p->k - 1, low = p->m - 1, column = p->n - 1;
        x[OPERAND_A].x[p->trans_a ? middle * p->lda + low : low * p->lda + middle] = INFINITY;
        x[OPERAND_B].x[p->trans_b ? column * p->ldb + last : last * p->ldb + column] = NAN;
        operand_write(&x[OPERAND_A]);
        operand_write(&x[OPERAND_B]);
    }
    fill(&x[OPERAND_C], p->m, p->n, p->ldc, p->batch, p->stride_c, trial->data, apart || p->beta == 0.0,
         0x1.5p77F, &state);
    if (apart)
        fill(&x[OPERAND_SOURCE], p->m, p->n, p->ldc, p->batch, p->stride_c, trial->data, p->beta == 0.0, NAN,
             &state);
    if (span[OPERAND_BIAS] > 0) {
        fill(&x[OPERAND_BIAS], 1, bias, bias, p->stride_bias ? p->batch : 1, p->stride_bias, trial->data,
             false, NAN, &state);
        if (trial->mode.seed % 3 == 0) x[OPERAND_BIAS].x[bias / 2] = NAN;
        operand_write(&x[OPERAND_BIAS]);
    }
}

/* lies: where the operands are. */
static void run(const struct cpu_kernel *kernel, const struct trial *trial, const struct problem *lies,
                const struct guarded x[OPERANDS])
{
    if (trial->problem.pointers) {
        run_on_addresses(kernel, trial, lies, x);
        return;
    }
    struct cpu_operands operands = {.a = x[OPERAND_A].at,
                                    .b = x[OPERAND_B].at,
                                    .c = x[OPERAND_C].at,
                                    .source =
                                        epilogue_out_of_place(lies->epilogue) ? x[OPERAND_SOURCE].at : NULL,
                                    .bias = x[OPERAND_BIAS].span > 0 ? x[OPERAND_BIAS].at : NULL};
    add_operands(&operands, x);
    cpu_kernel_run(kernel, lies, &trial->mode, &operands);
}

/* Runs in the other orders, from the same C: the result must be the same bit for bit, whatever runs first. */
static bool same_in_other_orders(const struct cpu_kernel *kernel, const struct trial *trial,
                                 const struct problem *lies, char *const before[OPERANDS],
                                 const struct guarded x[OPERANDS], char *why)
{
    const size_t bytes = x[OPERAND_C].bytes;
    struct trial other = *trial;
    char *const first = malloc(bytes + 1);
    if (!first) abort();
    memcpy(first, x[OPERAND_C].at, bytes);
    bool same = true;
    for (int i = 1; i < ORDER_COUNT && same; i++) {
        memcpy(x[OPERAND_C].at, before[OPERAND_C], bytes);
        other.mode.order = (other.mode.order + 1) % ORDER_COUNT;
        run(kernel, &other, lies, x);
        same = memcmp(first, x[OPERAND_C].at, bytes) == 0;
    }
    if (!same) snprintf(why, TRIAL_TEXT_MAX, "wrong answer: other bits in another order");
    free(first);
    return same;
}

bool trial_passes(const struct cpu_kernel *kernel, const struct trial *trial, char why[TRIAL_TEXT_MAX])
{
    static const char *const names[OPERANDS] = {"A", "B", "C", "source", "bias"};
    const struct problem lies = laid_out(&trial->problem), *const p = &lies;
    const bool apart = epilogue_out_of_place(p->epilogue);
    struct guarded x[OPERANDS];
    char *before[OPERANDS];
    build_operands(trial, p, x);
    for (int i = 0; i < OPERANDS; i++) {
        if (!(before[i] = malloc(x[i].bytes + 1))) abort();
        memcpy(before[i], x[i].at, x[i].bytes);
        operand_close_guards(&x[i]);
    }
    const size_t c_bytes = (size_t)x[OPERAND_C].span * sizeof(float);
    float *const old = malloc(c_bytes + 1);
    if (!old) abort();
    memcpy(old, x[apart ? OPERAND_SOURCE : OPERAND_C].x, c_bytes);

    bool passes = true;
    gt_sums_again = 0;
    run(kernel, trial, p, x);
    if (trial->data != DATA_NOT_FINITE && gt_sums_again > 0) {
        snprintf(why, TRIAL_TEXT_MAX, "wrong answer: sums that were not finite, %d times", gt_sums_again);
        passes = false;
    }
    if (passes && trial->data == DATA_UNIFORM)
        passes = same_in_other_orders(kernel, trial, p, before, x, why);

    for (int i = 0; i < OPERANDS; i++) {
        operand_open_guards(&x[i]);
        bool kept = guards_intact(&x[i]);
        bool same = i == OPERAND_C || memcmp(before[i], x[i].at, x[i].bytes) == 0;
        if (passes && !kept) snprintf(why, TRIAL_TEXT_MAX, "guard band of %s written", names[i]);
        else if (passes && !same) snprintf(why, TRIAL_TEXT_MAX, "operand %s changed", names[i]);
        passes = passes && kept && same;
    }
    operand_read(&x[OPERAND_C]);
    passes = passes && padding_intact(p, &x[OPERAND_C], before[OPERAND_C], why);
    if (passes && trial->data == DATA_UNIFORM) passes = is_near_reference(p, x, old, why);
    else if (passes && trial->data == DATA_ACCURATE) passes = is_accurate(p, x, trial->kind, why);
    else if (passes) passes = equals_reference(p, x, old, trial->mode.seed % 2 == 0, why);
    for (int i = 0; i < OPERANDS; i++) {
        free(before[i]);
        operand_free(&x[i]);
    }
    free(old);
    return passes;
}

void trial_describe(const struct cpu_kernel *kernel, const struct trial *trial, char text[TRIAL_TEXT_MAX])
{
    static const char *const orders[ORDER_COUNT] = {"forward", "reverse", "random"};
    char config[CONFIG_TEXT_MAX], problem[PROBLEM_TEXT_MAX];
    config_format(&kernel->config, config);
    problem_format(&trial->problem, problem);
    snprintf(text, TRIAL_TEXT_MAX, "%s | %s | %s, threads in %s order, seed %" PRIu64 "%s%s", config, problem,
             trial->data == DATA_ACCURATE   ? data_class_name(trial->kind)
             : trial->data == DATA_UNIFORM  ? "uniform data"
             : trial->data == DATA_INTEGERS ? "integers"
             : trial->data == DATA_GRADED   ? "graded integers"
                                            : "integers, infinity and NaN",
             orders[trial->mode.order], trial->mode.seed,
             trial->mode.scalars_on_device ? ", alpha and beta by pointer" : "",
             trial->misalign ? ", misaligned operands" : "");
}
