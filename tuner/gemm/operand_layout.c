#include "operand_layout.h"

/* So that a leading dimension is never 0. */
static int64_t row_length(int64_t cols)
{
    return cols > 0 ? cols : 1;
}

static struct operand_layout layout_a(const struct problem *p)
{
    return (struct operand_layout){
        gemm_type_row(p->type)->a, problem_rows_a(p), problem_cols_a(p), p->lda, p->batch, p->stride_a};
}

static struct operand_layout layout_b(const struct problem *p)
{
    return (struct operand_layout){
        gemm_type_row(p->type)->b, problem_rows_b(p), problem_cols_b(p), p->ldb, p->batch, p->stride_b};
}

static struct operand_layout layout_c(const struct problem *p)
{
    return (struct operand_layout){gemm_type_row(p->type)->c, p->m, p->n, p->ldc, p->batch, p->stride_c};
}

static struct operand_layout layout_bias(const struct problem *p)
{
    const int64_t length = problem_bias_length(p);
    return (struct operand_layout){gemm_type_row(p->type)->c, 1,        length,
                                   row_length(length),        p->batch, p->stride_bias};
}

static const struct {
    const char *name, *called;
    int epilogues; /* bits of epilogues that have it; 0: every product has it */
    struct operand_layout (*layout)(const struct problem *p);
} operands[OPERANDS] = {[OPERAND_A] = {"a", "A", 0, layout_a},
                        [OPERAND_B] = {"b", "B", 0, layout_b},
                        [OPERAND_C] = {"c", "the result", 0, layout_c},
                        [OPERAND_SOURCE] = {"source", "C", EPILOGUE_OUT, layout_c},
                        [OPERAND_BIAS] = {"bias", "the bias", EPILOGUE_BIAS, layout_bias}};

struct operand_layout operand_layout(const struct problem *problem, enum operand which)
{
    return operands[which].layout(problem);
}

bool operand_is_own(const struct problem *problem, enum operand which)
{
    const int epilogues = operands[which].epilogues;
    return epilogues == 0 || problem->epilogue & epilogues;
}

int64_t operand_bytes(const struct problem *problem, enum operand which)
{
    const struct operand_layout x = operand_layout(problem, which);
    return operand_is_own(problem, which) ? element_bytes(x.element) * operand_span(&x) : 0;
}

int64_t operand_span(const struct operand_layout *x)
{
    if (x->rows == 0 || x->cols == 0) return 0;
    return (x->batch - 1) * x->stride + (x->rows - 1) * x->ld + x->cols;
}

const char *operand_name(enum operand which)
{
    return operands[which].name;
}

const char *operand_called(enum operand which)
{
    return operands[which].called;
}
