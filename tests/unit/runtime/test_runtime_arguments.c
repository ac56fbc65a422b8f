/* The runtime library without a GPU: what a call may ask for beside a product of rows, and what is refused.
 */
#include "runtime_fakes.h"

TEST(scalars_may_be_on_the_device)
{
    put_winner("sgemm:nn:32x32x32", SIMT, 5, false);
    put_winner("sgemm:nn:32x32x64", NULL, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    static const char *const texts[] = {"sgemm:nn:32x32x32:alpha=3:beta=-2",
                                        "sgemm:nn:32x32x64:alpha=3:beta=-2"};
    for (int i = 0; i < 2; i++) {
        struct operand_set set = operands_make(texts[i], 0);
        struct gt_problem p = problem_of(texts[i]);
        p.flags = GT_SCALARS_ON_DEVICE;
        float scalars[2] = {1, 1};
        struct gt_plan *plan;
        assert_gt(gt_plan_open(handle, &p, &plan));
        scalars[0] = 3, scalars[1] = -2;
        assert_gt(launch(plan, &scalars[0], set.a, set.b, &scalars[1], set.c, stream));
        operands_check(&set, 1, "device scalars");
        operands_free(&set);
    }
    assert_ptr_equal(fake.launches[0].args.a == NULL, 0);
    assert_non_null(fake.launches[0].args.alpha_device);
    gt_close(handle);
}

/* op(A) op(B) of matrices stored by columns, by hand. */
static float by_columns(const struct gt_problem *p, const float *a, const float *b, int64_t i, int64_t j)
{
    float sum = 0;
    for (int64_t l = 0; l < p->k; l++)
        sum += (p->trans_a ? a[i * p->lda + l] : a[l * p->lda + i]) *
               (p->trans_b ? b[l * p->ldb + j] : b[j * p->ldb + l]);
    return sum;
}

TEST(column_major_callers_say_so)
{
    enum { M = 5, N = 7, K = 3, BATCH = 2, ROOM = 400 };
    struct gt_handle *handle = open_handle(NULL);
    float a[ROOM], b[ROOM], c[ROOM], one = 1, zero = 0;
    for (int i = 0; i < ROOM; i++) a[i] = (float)(i % 5 - 2), b[i] = (float)(i % 7 - 3);
    for (int flips = 0; flips < 4; flips++)
        for (int padded = 0; padded < 2; padded++) {
            struct gt_problem p = gt_problem_make(M, N, K), filled;
            struct gt_plan *plan;
            p.flags = GT_COLUMN_MAJOR;
            p.trans_a = flips & 1;
            p.trans_b = flips >> 1;
            filled = p;
            filled.lda = (p.trans_a ? K : M) + 2 * padded;
            filled.ldb = (p.trans_b ? N : K) + 3 * padded;
            filled.ldc = M + 4 * padded;
            filled.batch = BATCH;
            filled.stride_a = 80, filled.stride_b = 90, filled.stride_c = 120;
            if (padded) p = filled;
            *fake.computes = 1 + 2 * p.trans_b + 4 * p.trans_a;
            for (int by_plan = 0; by_plan < 2; by_plan++) {
                memset(c, 0, sizeof c);
                if (by_plan) {
                    assert_gt(gt_plan_open(handle, &p, &plan));
                    assert_gt(launch(plan, &one, a, b, &zero, c, stream));
                } else assert_gt(gemm(handle, &p, &one, a, b, &zero, c, stream));
                for (int batch = 0; batch < (padded ? BATCH : 1); batch++)
                    for (int i = 0; i < M; i++)
                        for (int j = 0; j < N; j++) {
                            float want = by_columns(&filled, a + 80 * batch, b + 90 * batch, i, j);
                            assert_true(c[120 * batch + j * filled.ldc + i] == want);
                        }
            }
        }
    gt_close(handle);
}

TEST(a_matrix_may_be_shared_by_the_whole_batch)
{
    static const unsigned flags[] = {0, GT_NO_CUBLAS};
    for (int f = 0; f < 2; f++) {
        struct gt_handle *handle = open_flagged(flags[f]);
        struct gt_problem p = gt_problem_make(4, 4, 4);
        struct operand_set set = operands_make("sgemm:nn:4x4x4:batch=3", 0);
        p.batch = 3;
        p.stride_a = 0;
        p.stride_b = p.stride_c = 16;
        set.problem.stride_a = 0;
        assert_gt(gemm_set(handle, &p, &set));
        operands_check(&set, 1, "shared A");
        operands_free(&set);
        gt_close(handle);
    }
}

TEST(nothing_is_launched_for_nothing)
{
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = gt_problem_make(4, 4, 4);
    float one = 1;
    p.batch = 0;
    assert_gt(gemm(handle, &p, &one, NULL, NULL, &one, NULL, stream));
    assert_gt(gemm(handle,
                   &(struct gt_problem){.size = sizeof(struct gt_problem), .n = 4, .k = 4, .batch = 1}, &one,
                   NULL, NULL, &one, NULL, stream));
    struct gt_plan *plan = make_plan(handle, "sgemm:nn:4x0x4");
    assert_gt(launch(plan, &one, NULL, NULL, &one, NULL, stream));
    assert_string_equal(info_of(plan).config, "");
    assert_int_equal(*fake.launch_count + *fake.blas_calls + *fake.compilations, 0);
    gt_close(handle);
}

TEST(wrong_arguments_are_refused_with_a_sentence)
{
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, "sgemm:nn:4x4x4");
    struct gt_problem good = gt_problem_make(4, 4, 4), p;
    float one = 1, x[16] = {0};
    const struct {
        size_t at;
        int64_t value;
        bool is_int;
        const char *part;
    } bad[] = {
        {offsetof(struct gt_problem, type), -1, true, "type -1"},
        {offsetof(struct gt_problem, type), GT_FP16_TO_F32 + 1, true, "type 8"},
        {offsetof(struct gt_problem, trans_a), 2, true, "trans_a is 2"},
        {offsetof(struct gt_problem, trans_b), -1, true, "trans_b is -1"},
        {offsetof(struct gt_problem, flags), 256, true, "of which this version knows 0xff"},
        {offsetof(struct gt_problem, size), 0, true, "size of struct gt_problem is 0"},
        {offsetof(struct gt_problem, size), 135, true, "is at least 136"},
        {offsetof(struct gt_problem, size), 4097, true, "4097"},
        {offsetof(struct gt_problem, alignment), 3, true, "alignment is 3"},
        {offsetof(struct gt_problem, reserved), 1, true, "reserved"},
        {offsetof(struct gt_problem, m), -1, false, "M = -1"},
        {offsetof(struct gt_problem, k), INT64_C(1) << 40, false, "K = 1099511627776"},
        {offsetof(struct gt_problem, lda), 3, false, "lda = 3"},
        {offsetof(struct gt_problem, batch), -2, false, "batch"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gt_plan *none = plan;
        int32_t small = (int32_t)bad[i].value;
        p = good;
        if (bad[i].is_int) memcpy((char *)&p + bad[i].at, &small, sizeof small);
        else memcpy((char *)&p + bad[i].at, &bad[i].value, sizeof bad[i].value);
        assert_gt_fails(gt_plan_open(handle, &p, &none), GT_INVALID, bad[i].part);
        assert_null(none);
        if (bad[i].at == offsetof(struct gt_problem, alignment))
            continue; /* gt_gemm looks at the addresses */
        assert_gt_fails(gemm(handle, &p, &one, x, x, &one, x, stream), GT_INVALID, bad[i].part);
    }
    p = good;
    p.batch = 2;
    p.stride_a = p.stride_b = 16;
    p.stride_c = 15;
    assert_gt_fails(gt_plan_open(handle, &p, &plan), GT_INVALID, "overlap");
    plan = make_plan(handle, "sgemm:nn:4x4x4");
    assert_gt_fails(launch(plan, NULL, x, x, &one, x, stream), GT_INVALID, "alpha");
    assert_gt_fails(launch(plan, &one, NULL, x, &one, x, stream), GT_INVALID, "NULL");
    assert_gt_fails(launch(NULL, &one, x, x, &one, x, stream), GT_INVALID, "NULL");
    assert_gt_fails(gemm(handle, NULL, &one, x, x, &one, x, stream), GT_INVALID, "NULL");
    assert_gt_fails(gt_plan_open(NULL, &good, &plan), GT_INVALID, "NULL");
    gt_close(handle);
    const struct gt_options unknown = {.size = sizeof(struct gt_options), .flags = 64},
                            many = {.size = sizeof many, .workspaces = 17},
                            few = {.size = sizeof few, .workspaces = -2},
                            reserved = {.size = sizeof reserved, .reserved = {x}};
    assert_gt_fails(gt_open(&handle, &unknown), GT_INVALID, "0x40");
    assert_gt_fails(gt_open(&handle, &many), GT_INVALID, "17");
    assert_gt_fails(gt_open(&handle, &few), GT_INVALID, "workspaces is -2");
    assert_gt_fails(gt_open(&handle, &reserved), GT_INVALID, "reserved");
    assert_gt_fails(gt_open(NULL, NULL), GT_INVALID, "handle");
    assert_null(handle);
    gt_close(NULL);
    gt_plan_close(NULL);
}

#define MMA16                                                                                                \
    "mma16 BM=16 BN=8 BK=16 WM=16 WN=8 SWAP=0 WARPS_K=1 STAGES=2 PRELOAD=0 PACK=0 VA=1 VB=1 VC=1 "           \
    "MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1"

/* As gemmtune.h says of addresses. */
TEST(addresses_are_multiples_of_an_element_of_their_matrix)
{
    static const struct {
        enum gt_type type;
        int element, element_c;
        const char *text;
    } rows[] = {{GT_SGEMM, 4, 4, "sgemm:nn:16x16x16"},
                {GT_TF32, 4, 4, "tf32gemm:nn:16x16x16"},
                {GT_SGEMM_ACCURATE, 4, 4, "sgemm_accurate:nn:16x16x16"},
                {GT_BF16, 2, 2, "bf16gemm:nn:16x16x16"},
                {GT_FP16, 2, 2, "hgemm:nn:16x16x16"},
                {GT_BF16_TO_F32, 2, 4, "bf16gemm:nn:16x16x16:c=f32"},
                {GT_FP16_TO_F32, 2, 4, "hgemm:nn:16x16x16:c=f32"}};
    static _Alignas(16) char memory[3][2048];
    const float one = 1, zero = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        put_winner(rows[i].text, rows[i].type < GT_BF16 ? SIMT : MMA16, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int which = 0; which < 3; which++)
            for (int offset = 1; offset <= 4; offset++) {
                struct gt_problem p = gt_problem_make(16, 16, 16);
                p.type = rows[i].type;
                char *const at[3] = {memory[0] + (which == 0 ? offset : 0),
                                     memory[1] + (which == 1 ? offset : 0),
                                     memory[2] + (which == 2 ? offset : 0)};
                const struct gt_call call = gt_call_make(&one, at[0], at[1], &zero, at[2], stream);
                const bool fits = offset % (which == 2 ? rows[i].element_c : rows[i].element) == 0;
                if (fits) assert_gt(gt_gemm(handle, &p, &call));
                else assert_gt_fails(gt_gemm(handle, &p, &call), GT_INVALID, "must be multiples of");
            }
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(scalars_may_be_on_the_device),
        ON_FAKES(column_major_callers_say_so),
        ON_FAKES(a_matrix_may_be_shared_by_the_whole_batch),
        ON_FAKES(nothing_is_launched_for_nothing),
        ON_FAKES(wrong_arguments_are_refused_with_a_sentence),
        ON_FAKES(addresses_are_multiples_of_an_element_of_their_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
