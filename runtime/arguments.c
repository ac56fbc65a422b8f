#include "arguments.h"

#include "public_problem.h"

#include <stdio.h>
#include <string.h>

/* A struct that begins with its size as the caller knows it, into ours: what the caller does not know is 0,
 * and what we do not know must be. */
enum status arguments_read(const char *name, const void *from, size_t least, void *to, size_t known)
{
    uint32_t size;
    memcpy(&size, from, sizeof size);
    if (size < least || size > STRUCT_BYTES_MAX)
        return fail(E_INPUT, "the size of struct %s is %u; sizeof(struct %s) is at least %zu", name,
                    (unsigned)size, name, least);
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)from)[i])
            return fail(E_INPUT, "struct %s has members that gemmtune " GT_LIBRARY_VERSION " does not know",
                        name);
    return OK;
}

enum status arguments_check_zero(const char *name, const void *words, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)words)[i])
            return fail(E_INPUT, "the reserved members of struct %s must be 0", name);
    return OK;
}

/* ---- problems ---- */

enum status arguments_copy_problem_slowly(const struct gt_problem *from, struct gt_problem *to)
{
    enum status st = arguments_read("gt_problem", from, PROBLEM_FIRST, to, sizeof *to);
    to->size = sizeof *to;
    return st ? st : arguments_check_zero("gt_problem", to->reserved, sizeof to->reserved);
}

static int64_t row(int64_t length)
{
    return length > 0 ? length : 1;
}

/* Every matrix has its address in the call. */
static enum status check_pointers(const struct gt_problem *from)
{
    const int64_t strides[] = {from->stride_a, from->stride_b, from->stride_c};
    if (!(from->flags & GT_POINTER_ARRAYS)) return OK;
    for (int i = 0; i < 3; i++)
        if (strides[i])
            return fail(E_INPUT, "stride_%c is %lld, but with GT_POINTER_ARRAYS there are no strides",
                        "abc"[i], (long long)strides[i]);
    if (from->bias || from->activation || from->flags & GT_OUT_OF_PLACE)
        return fail(E_INPUT, "GT_POINTER_ARRAYS has no bias, no activation and no GT_OUT_OF_PLACE");
    return OK;
}

static enum status unknown_type(int32_t type)
{
    char known[256];
    size_t used = 0;
    for (int i = 0; i < GEMM_TYPE_COUNT && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%d %s", i ? ", " : "", i,
                                 gemm_type_row((enum gemm_type)i)->name);
    return fail(E_INPUT, "type %d is unknown: there are %s", (int)type, known);
}

static enum status check_members(const struct gt_problem *from)
{
    if (!type_is_known(from->type)) return unknown_type(from->type);
    if (from->flags & ~PUBLIC_FLAGS)
        return fail(E_INPUT, "flags of the problem are 0x%x, of which this version knows 0x%x",
                    (unsigned)from->flags, (unsigned)PUBLIC_FLAGS);
    const int least = element_bytes(gemm_type_row((enum gemm_type)from->type)->a);
    if (from->alignment != 0 && from->alignment != least && from->alignment != 4 && from->alignment != 8 &&
        from->alignment != 16)
        return fail(E_INPUT, "alignment is %d; %s4, 8, 16 or 0 are possible", (int)from->alignment,
                    least == 2 ? "2, " : "");
    if ((from->trans_a | from->trans_b) & ~1)
        return fail(E_INPUT, "trans_%c is %d; 0 or 1 are possible", from->trans_a & ~1 ? 'a' : 'b',
                    (int)(from->trans_a & ~1 ? from->trans_a : from->trans_b));
    if (from->batch < 0) return fail(E_INPUT, "batch is %lld", (long long)from->batch);
    if (from->flags & GT_PREPARED_A && from->flags & GT_PREPARED_B)
        return fail(E_INPUT, "a call names one prepared operand: GT_PREPARED_A or GT_PREPARED_B");
    int epilogue;
    enum status st = public_epilogue(from, &epilogue);
    return st ? st : check_pointers(from);
}

/* Column-major C = op(A) op(B) of M x N is row-major C^T = op(B)^T op(A)^T of N x M, and what is stored by
 * columns is stored transposed by rows: operands and sizes change places, ops stay with their operand. */
static struct gt_problem by_rows(struct gt_problem p)
{
    const struct gt_problem x = p;
    if (!(x.flags & GT_COLUMN_MAJOR)) return p;
    p.m = x.n;
    p.n = x.m;
    p.trans_a = x.trans_b;
    p.trans_b = x.trans_a;
    p.lda = x.ldb;
    p.ldb = x.lda;
    p.stride_a = x.stride_b;
    p.stride_b = x.stride_a;
    if (x.flags & (GT_PREPARED_A | GT_PREPARED_B)) p.flags ^= GT_PREPARED_A | GT_PREPARED_B;
    if (x.bias != GT_BIAS_NONE) p.bias = x.bias == GT_BIAS_COLUMN ? GT_BIAS_ROW : GT_BIAS_COLUMN;
    return p;
}

/* Ours from the caller's, with defaults filled in, checked. */
enum status arguments_problem(const struct gt_problem *asked, struct problem *p)
{
    enum status st = check_members(asked);
    if (st) return st;
    const struct gt_problem rows = by_rows(*asked), *from = &rows;
    *p = (struct problem){.type = (enum gemm_type)from->type,
                          .trans_a = from->trans_a,
                          .trans_b = from->trans_b,
                          .m = from->batch ? from->m : 0,
                          .n = from->n,
                          .k = from->k,
                          .lda = from->lda,
                          .ldb = from->ldb,
                          .ldc = from->ldc,
                          .batch = from->batch ? from->batch : 1,
                          .stride_a = from->stride_a,
                          .stride_b = from->stride_b,
                          .stride_c = from->stride_c,
                          .alpha = 1,
                          .beta = from->flags & GT_ADDS_TO_C ? 1 : 0,
                          .stride_bias = from->batch > 1 ? from->stride_bias : 0,
                          .prepared = from->flags & GT_PREPARED_A   ? PREPARED_A
                                      : from->flags & GT_PREPARED_B ? PREPARED_B
                                                                    : PREPARED_NONE,
                          .invariant = from->flags & GT_BATCH_INVARIANT};
    st = public_epilogue(from, &p->epilogue);
    if (st) return st;
    if (p->lda == 0) p->lda = row(problem_cols_a(p));
    if (p->ldb == 0) p->ldb = row(problem_cols_b(p));
    if (p->ldc == 0) p->ldc = row(p->n);
    if (from->flags & GT_POINTER_ARRAYS) {
        st = problem_use_pointers(p);
        return st ? st : problem_check(p);
    }
    if (p->batch == 1) p->stride_a = p->stride_b = p->stride_c = 0;
    st = problem_check(p);
    if (st || p->batch > 1) return st;
    p->stride_a = problem_rows_a(p) * p->lda; /* the text form's default */
    p->stride_b = problem_rows_b(p) * p->ldb;
    p->stride_c = p->m * p->ldc;
    return OK;
}

/* ---- calls ---- */

/* A call of another size, or with something set that we must look at. */
enum status arguments_read_call(const struct gt_call *from, struct gt_call *to)
{
    enum status st = arguments_read("gt_call", from, CALL_FIRST, to, sizeof *to);
    if (st) return st;
    if (to->flags & ~(uint32_t)GT_AS_PLANNED)
        return fail(E_INPUT, "flags of the call are 0x%x, of which this version knows 0x1",
                    (unsigned)to->flags);
    return arguments_check_zero("gt_call", to->reserved, sizeof to->reserved);
}
