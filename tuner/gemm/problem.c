#include "operand_layout.h"
#include "problem_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

int64_t problem_rows_a(const struct problem *p)
{
    return p->trans_a ? p->k : p->m;
}
int64_t problem_cols_a(const struct problem *p)
{
    return p->trans_a ? p->m : p->k;
}
int64_t problem_rows_b(const struct problem *p)
{
    return p->trans_b ? p->n : p->k;
}
int64_t problem_cols_b(const struct problem *p)
{
    return p->trans_b ? p->k : p->n;
}

/* At least 1, so that a leading dimension is never 0. */
static int64_t row_length(int64_t cols)
{
    return cols > 0 ? cols : 1;
}

int64_t problem_count_a(const struct problem *p)
{
    return p->stride_a ? p->batch : 1;
}

int64_t problem_count_b(const struct problem *p)
{
    return p->stride_b ? p->batch : 1;
}

static int64_t span(const struct problem *p, enum operand which)
{
    const struct operand_layout layout = operand_layout(p, which);
    return operand_span(&layout);
}

int64_t problem_span_a(const struct problem *p)
{
    return span(p, OPERAND_A);
}

int64_t problem_span_b(const struct problem *p)
{
    return span(p, OPERAND_B);
}

int64_t problem_span_c(const struct problem *p)
{
    return span(p, OPERAND_C);
}

int64_t problem_bias_length(const struct problem *p)
{
    const enum epilogue_bias bias = epilogue_bias(p->epilogue);
    return bias == BIAS_COLUMN ? p->n : bias == BIAS_ROW ? p->m : 0;
}

int64_t problem_span_bias(const struct problem *p)
{
    return span(p, OPERAND_BIAS);
}

static int alignment(const struct problem *p, enum element element, int64_t cols, int64_t ld, int64_t stride)
{
    if (p->pointers) return 1;
    const int64_t all = cols | ld | (p->batch == 1 ? 0 : stride);
    int width = element_vector(element); /* a power of two */
    while (all & (width - 1)) width /= 2;
    return width;
}

int problem_align_a(const struct problem *p)
{
    return alignment(p, gemm_type_row(p->type)->a, problem_cols_a(p), p->lda, p->stride_a);
}

int problem_align_b(const struct problem *p)
{
    return alignment(p, gemm_type_row(p->type)->b, problem_cols_b(p), p->ldb, p->stride_b);
}

int problem_align_c(const struct problem *p)
{
    return alignment(p, gemm_type_row(p->type)->c, p->n, p->ldc, p->stride_c);
}

double problem_flop(const struct problem *p)
{
    return 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
}

double problem_bytes(const struct problem *p)
{
    double sum = 0;
    for (int i = 0; i < OPERANDS; i++) {
        const struct operand_layout x = operand_layout(p, (enum operand)i);
        const double items = x.stride ? (double)x.batch : 1;
        const bool moved = i == OPERAND_SOURCE ? p->beta != 0.0 : operand_is_own(p, (enum operand)i);
        if (moved) sum += items * (double)x.rows * (double)x.cols * element_bytes(x.element);
    }
    return sum;
}

/* In floating point, because the sum for the largest legal operands overflows 64 bits. */
double problem_memory_bytes(const struct problem *p)
{
    double sum = 0;
    for (int i = 0; i < OPERANDS; i++) sum += (double)operand_bytes(p, (enum operand)i);
    return sum;
}

const char *problem_op_name(const struct problem *p)
{
    static const char *const names[2][2] = {{"nn", "nt"}, {"tn", "tt"}};
    return names[p->trans_a][p->trans_b];
}

static int64_t usual_stride_a(const struct problem *p)
{
    return problem_rows_a(p) * p->lda;
}

static int64_t usual_stride_b(const struct problem *p)
{
    return problem_rows_b(p) * p->ldb;
}

static int64_t usual_stride_c(const struct problem *p)
{
    return p->m * p->ldc;
}

void problem_set_defaults(struct problem *p)
{
    if (p->lda == 0) p->lda = row_length(problem_cols_a(p));
    if (p->ldb == 0) p->ldb = row_length(problem_cols_b(p));
    if (p->ldc == 0) p->ldc = row_length(p->n);
    if (p->stride_a == STRIDE_ABSENT) p->stride_a = usual_stride_a(p);
    if (p->stride_b == STRIDE_ABSENT) p->stride_b = usual_stride_b(p);
    if (p->stride_c == STRIDE_ABSENT) p->stride_c = usual_stride_c(p);
}

struct problem problem_make(int64_t m, int64_t n, int64_t k)
{
    struct problem p = {.type = GEMM_TYPE_DEFAULT,
                        .m = m,
                        .n = n,
                        .k = k,
                        .batch = 1,
                        .alpha = 1.0,
                        .beta = 0.0,
                        STRIDES_ABSENT};
    problem_set_defaults(&p);
    return p;
}

static enum status check_operand(const struct problem *p, enum operand which)
{
    const int64_t limit = INT64_C(1) << 60; /* elements: 2^62 bytes */
    const struct operand_layout x = operand_layout(p, which);
    const char *name = operand_name(which);
    if (x.ld < row_length(x.cols))
        return fail(E_INPUT, "ld%s = %" PRId64 " is smaller than the stored row of %" PRId64 " elements",
                    name, x.ld, row_length(x.cols));
    if (x.stride < 0) return fail(E_INPUT, "stride_%s = %" PRId64 " is negative", name, x.stride);
    if (x.rows > 0 && x.ld > limit / x.rows)
        return fail(E_INPUT, "operand %s spans more than 2^60 elements", name);
    if (x.batch > 1 && x.stride > limit / x.batch)
        return fail(E_INPUT, "the batch of operand %s spans more than 2^60 elements", name);
    if (operand_span(&x) > limit) /* the end of the last item may exceed it, too */
        return fail(E_INPUT, "operand %s and its batch span more than 2^60 elements", name);
    if (which == OPERAND_C && x.batch > 1 && x.stride < x.rows * x.ld)
        return fail(E_INPUT,
                    "stride_c = %" PRId64 " makes the batch items of C overlap (at least %" PRId64 ")",
                    x.stride, x.rows * x.ld);
    return OK;
}

/* From one to before another of the list. */
static enum status check_operands(const struct problem *p, int from, int end)
{
    enum status st = OK;
    for (int i = from; i < end && !st; i++)
        if (operand_is_own(p, (enum operand)i)) st = check_operand(p, (enum operand)i);
    return st;
}

static enum status check_sizes(const struct problem *p)
{
    const int64_t dims[3] = {p->m, p->n, p->k};
    for (int i = 0; i < 3; i++)
        if (dims[i] < 0 || dims[i] > PROBLEM_DIM_MAX)
            return fail(E_INPUT, "%c = %" PRId64 " is outside 0..%d", "MNK"[i], dims[i], PROBLEM_DIM_MAX);
    if (p->batch < 1 || p->batch > PROBLEM_DIM_MAX)
        return fail(E_INPUT, "batch = %" PRId64 " is outside 1..%d", p->batch, PROBLEM_DIM_MAX);
    return OK;
}

/* An index of rows is at most 2^31, too, so their product fits. */
enum status problem_check_ld(const struct problem *p)
{
    const int64_t lds[3] = {p->lda, p->ldb, p->ldc};
    for (int i = 0; i < 3; i++)
        if (lds[i] > INT64_C(1) << 31)
            return fail(E_INPUT, "ld%c = %" PRId64 " is above the limit of 2^31", "abc"[i], lds[i]);
    return OK;
}

static enum status check_epilogue(const struct problem *p)
{
    if (!epilogue_is_known(p->epilogue)) return fail(E_INPUT, "there is no epilogue %d", p->epilogue);
    if (epilogue_bias(p->epilogue) == BIAS_NONE && p->stride_bias != 0)
        return fail(E_INPUT, "stride_bias needs an epilogue with a bias");
    return check_operands(p, OPERAND_MATRICES, OPERANDS);
}

static enum status check_pointers(const struct problem *p)
{
    if (!p->pointers) return OK;
    if (p->stride_a != usual_stride_a(p) || p->stride_b != usual_stride_b(p) ||
        p->stride_c != usual_stride_c(p))
        return fail(E_INPUT, PROBLEM_NO_STRIDES);
    if (p->epilogue) return fail(E_INPUT, "no kernel takes pointers and has an epilogue: choose one of them");
    return OK;
}

/* Only kernels that deliver an accuracy class by splitting have a form of their own (gemm_type_prepares). */
static enum status check_prepared(const struct problem *p)
{
    if (p->prepared == PREPARED_NONE) return OK;
    if (p->prepared != PREPARED_A && p->prepared != PREPARED_B)
        return fail(E_INPUT, "there is no operand %d to prepare", (int)p->prepared);
    if (!gemm_type_prepares(p->type))
        return fail(E_INPUT,
                    "kernels of type %s have nothing to prepare: an operand is prepared for sgemm_accurate "
                    "and sgemm_normwise",
                    gemm_type_row(p->type)->name);
    return p->pointers ? fail(E_INPUT, "no operand is prepared that lies where pointers say: choose one of "
                                       "them")
                       : OK;
}

/* Kernels of the other types have several orders of additions for one N and K, or sums that M decides. */
static enum status check_invariant(const struct problem *p)
{
    const struct gemm_type_row *type = gemm_type_row(p->type);
    if (!p->invariant || gemm_type_has_invariant(p->type)) return OK;
    return fail(E_INPUT,
                "kernels of type %s have no rows whose bits do not depend on M: bf16gemm and hgemm have",
                type->name);
}

bool problem_prepared_parse(const char *name, enum prepared_operand *prepared)
{
    if ((name[0] != 'a' && name[0] != 'b') || name[1]) return false;
    *prepared = name[0] == 'a' ? PREPARED_A : PREPARED_B;
    return true;
}

/* What is about all problems of a command says which of them is refused. */
static enum status take_changed(struct problem *problem, const struct problem *changed, enum status st)
{
    char text[PROBLEM_TEXT_MAX], why[300];
    if (!st) *problem = *changed;
    if (!st) return OK;
    snprintf(why, sizeof why, "%s", status_text());
    problem_format(problem, text);
    return fail(st, "%s: %s", text, why);
}

enum status problem_prepare(struct problem *problem, enum prepared_operand prepared)
{
    struct problem p = *problem;
    p.prepared = prepared;
    enum status st = check_prepared(&p);
    if (problem->prepared && problem->prepared != prepared)
        st = fail(E_INPUT, "its text prepares one operand, --prepared the other one: leave one of them out");
    return take_changed(problem, &p, st);
}

enum status problem_make_invariant(struct problem *problem)
{
    struct problem p = *problem;
    p.invariant = true;
    return take_changed(problem, &p, check_invariant(&p));
}

enum status problem_use_pointers(struct problem *p)
{
    p->pointers = true;
    p->stride_a = p->stride_b = p->stride_c = STRIDE_ABSENT;
    enum status st = check_sizes(p);
    if (!st) st = problem_check_ld(p);
    /* A negative one is left to problem_check. */
    if (!st && p->lda >= 0 && p->ldb >= 0 && p->ldc >= 0) problem_set_defaults(p);
    return st;
}

enum status problem_check(const struct problem *p)
{
    enum status st = check_sizes(p);
    if (st) return st;
    if (!isfinite((float)p->alpha) || !isfinite((float)p->beta))
        return fail(E_INPUT, "alpha and beta must be finite single-precision numbers");
    if ((st = problem_check_ld(p))) return st;
    st = check_operands(p, OPERAND_A, OPERAND_MATRICES);
    if (!st) st = check_epilogue(p);
    if (!st) st = check_pointers(p);
    if (!st) st = check_prepared(p);
    return st ? st : check_invariant(p);
}
