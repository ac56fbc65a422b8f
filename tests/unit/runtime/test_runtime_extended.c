/* The runtime library without a GPU: which biases, sources and results it takes, and the structs of programs
 * of before. */
#include "epilogue_sets.h"

TEST(wrong_epilogues_are_refused_with_a_sentence)
{
    struct gt_handle *handle = open_handle(NULL);
    float x[64], one = 1;
    const struct {
        struct gt_problem with;
        const char *part;
    } problems[] = {{{.bias = 3}, "bias 3 is unknown"},
                    {{.bias = -1}, "bias -1 is unknown"},
                    {{.activation = 3}, "activation 3 is unknown"},
                    {{.activation = -1}, "activation -1 is unknown"},
                    {{.stride_bias = 4}, "stride_bias is 4, but the problem has no bias"},
                    {{.bias = 1, .stride_bias = -4}, "stride_bias"},
                    {{.bias = 1, .reserved = {1}}, "reserved"}};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct gt_problem p = gt_problem_make(4, 4, 4);
        struct gt_plan *plan;
        p.batch = 2;
        p.stride_a = p.stride_b = p.stride_c = 16;
        p.bias = problems[i].with.bias;
        p.activation = problems[i].with.activation;
        p.stride_bias = problems[i].with.stride_bias;
        p.reserved[0] = problems[i].with.reserved[0];
        assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, problems[i].part);
        assert_gt_fails(gemm(handle, &p, &one, x, x, &one, x, stream), GT_INVALID, problems[i].part);
    }
    assert_int_equal(*fake.launch_count + *fake.lt_calls, 0);
    gt_close(handle);
}

/* 16 x 16 matrices in one array of 64 rows of 16 floats, and what is refused of them. */
TEST(wrong_calls_are_refused_with_a_sentence)
{
    static float x[4096] __attribute__((aligned(64)));
    enum { A = 0, B = 256, C = 512, SOURCE = 768, BIAS = 1024 };
    const struct {
        int32_t bias;
        uint32_t flags;
        int a, c, source, bias_at; /* -1: NULL */
        int more;                  /* bytes added to bias and source */
        const char *part;          /* NULL: it is taken */
    } calls[] = {
        {GT_BIAS_COLUMN, 0, A, C, -1, BIAS, 0, NULL},
        {GT_BIAS_COLUMN, 0, A, C, -1, -1, 0, "the bias is NULL"},
        {GT_BIAS_ROW, 0, A, C, -1, BIAS, 2, "the bias must be a multiple of 4 bytes"},
        {GT_BIAS_NONE, 0, A, C, -1, BIAS, 0, "the call has a bias, and its problem has none"},
        {GT_BIAS_COLUMN, 0, A, C, SOURCE, BIAS, 0, "its problem is not GT_OUT_OF_PLACE"},
        {GT_BIAS_NONE, 0, A, C, SOURCE, -1, 0, "its problem is not GT_OUT_OF_PLACE"},
        {GT_BIAS_NONE, GT_OUT_OF_PLACE, A, C, -1, -1, 0, "the source is NULL"},
        {GT_BIAS_NONE, GT_OUT_OF_PLACE, A, C, SOURCE, -1, 2, "the source must be a multiple of 4 bytes"},
        {GT_BIAS_NONE, GT_OUT_OF_PLACE, A, C, SOURCE, -1, 0, NULL},
        {GT_BIAS_NONE, GT_OUT_OF_PLACE, A, C, C, -1, 0, NULL},
        {GT_BIAS_NONE, GT_OUT_OF_PLACE, A, C, C + 4, -1, 0, "the result shares memory with C"},
        {GT_BIAS_NONE, GT_OUT_OF_PLACE, A, C, C - 252, -1, 0, "the result shares memory with C"},
        {GT_BIAS_COLUMN, 0, C, C, -1, BIAS, 0, "the result shares memory with A"},
        {GT_BIAS_COLUMN, 0, A, B, -1, BIAS, 0, "the result shares memory with B"},
        {GT_BIAS_COLUMN, 0, A, C, -1, C + 252, 0, "the result shares memory with the bias"},
        {GT_BIAS_ROW, 0, A, C, -1, C - 12, 0, "the result shares memory with the bias"},
        {GT_BIAS_ROW, 0, A, C, -1, C - 16, 0, NULL},
        {GT_BIAS_ROW, 0, A, C, -1, C + 256, 0, NULL},
        {GT_BIAS_COLUMN, 0, A, C, -1, A, 0, NULL},
    };
    struct gt_handle *handle = open_handle(NULL);
    const float one = 1;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct gt_problem p = gt_problem_make(16, 16, 16);
        struct gt_call call = gt_call_make(&one, x + calls[i].a, x + B, &one, x + calls[i].c, stream);
        struct gt_plan *plan;
        p.flags = calls[i].flags | GT_ADDS_TO_C;
        p.bias = calls[i].bias;
        if (calls[i].bias_at >= 0) call.bias = (char *)(x + calls[i].bias_at) + calls[i].more;
        if (calls[i].source >= 0) call.source = (char *)(x + calls[i].source) + calls[i].more;
        assert_gt(gt_plan_open(handle, &p, &plan));
        *fake.launch_count = *fake.lt_calls = 0;
        if (calls[i].part) {
            assert_gt_fails(gt_launch(plan, &call), GT_INVALID, calls[i].part);
            assert_gt_fails(gt_gemm(handle, &p, &call), GT_INVALID, calls[i].part);
            assert_int_equal(*fake.launch_count + *fake.lt_calls, 0);
        } else {
            assert_gt(gt_launch(plan, &call));
            assert_gt(gt_gemm(handle, &p, &call));
        }
    }
    gt_close(handle);
}

/* Columns of one large matrix: C lies in the padding of A, of the source, and around the bias. */
TEST(matrices_may_lie_in_each_others_padding)
{
    enum { WIDE = 64, ROWS = 16 };
    static float x[WIDE * (ROWS + 2)] __attribute__((aligned(64)));
    static float b[ROWS * 16] __attribute__((aligned(64)));
    const struct {
        int a, c, source, bias;
        const char *part;
    } calls[] = {
        {0, 16, 32, 48, NULL},
        {16, 0, 48, 32, NULL},
        {0, 12, 32, 48, "A"},
        {12, 0, 32, 48, "A"},
        {WIDE + 0, 16, 32, 48, NULL},
        {0, WIDE + 16, 32, WIDE + 33, NULL},
        {0, WIDE + 16, 31, 48, "C"},
        {0, 16, 32, WIDE + 31, "the bias"},
        {0, 16, 32, WIDE + 1, "the bias"},
    };
    struct gt_handle *handle = open_handle(NULL);
    const float one = 1;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct gt_problem p = gt_problem_make(ROWS, 16, 16);
        struct gt_call call = gt_call_make(&one, x + calls[i].a, b, &one, x + calls[i].c, stream);
        p.flags = GT_OUT_OF_PLACE;
        p.lda = p.ldc = WIDE;
        p.bias = GT_BIAS_ROW;
        call.bias = x + calls[i].bias;
        call.source = x + calls[i].source;
        if (calls[i].part) assert_gt_fails(gt_gemm(handle, &p, &call), GT_INVALID, calls[i].part);
        else assert_gt(gt_gemm(handle, &p, &call));
    }
    gt_close(handle);
}

TEST(nothing_is_launched_for_nothing)
{
    struct gt_handle *handle = open_handle(NULL);
    static const struct {
        int64_t m, n, batch;
    } sizes[] = {{0, 4, 1}, {4, 0, 1}, {4, 4, 0}};
    float one = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gt_problem p = gt_problem_make(sizes[i].m, sizes[i].n, 4);
        const struct gt_call call = gt_call_make(&one, NULL, NULL, &one, NULL, stream);
        p.batch = sizes[i].batch;
        p.bias = GT_BIAS_ROW;
        p.activation = GT_ACTIVATION_GELU;
        p.flags = GT_OUT_OF_PLACE;
        assert_gt(gt_gemm(handle, &p, &call));
    }
    assert_int_equal(*fake.launch_count + *fake.lt_calls + *fake.compilations, 0);
    gt_close(handle);
}

/* What a program of before has: no names for the new members, and 0 in their place. */
struct old_problem {
    uint32_t size, flags;
    int32_t type, trans_a, trans_b, alignment;
    int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c;
    uint64_t reserved[4];
};
struct old_call {
    uint32_t size, flags;
    const void *alpha, *beta, *a, *b;
    void *c, *stream, *workspace;
    size_t workspace_bytes;
    void *reserved[4];
};

TEST(a_program_with_the_header_of_before_has_no_epilogue)
{
    put_winner("sgemm:nn:32x32x32", SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct operand_set set = operands_make("sgemm:nn:32x32x32", 0);
    const float one = 1, zero = 0;
    struct old_problem problem = {.size = sizeof problem, .m = 32, .n = 32, .k = 32, .batch = 1};
    struct old_call old = {sizeof old, 0, &one, &zero, set.a, set.b, set.c, stream, NULL, 0, {NULL}};
    struct gt_problem p;
    struct gt_call call;
    _Static_assert(sizeof p == sizeof problem && sizeof call == sizeof old, "the structs have not grown");
    memcpy(&p, &problem, sizeof p);
    memcpy(&call, &old, sizeof call);
    assert_gt(gt_gemm(handle, &p, &call));
    operands_check(&set, 1, "the header of before");
    assert_int_equal(*fake.launch_count, 1);
    /* The reverse: what a library of before takes for reserved is not 0 if a member is used. */
    p.bias = GT_BIAS_COLUMN;
    call.source = set.c;
    memcpy(&problem, &p, sizeof p);
    memcpy(&old, &call, sizeof call);
    assert_true(problem.reserved[0] != 0 && old.reserved[1] != NULL);
    p.bias = 0, p.activation = GT_ACTIVATION_RELU, p.stride_bias = 1;
    call.bias = set.c;
    memcpy(&problem, &p, sizeof p);
    memcpy(&old, &call, sizeof call);
    assert_true(problem.reserved[0] != 0 && problem.reserved[1] != 0 && old.reserved[0] != NULL);
    operands_free(&set);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(wrong_epilogues_are_refused_with_a_sentence),
        ON_FAKES(wrong_calls_are_refused_with_a_sentence),
        ON_FAKES(matrices_may_lie_in_each_others_padding),
        ON_FAKES(nothing_is_launched_for_nothing),
        ON_FAKES(a_program_with_the_header_of_before_has_no_epilogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
