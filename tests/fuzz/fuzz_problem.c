/* A problem's text: what parses is within the limits of problem.h and prints to a text that means the same.
 */
#include "fuzz.h"
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {"sgemm:",
                                  "nn:",
                                  "nt:",
                                  "tn:",
                                  "tt:",
                                  ":batch=",
                                  ":lda=",
                                  ":ldb=",
                                  ":ldc=",
                                  ":stride_a=",
                                  ":stride_b=",
                                  ":stride_c=",
                                  ":alpha=",
                                  ":beta=",
                                  ":epilogue=",
                                  ":pointers",
                                  "sgemm_accurate:",
                                  ":prepared=",
                                  ":prepared=b",
                                  "bf16gemm:",
                                  ":invariant",
                                  ":stride_bias=",
                                  "bias",
                                  "rowbias",
                                  "+relu",
                                  "+gelu",
                                  "+out",
                                  ":batch=2:epilogue=bias:stride_bias=8",
                                  "x",
                                  "2147418112x2147418112x2147418112",
                                  "1x1x1",
                                  ":",
                                  "=",
                                  ":batch=2",
                                  ":batch=2147418112",
                                  ":lda=2147483648",
                                  ":stride_a=576460752303423488",
                                  ":stride_a=1",
                                  ":stride_a=0",
                                  ":stride_b=0",
                                  "1e-46",
                                  "1e-40",
                                  "-0.0",
                                  NULL};

static void check_operand(const char *text, int64_t span, int64_t ld, int64_t cols, int align, int widest)
{
    PROMISE(span >= 0 && span <= INT64_C(1) << 60, "'%s' spans %lld elements", text, (long long)span);
    PROMISE(ld >= cols && ld >= 1, "'%s' has rows that overlap", text);
    PROMISE(align > 0 && align <= widest && (align & (align - 1)) == 0, "'%s' is aligned to %d", text, align);
}

static void check_problem(const char *text, const struct problem *p)
{
    char canonical[PROBLEM_TEXT_MAX], again[PROBLEM_TEXT_MAX];
    struct problem q;
    fuzz_accept();
    PROMISE(problem_check(p) == OK, "'%s' parses, but %s", text, status_text());
    problem_format(p, canonical);
    PROMISE(strlen(canonical) < PROBLEM_TEXT_MAX - 1, "'%s' is cut", canonical);
    PROMISE(problem_parse(canonical, &q) == OK, "'%s' prints as '%s', and %s", text, canonical,
            status_text());
    problem_format(&q, again);
    PROMISE(strcmp(canonical, again) == 0, "'%s' becomes '%s'", canonical, again);
    PROMISE(problem_equal(p, &q), "'%s'", canonical);
    problem_key(p, again);
    PROMISE(problem_parse(again, &q) == OK && problem_equal(p, &q), "'%s' has the key '%s'", canonical,
            again);
    if (p->batch > 1) PROMISE(p->stride_a == q.stride_a && p->stride_b == q.stride_b, "'%s'", canonical);
    PROMISE(p->lda == q.lda && p->ldb == q.ldb && p->ldc == q.ldc && p->batch == q.batch, "'%s'", canonical);
    PROMISE(p->pointers == q.pointers && p->prepared == q.prepared && p->invariant == q.invariant, "'%s'",
            canonical);
    PROMISE(!p->invariant || gemm_type_has_invariant(p->type), "'%s'", canonical);
    PROMISE(!p->prepared || (gemm_type_prepares(p->type) && !p->pointers), "'%s'", canonical);
    PROMISE(p->epilogue == q.epilogue && problem_span_bias(p) == problem_span_bias(&q), "'%s'", canonical);
    PROMISE(problem_span_bias(p) >= 0 && problem_span_bias(p) <= INT64_C(1) << 60, "'%s'", canonical);
    PROMISE((float)p->alpha == (float)q.alpha && (float)p->beta == (float)q.beta, "'%s'", canonical);
    PROMISE(p->m <= PROBLEM_DIM_MAX && p->n <= PROBLEM_DIM_MAX && p->k <= PROBLEM_DIM_MAX, "'%s'", canonical);
    const struct gemm_type_row *row = gemm_type_row(p->type);
    check_operand(canonical, problem_span_a(p), p->lda, problem_cols_a(p), problem_align_a(p),
                  element_vector(row->a));
    check_operand(canonical, problem_span_b(p), p->ldb, problem_cols_b(p), problem_align_b(p),
                  element_vector(row->b));
    check_operand(canonical, problem_span_c(p), p->ldc, p->n, problem_align_c(p), element_vector(row->c));
    PROMISE(isfinite(problem_flop(p)) && problem_flop(p) >= 0, "'%s'", canonical);
    PROMISE(isfinite(problem_bytes(p)) && problem_bytes(p) >= 0, "'%s'", canonical);
}

/* Numbers as a program passes them, "raw M N K LDA LDB LDC BATCH STRIDE_A STRIDE_B STRIDE_C": what is checked
 * has a text. */
static void check_numbers(const char *text)
{
    struct problem p = {.alpha = 1, .batch = 1};
    int64_t *const numbers[] = {&p.m,   &p.n,     &p.k,        &p.lda,      &p.ldb,
                                &p.ldc, &p.batch, &p.stride_a, &p.stride_b, &p.stride_c};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && *text; i++) {
        char *end;
        *numbers[i] = strtoll(text, &end, 10);
        text = end;
    }
    p.trans_a = p.m % 2, p.trans_b = p.n % 2;
    if (problem_check(&p)) return;
    check_problem("numbers", &p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = fuzz_text(data, size);
    if (strncmp(text, "raw ", 4) == 0) check_numbers(text + 4);
    struct problem problem, before;
    memset(&problem, 0x5a, sizeof problem);
    before = problem;
    if (problem_parse(text, &problem) == OK) check_problem(text, &problem);
    else {
        PROMISE(strlen(text) >= PROBLEM_TEXT_MAX || strstr(status_text(), text), "'%s' for '%s'",
                status_text(), text);
        PROMISE(memcmp(&problem, &before, sizeof problem) == 0, "'%s' is refused, but left something", text);
    }
    return 0;
}
