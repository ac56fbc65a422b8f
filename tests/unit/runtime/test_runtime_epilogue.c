/* The runtime library without a GPU: problems with a bias, an activation, or a result out of place. */
#include "epilogue_sets.h"

#include <pthread.h>

#define SHAPE "sgemm:nt:20x36x28"

static char text_of_problem[PROBLEM_TEXT_MAX];

static const char *problem_with(const char *shape, const char *epilogue, bool adds)
{
    snprintf(text_of_problem, sizeof text_of_problem, "%s%s:epilogue=%s", shape, adds ? ":beta=1" : "",
             epilogue);
    return text_of_problem;
}

TEST(every_epilogue_with_a_winner_is_one_launch_of_it)
{
    put_winner(SHAPE, SIMT, 5, false); /* which serves out of place, too, if C is not read */
    for (int i = 0; epilogue_text(i); i++)
        for (int adds = 0; adds < 2; adds++)
            put_winner(problem_with(SHAPE, epilogue_text(i), adds), SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    int epilogues = 0;
    for (; epilogue_text(epilogues); epilogues++)
        for (int adds = 0; adds < 2; adds++) {
            const char *text = problem_with(SHAPE, epilogue_text(epilogues), adds);
            struct epilogue_set set = epilogue_set_make(text, 0);
            struct gt_plan *plan = epilogue_plan(handle, text);
            const struct gt_plan_info info = info_of(plan);
            const bool in_place_instead = !adds && epilogue_out_of_place(set.o.problem.epilogue);
            if (!in_place_instead) assert_string_equal(info.tuned_for, text);
            *fake.launch_count = 0;
            assert_gt(launch_epilogue(plan, &set));
            epilogue_set_check(&set, "gt_launch");
            assert_gt(gemm_epilogue(handle, &set));
            epilogue_set_check(&set, "gt_gemm");
            assert_int_equal(*fake.launch_count + *fake.lt_calls + *fake.blas_calls, 2);
            epilogue_set_free(&set);
        }
    assert_int_equal(epilogues, 17);
    gt_close(handle);
}

TEST(without_a_winner_cublaslt_computes_it_or_a_plain_kernel)
{
    for (int flags = 0; flags <= GT_NO_CUBLAS; flags += GT_NO_CUBLAS) {
        struct gt_handle *handle = open_flagged((unsigned)flags);
        for (int i = 0; epilogue_text(i); i++)
            for (int adds = 0; adds < 2; adds++) {
                struct epilogue_set set = epilogue_set_make(problem_with(SHAPE, epilogue_text(i), adds), 0);
                const int code = set.o.problem.epilogue;
                const bool by_lt = !flags && epilogue_bias(code) != BIAS_ROW,
                           by_blas = !flags && !adds && (code & ~FAKE_OUT) == 0;
                for (int call = 0; call < 2; call++) {
                    assert_gt(gemm_epilogue(handle, &set));
                    epilogue_set_check(&set, "no winner");
                    assert_int_equal(counted(fake.lt_calls), by_lt && !by_blas);
                    assert_int_equal(counted(fake.blas_calls), by_blas);
                    assert_int_equal(counted(fake.launch_count), !by_lt);
                }
                struct gt_plan *plan = epilogue_plan(handle, text_of_problem);
                assert_int_equal(info_of(plan).uses_cublas, by_lt);
                epilogue_set_free(&set);
            }
        gt_close(handle);
    }
}

TEST(a_winner_serves_only_its_own_epilogue)
{
    put_winner(SHAPE, SIMT, 5, false);
    put_winner(SHAPE ":epilogue=bias", SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    static const struct {
        const char *text;
        int source;
    } cases[] = {{SHAPE, GT_EXACT},
                 {SHAPE ":epilogue=bias", GT_EXACT},
                 {"sgemm:nt:20x36x32:epilogue=bias", GT_NEAREST},
                 {SHAPE ":epilogue=relu", GT_FALLBACK},
                 {SHAPE ":epilogue=rowbias", GT_FALLBACK},
                 {SHAPE ":epilogue=bias+relu", GT_FALLBACK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gt_plan_info info = info_of(epilogue_plan(handle, cases[i].text));
        if (cases[i].source == GT_FALLBACK) assert_true(info.source >= GT_PREDICTED);
        else assert_int_equal(info.source, cases[i].source);
        if (i == 1 || i == 2) assert_string_equal(info.config, SIMT_LARGE);
    }
    gt_close(handle);
}

static struct gt_handle *shared;

static void *launch_often(void *set)
{
    const CUdevice device = use_primary_context();
    int failed = 0;
    for (int i = 0; i < 50; i++) failed += gemm_epilogue(shared, set) != GT_OK;
    cuda.DevicePrimaryCtxRelease(device);
    return failed ? set : NULL;
}

/* The bias is the call's, not the plan's: by a kernel, and by cublasLt. */
TEST(threads_may_have_biases_of_their_own)
{
    enum { THREADS = 4 };
    const CUdevice device = use_primary_context();
    put_winner(SHAPE ":epilogue=bias", SIMT, 5, false);
    shared = open_handle(NULL);
    static const char *const texts[] = {SHAPE ":epilogue=bias", SHAPE ":epilogue=bias+relu"};
    for (int by_lt = 0; by_lt < 2; by_lt++) {
        struct epilogue_set sets[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) sets[i] = epilogue_set_make(texts[by_lt], 0);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &sets[i]), 0);
        for (int i = 0; i < THREADS; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            assert_null(failed);
            epilogue_set_check(&sets[i], "one of many threads");
            epilogue_set_free(&sets[i]);
        }
    }
    assert_int_equal(*fake.lt_calls, THREADS * 50);
    assert_int_equal(*fake.launch_count, THREADS * 50);
    gt_close(shared);
    cuda.CtxSetCurrent(NULL);
    cuda.DevicePrimaryCtxRelease(device);
}

/* A graph launches the epilogue again, on what the operands hold then. */
TEST(an_epilogue_is_captured)
{
    CUgraph graph;
    CUgraphExec executable;
    put_winner(SHAPE ":epilogue=bias+relu", SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias+relu", 0);
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
    assert_gt(gemm_epilogue(handle, &set));
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), 0);
    assert_true(fake.launches[0].captured);
    assert_int_equal(cuda.GraphInstantiate(&executable, graph, 0), 0);
    set.bias[0] += 100;
    epilogue_set_expect(&set);
    assert_int_equal(cuda.GraphLaunch(executable, stream), 0);
    epilogue_set_check(&set, "graph");
    cuda.GraphExecDestroy(executable);
    cuda.GraphDestroy(graph);
    epilogue_set_free(&set);
    gt_close(handle);
}

/* One value for each row of a column-major C, by hand. */
TEST(the_bias_of_column_major_callers_keeps_its_direction)
{
    enum { M = 5, N = 7, K = 3 };
    struct gt_handle *handle = open_handle(NULL);
    float a[M * K], b[K * N], c[M * N], bias[N], one = 1, zero = 0;
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 5 - 2);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3);
    for (int i = 0; i < N; i++) bias[i] = (float)(10 * i);
    *fake.computes = 1;
    for (int which = GT_BIAS_COLUMN; which <= GT_BIAS_ROW; which++) {
        struct gt_problem p = gt_problem_make(M, N, K);
        struct gt_call call = gt_call_make(&one, a, b, &zero, c, stream);
        p.flags = GT_COLUMN_MAJOR;
        p.bias = which;
        p.activation = GT_ACTIVATION_RELU;
        call.bias = bias;
        assert_gt(gt_gemm(handle, &p, &call));
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float sum = bias[which == GT_BIAS_ROW ? i : j];
                for (int l = 0; l < K; l++) sum += a[l * M + i] * b[j * K + l];
                assert_true(c[j * M + i] == (sum < 0 ? 0 : sum));
            }
    }
    assert_int_equal(*fake.lt_calls, 1); /* a bias of rows is cublasLt's, too */
    gt_close(handle);
}

TEST(beta_decides_whether_there_is_a_source)
{
    put_winner(SHAPE ":epilogue=bias", SIMT, 5, false);
    put_winner(SHAPE ":beta=1:epilogue=bias+out", SIMT_LARGE, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":beta=1:epilogue=bias+out", 0);
    struct gt_problem p = public_problem(&set.o.problem);
    struct gt_plan *plan;
    assert_int_equal(p.flags, GT_OUT_OF_PLACE);
    assert_gt(gt_plan_open(handle, &p, &plan));
    assert_string_equal(info_of(plan).tuned_for, SHAPE ":epilogue=bias");
    static const double betas[] = {0, 2, 0, 1};
    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++) {
        set.o.problem.beta = betas[i];
        assert_gt(launch_epilogue(plan, &set));
        epilogue_set_check(&set, "gt_launch");
        const struct fake_launch *last = &fake.launches[*fake.launch_count - 1];
        assert_int_equal(last->threads, betas[i] != 0 ? 256 : 128);
        assert_ptr_equal(last->args.source, betas[i] != 0 ? set.source : set.o.c);
        assert_gt(gemm_epilogue(handle, &set));
        epilogue_set_check(&set, "gt_gemm");
    }
    struct epilogue_call x; /* what is not read need not be there */
    set.o.problem.beta = 0;
    epilogue_call_make(&x, &set);
    x.call.source = NULL;
    assert_gt(gt_launch(plan, &x.call));
    epilogue_set_free(&set);
    gt_close(handle);
}

TEST(with_scalars_on_the_device_the_source_is_read)
{
    put_winner(SHAPE ":epilogue=rowbias+relu+out", SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":beta=3:epilogue=rowbias+relu+out", 0);
    struct gt_problem p = public_problem(&set.o.problem);
    struct epilogue_call x;
    p.flags |= GT_SCALARS_ON_DEVICE;
    epilogue_call_make(&x, &set);
    epilogue_set_expect(&set);
    assert_gt(gt_gemm(handle, &p, &x.call));
    epilogue_set_check(&set, "scalars on the device");
    assert_int_equal(*fake.launch_count, 1);
    x.call.source = NULL;
    assert_gt_fails(gt_gemm(handle, &p, &x.call), GT_INVALID, "the source is NULL");
    epilogue_set_free(&set);
    gt_close(handle);
}

/* Batches: one bias for all, or one for each; longer than one launch takes. */
TEST(a_bias_may_belong_to_one_item_or_to_all)
{
    static const char *const texts[] = {"sgemm:nn:4x8x4:batch=3:epilogue=bias",
                                        "sgemm:nn:4x8x4:batch=3:epilogue=bias:stride_bias=8",
                                        "sgemm:nn:4x8x4:batch=3:epilogue=rowbias+gelu:stride_bias=11",
                                        "sgemm:nn:4x8x4:batch=3:beta=1:epilogue=rowbias+out:stride_bias=2",
                                        "sgemm:nn:1x4x1:batch=70000:epilogue=bias+relu:stride_bias=4"};
    for (unsigned flags = 0; flags <= GT_NO_CUBLAS; flags += GT_NO_CUBLAS)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            struct gt_handle *handle = open_flagged(flags);
            struct epilogue_set set = epilogue_set_make(texts[i], 0);
            assert_gt(gemm_epilogue(handle, &set));
            epilogue_set_check(&set, flags ? "kernel" : "any");
            epilogue_set_free(&set);
            gt_close(handle);
        }
}

/* The parts of K are summed before the epilogue, in a second kernel. */
TEST(an_epilogue_comes_after_split_k)
{
    put_winner("sgemm:nn:64x64x256:beta=1:epilogue=bias+relu+out", SIMT_SPLIT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make("sgemm:nn:64x64x256:beta=1:epilogue=bias+relu+out", 0);
    struct gt_plan *plan = epilogue_plan(handle, "sgemm:nn:64x64x256:beta=1:epilogue=bias+relu+out");
    assert_string_equal(info_of(plan).config, SIMT_SPLIT);
    assert_gt(launch_epilogue(plan, &set));
    epilogue_set_check(&set, "split");
    assert_int_equal(*fake.launch_count, 2);
    epilogue_set_free(&set);
    gt_close(handle);
}

TEST(without_k_only_the_epilogue_is_left)
{
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make("sgemm:nn:8x12x0:beta=2:epilogue=bias+gelu+out", 0);
    struct epilogue_call x;
    struct gt_problem p = public_problem(&set.o.problem);
    epilogue_call_make(&x, &set);
    epilogue_set_expect(&set);
    x.call.a = x.call.b = NULL;
    assert_gt(gt_gemm(handle, &p, &x.call));
    epilogue_set_check(&set, "K = 0");
    epilogue_set_free(&set);
    gt_close(handle);
}

/* C that is read is as important for a kernel's loads as C that is written; a bias is read one by one. */
TEST(a_source_that_is_less_aligned_has_another_kernel)
{
    put_winner(SHAPE ":beta=1:epilogue=bias+out", SIMT, 5, false);
    for (int by_plan = 0; by_plan < 2; by_plan++) {
        struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
        struct epilogue_set set = epilogue_set_make(SHAPE ":beta=1:epilogue=bias+out", 0);
        struct gt_plan *plan = epilogue_plan(handle, SHAPE ":beta=1:epilogue=bias+out");
        for (int step = 0; step < 4; step++) {
            const int loads = *fake.loads;
            float *source = set.source, *bias = set.bias;
            set.source += step == 2;
            set.bias += step == 1;
            assert_gt(by_plan ? launch_epilogue(plan, &set) : gemm_epilogue(handle, &set));
            epilogue_set_check(&set, by_plan ? "gt_launch" : "gt_gemm");
            assert_int_equal(*fake.loads - loads, step == 2);
            set.source = source, set.bias = bias;
        }
        epilogue_set_free(&set);
        gt_close(handle);
    }
}

TEST(a_source_that_is_not_read_may_be_aligned_anyhow)
{
    put_winner(SHAPE ":epilogue=bias", SIMT, 5, false);
    struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
    struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias+out", 0);
    assert_gt(gemm_epilogue(handle, &set));
    const int loads = *fake.loads;
    float *source = set.source;
    set.source++;
    assert_gt(gemm_epilogue(handle, &set));
    epilogue_set_check(&set, "gt_gemm");
    assert_int_equal(*fake.loads, loads);
    set.source = source;
    epilogue_set_free(&set);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(every_epilogue_with_a_winner_is_one_launch_of_it),
        ON_FAKES(without_a_winner_cublaslt_computes_it_or_a_plain_kernel),
        ON_FAKES(a_winner_serves_only_its_own_epilogue),
        ON_FAKES(threads_may_have_biases_of_their_own),
        ON_FAKES(an_epilogue_is_captured),
        ON_FAKES(the_bias_of_column_major_callers_keeps_its_direction),
        ON_FAKES(beta_decides_whether_there_is_a_source),
        ON_FAKES(with_scalars_on_the_device_the_source_is_read),
        ON_FAKES(a_bias_may_belong_to_one_item_or_to_all),
        ON_FAKES(an_epilogue_comes_after_split_k),
        ON_FAKES(without_k_only_the_epilogue_is_left),
        ON_FAKES(a_source_that_is_less_aligned_has_another_kernel),
        ON_FAKES(a_source_that_is_not_read_may_be_aligned_anyhow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
