/* The runtime library without a GPU: batches whose matrices lie where arrays of addresses say. */
#include "pointer_sets.h"

static const char *const shapes[] = {
    "sgemm:nn:15x23x31:batch=5:pointers", "sgemm:nt:20x36x28:batch=3:pointers",
    "sgemm:tn:7x5x9:batch=2:lda=11:ldc=8:pointers", "sgemm:tt:8x8x8:pointers"};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int counted(int *counter)
{
    const int count = *counter;
    *counter = 0;
    return count;
}

TEST(a_winner_is_given_the_arrays)
{
    static const char *const ways[] = {"", ":alpha=2", ":beta=1", ":alpha=-1:beta=3"};
    for (int i = 0; i < SHAPES; i++)
        for (int adds = 0; adds < 2; adds++) {
            char text[PROBLEM_TEXT_MAX];
            snprintf(text, sizeof text, "%s%s", shapes[i], adds ? ":beta=1" : "");
            put_winner(text, SIMT_ELEMENTS, 5, false);
        }
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < SHAPES; i++)
        for (int way = 0; way < 4; way++) {
            char text[PROBLEM_TEXT_MAX];
            snprintf(text, sizeof text, "%s%s", shapes[i], ways[way]);
            struct pointer_set set = pointer_set_make(text, way % 4);
            const struct gt_problem p = public_problem(&set.o.problem);
            struct gt_plan *plan = NULL;
            assert_gt(gt_plan_open(handle, &p, &plan));
            assert_int_equal(info_of(plan).source, GT_EXACT);
            counted(fake.launch_count);
            assert_gt(launch_pointers(plan, &set));
            operands_check(&set.o, 1, text);
            assert_gt(gemm_pointers(handle, &p, &set));
            operands_check(&set.o, 1, text);
            assert_true(counted(fake.launch_count) >= 2);
            assert_int_equal(*fake.blas_calls, 0);
            pointer_set_free(&set);
        }
    gt_close(handle);
}

/* As a program that knows BLAS passes them: the same arrays in the order of the operands. */
TEST(matrices_by_columns_have_arrays_too)
{
    put_winner("sgemm:nn:23x15x31:batch=4:pointers", SIMT_ELEMENTS, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct pointer_set set = pointer_set_make("sgemm:nn:23x15x31:batch=4:pointers", 1);
    struct gt_problem p = gt_problem_make(15, 23, 31);
    const float alpha = 1, beta = 0;
    p.flags = GT_COLUMN_MAJOR | GT_POINTER_ARRAYS;
    p.batch = 4;
    assert_gt(gemm(handle, &p, &alpha, set.b, set.a, &beta, set.c, stream));
    operands_check(&set.o, 1, "by columns");
    assert_int_equal(*fake.launch_count, 1);
    pointer_set_free(&set);
    gt_close(handle);
}

TEST(without_a_winner_cublas_computes_it_or_a_plain_kernel)
{
    for (unsigned flags = 0; flags <= GT_NO_CUBLAS; flags += GT_NO_CUBLAS) {
        struct gt_handle *handle = open_flagged(flags);
        for (int i = 0; i < SHAPES; i++) {
            struct pointer_set set = pointer_set_make(shapes[i], 1);
            const struct gt_problem p = public_problem(&set.o.problem);
            for (int call = 0; call < 2; call++) {
                assert_gt(gemm_pointers(handle, &p, &set));
                operands_check(&set.o, 1, shapes[i]);
                assert_int_equal(counted(fake.launch_count) > 0, flags != 0);
                assert_int_equal(counted(fake.blas_pointer_calls), flags == 0);
                assert_int_equal(counted(fake.blas_calls), 0); /* not one after the other */
            }
            pointer_set_free(&set);
        }
        gt_close(handle);
    }
}

TEST(a_winner_serves_only_its_own_kind)
{
    put_winner("sgemm:nn:16x24x32:batch=3", SIMT, 5, false);
    put_winner("sgemm:nn:20x36x28:batch=3:pointers", SIMT_ELEMENTS, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    static const struct {
        const char *text;
        bool exact;
    } cases[] = {{"sgemm:nn:16x24x32:batch=3", true},
                 {"sgemm:nn:16x24x32:batch=3:pointers", false},
                 {"sgemm:nn:20x36x28:batch=3:pointers", true},
                 {"sgemm:nn:20x36x28:batch=3", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gt_plan_info info = info_of(make_plan(handle, cases[i].text));
        assert_int_equal(info.source == GT_EXACT, cases[i].exact);
    }
    gt_close(handle);
}

/* The addresses of the arrays say nothing of the matrices: one plan serves all. */
TEST(where_the_arrays_lie_makes_no_other_plan)
{
    put_winner("sgemm:nn:15x23x31:batch=5:pointers", SIMT_ELEMENTS, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct pointer_set set = pointer_set_make(shapes[0], 0);
    struct gt_problem p = public_problem(&set.o.problem);
    const float *more[6], alpha = 1, beta = 0;
    for (int from = 0; from < 2; from++) {
        const float **const a = more + from;
        memcpy((void *)a, (const void *)set.a, 5 * sizeof *a);
        p.alignment = from ? 16 : 0;
        assert_gt(gemm(handle, &p, &alpha, a, set.b, &beta, set.c, stream));
        operands_check(&set.o, 1, "arrays elsewhere");
    }
    assert_int_equal(*fake.loads, 1);
    assert_int_equal(*fake.launch_count, 2);
    pointer_set_free(&set);
    gt_close(handle);
}

TEST(a_winner_with_a_workspace_is_given_the_library_s)
{
    put_winner(shapes[0], config_text(4, "VA=1 VB=1 VC=1 SPLIT_K=2 REDUCE=1"), 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct pointer_set set = pointer_set_make(shapes[0], 3);
    const struct gt_problem p = public_problem(&set.o.problem);
    for (int call = 0; call < 3; call++) {
        assert_gt(gemm_pointers(handle, &p, &set));
        operands_check(&set.o, 1, "parts");
    }
    assert_int_equal(*fake.launch_count, 3);
    assert_int_equal(*fake.blas_pointer_calls + *fake.dirty_counters, 0);
    pointer_set_free(&set);
    gt_close(handle);
}

TEST(what_arrays_must_be)
{
    struct gt_handle *handle = open_handle(NULL);
    struct pointer_set set = pointer_set_make(shapes[0], 0);
    const struct gt_problem good = public_problem(&set.o.problem);
    const float alpha = 1, beta = 0;
    struct gt_plan *plan = NULL;
    struct gt_problem p = good;
    assert_int_equal(good.flags, GT_POINTER_ARRAYS);
    assert_int_equal(good.stride_a | good.stride_b | good.stride_c, 0);
    p.stride_b = 713;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID,
                    "stride_b is 713, but with GT_POINTER_ARRAYS there are no strides");
    p = good, p.bias = GT_BIAS_ROW;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "GT_POINTER_ARRAYS has no bias");
    p = good, p.activation = GT_ACTIVATION_RELU;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "no activation");
    p = good, p.flags |= GT_OUT_OF_PLACE;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "no GT_OUT_OF_PLACE");
    p = good, p.m = p.k = p.lda = INT64_C(1) << 40; /* their product passes 2^63 */
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "M = 1099511627776 is outside");
    assert_gt(gt_plan_open(handle, &good, &plan));
    assert_gt_fails(launch(plan, &alpha, NULL, set.b, &beta, set.c, stream), GT_INVALID, "NULL");
    assert_gt_fails(launch(plan, &alpha, set.a, set.b, &beta, NULL, stream), GT_INVALID, "NULL");
    assert_gt_fails(launch(plan, &alpha, (const char *)set.a + 4, set.b, &beta, set.c, stream), GT_INVALID,
                    "the arrays of addresses must be multiples of 8 bytes");
    struct gt_call call = gt_call_make(&alpha, set.a, set.b, &beta, set.c, stream);
    call.bias = &alpha;
    assert_gt_fails(gt_launch(plan, &call), GT_INVALID, "its problem has none");
    assert_int_equal(*fake.launch_count + *fake.blas_pointer_calls, 0);
    /* Of nothing no address is read, and of k = 0 none of A and B. */
    p = good, p.batch = 0;
    assert_gt(gemm(handle, &p, &alpha, NULL, NULL, &beta, NULL, stream));
    p = good, p.k = 0, p.lda = p.ldb = 0;
    assert_gt(gemm(handle, &p, &alpha, NULL, NULL, &beta, set.c, stream));
    for (int64_t i = 0; i < set.o.span; i++) assert_true(set.o.c[i] == 0);
    pointer_set_free(&set);
    gt_close(handle);
}

TEST(tf32_takes_cublas_or_else_a_strict_winner)
{
    struct gt_handle *handle = open_handle(NULL);
    struct pointer_set set = pointer_set_make("tf32gemm:nn:15x23x31:batch=5:pointers", 1);
    const struct gt_problem p = public_problem(&set.o.problem);
    assert_gt(gemm_pointers(handle, &p, &set));
    operands_check(&set.o, 1, "cuBLAS");
    assert_int_equal(*fake.blas_pointer_calls, 1);
    gt_close(handle);
    put_winner("sgemm:nn:15x23x31:batch=5:pointers", SIMT_ELEMENTS, 5, false);
    handle = open_handle(NULL);
    assert_gt(gemm_pointers(handle, &p, &set));
    assert_int_equal(*fake.blas_pointer_calls, 2);
    assert_int_equal(*fake.launch_count, 0);
    gt_close(handle);
    handle = open_flagged(GT_NO_CUBLAS);
    assert_gt(gemm_pointers(handle, &p, &set));
    operands_check(&set.o, 1, "a strict winner");
    assert_int_equal(*fake.launch_count, 1);
    pointer_set_free(&set);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(a_winner_is_given_the_arrays),
        ON_FAKES(matrices_by_columns_have_arrays_too),
        ON_FAKES(without_a_winner_cublas_computes_it_or_a_plain_kernel),
        ON_FAKES(a_winner_serves_only_its_own_kind),
        ON_FAKES(where_the_arrays_lie_makes_no_other_plan),
        ON_FAKES(a_winner_with_a_workspace_is_given_the_library_s),
        ON_FAKES(what_arrays_must_be),
        ON_FAKES(tf32_takes_cublas_or_else_a_strict_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
