/* Whether a result shares memory with an operand, against a map of every element. */
#include "overlap.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = 60000, ROOM = 8192, ORIGIN = 65536 };

/* Halves of words of a matrix that are marked in `map`; mark: they are marked now. */
static int walk(char map[ROOM], bool mark, uint64_t at, enum element element, int64_t rows, int64_t columns,
                int64_t ld, int64_t batch, int64_t stride)
{
    const int64_t halves = element_bytes(element) / 2;
    int met = 0;
    for (int64_t item = 0; item < batch; item++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < halves * columns; j++) {
                char *half = &map[(int64_t)(at - ORIGIN) / 2 + halves * (item * stride + i * ld) + j];
                met += *half;
                if (mark) *half = 1;
            }
    return met;
}

static int64_t up_to(int64_t most)
{
    return rand() % (most + 1);
}

/* Some ld, of which often several are equal. */
static int64_t some_ld(int64_t row, int64_t common)
{
    return up_to(2) && common >= row ? common : row + up_to(3);
}

static struct problem some_problem(void)
{
    static const enum gemm_type types[] = {GEMM_SGEMM, GEMM_BF16, GEMM_F16_TO_F32};
    struct problem p = problem_make(1 + up_to(4), 1 + up_to(4), 1 + up_to(4));
    p.type = types[up_to(2)];
    const int64_t common = 5 + up_to(12);
    p.trans_a = up_to(1);
    p.trans_b = up_to(1);
    p.lda = some_ld(problem_cols_a(&p), common);
    p.ldb = some_ld(problem_cols_b(&p), common);
    p.ldc = some_ld(p.n, common);
    p.batch = 1 + up_to(2);
    p.epilogue = epilogue_code((enum epilogue_bias)up_to(2), ACTIVATION_NONE, up_to(1));
    p.stride_a = problem_rows_a(&p) * p.lda + up_to(1) * up_to(9);
    p.stride_b = problem_rows_b(&p) * p.ldb * up_to(1);
    p.stride_c = p.m * p.ldc + up_to(1) * up_to(9);
    p.stride_bias = problem_bias_length(&p) * up_to(1);
    return p;
}

/* What a batch with gaps leaves out, or the paddings of two matrices, may go unnoticed. */
static bool is_simple(const struct problem *p, enum element element, int64_t rows, int64_t columns,
                      int64_t ld, int64_t stride)
{
    const int64_t bytes = element_bytes(element) * ld,
                  bytes_c = element_bytes(gemm_type_row(p->type)->c) * p->ldc;
    const bool whole =
        p->batch == 1 || (p->stride_c == p->m * p->ldc && (stride == 0 || stride == rows * ld));
    const bool single = rows == 1 || columns == ld || p->m == 1 || p->n == p->ldc;
    return whole && (bytes == bytes_c || (single && p->batch == 1));
}

static void check(bool simple, bool met, bool found, const char *who, int number)
{
    if (found && !met) fail_msg("%s of problem %d is apart", who, number);
    if (met && !found && simple) fail_msg("%s of problem %d shares memory", who, number);
}

TEST(only_memory_that_is_shared_is_found)
{
    static const char *const names[] = {"A", "B", "the bias", "C"};
    int shared = 0, apart = 0;
    srand(1);
    for (int number = 0; number < PROBLEMS; number++) {
        const struct problem p = some_problem();
        const struct gemm_type_row *type = gemm_type_row(p.type);
        const int other = (int)up_to(3);
        unsigned long long at[OPERANDS] = {[OPERAND_C] = ORIGIN + 4 * 1000};
        const uint64_t there = ORIGIN + 2 * (uint64_t)(2000 - 150 + up_to(300)); /* elements may be cut */
        at[OPERAND_SOURCE] = at[OPERAND_C];
        struct extents bytes = extents_of(&p);
        static char map[ROOM];
        memset(map, 0, sizeof map);
        walk(map, true, at[OPERAND_C], type->c, p.m, p.n, p.ldc, p.batch, p.stride_c);
        bool met, simple;
        if (other == 0) {
            const int64_t rows = problem_rows_a(&p), columns = problem_cols_a(&p);
            at[OPERAND_A] = there;
            met = walk(map, false, there, type->a, rows, columns, p.lda, p.batch, p.stride_a);
            simple = is_simple(&p, type->a, rows, columns, p.lda, p.stride_a);
        } else if (other == 1) {
            const int64_t rows = problem_rows_b(&p), columns = problem_cols_b(&p);
            at[OPERAND_B] = there;
            met = walk(map, false, there, type->b, rows, columns, p.ldb, p.batch, p.stride_b);
            simple = is_simple(&p, type->b, rows, columns, p.ldb, p.stride_b);
        } else if (other == 2) {
            const int64_t length = problem_bias_length(&p);
            at[OPERAND_BIAS] = there;
            met = length && walk(map, false, there, type->c, 1, length, length, p.batch, p.stride_bias);
            simple = p.batch == 1;
        } else {
            at[OPERAND_SOURCE] = there;
            met = there != at[OPERAND_C] &&
                  walk(map, false, there, type->c, p.m, p.n, p.ldc, p.batch, p.stride_c);
            simple = is_simple(&p, type->c, p.m, p.n, p.ldc, p.stride_c);
        }
        const char *found = overlap_find(&p, &bytes, at);
        if (found) assert_string_equal(found, names[other]);
        check(simple, met, found, names[other], number);
        shared += found != NULL;
        apart += !met;
    }
    assert_in_range(shared, PROBLEMS / 10, PROBLEMS);
    assert_in_range(apart, PROBLEMS / 10, PROBLEMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_memory_that_is_shared_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
