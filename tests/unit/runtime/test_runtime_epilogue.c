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

static struct gt_plan *plan_of(struct gt_handle *handle, const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    struct gt_problem said = public_problem(&p);
    struct gt_plan *plan = NULL;
    if (p.beta != 0) said.flags |= GT_ADDS_TO_C;
    assert_gt(gt_plan_open(handle, &said, &plan));
    return plan;
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
            struct gt_plan *plan = plan_of(handle, text);
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

/* How many products the rivals and the kernels computed since the last time. */
static int counted(int *counter)
{
    const int count = *counter;
    *counter = 0;
    return count;
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
                struct gt_plan *plan = plan_of(handle, text_of_problem);
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
        const struct gt_plan_info info = info_of(plan_of(handle, cases[i].text));
        if (cases[i].source == GT_FALLBACK) assert_true(info.source >= GT_PREDICTED);
        else assert_int_equal(info.source, cases[i].source);
        if (i == 1 || i == 2) assert_string_equal(info.config, SIMT_LARGE);
    }
    gt_close(handle);
}

TEST(cublas_as_the_winner_is_cublaslt)
{
    put_winner(SHAPE ":epilogue=bias+gelu", NULL, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias+gelu", 0);
    struct gt_plan *plan = plan_of(handle, SHAPE ":epilogue=bias+gelu");
    assert_int_equal(info_of(plan).source, GT_EXACT);
    assert_int_equal(info_of(plan).uses_cublas, 1);
    assert_gt(launch_epilogue(plan, &set));
    epilogue_set_check(&set, "cublasLt");
    assert_int_equal(*fake.lt_calls, 1);
    assert_int_equal(*fake.lt_compute, 68);
    /* With operands that are less aligned another algorithm is asked for. */
    struct epilogue_set skewed = epilogue_set_make(SHAPE ":epilogue=bias+gelu", 1);
    for (int i = 0; i < 2; i++) {
        assert_gt(launch_epilogue(plan, &skewed));
        epilogue_set_check(&skewed, "cublasLt, skewed");
    }
    assert_int_equal(*fake.lt_calls, 3);
    epilogue_set_free(&skewed);
    epilogue_set_free(&set);
    gt_close(handle);
}

TEST(cublaslt_computes_in_the_arithmetic_of_the_type)
{
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make("tf32gemm:nt:20x36x28:epilogue=bias", 0);
    setenv("GEMMTUNE_QUIET", "1", 1);
    assert_gt(gemm_epilogue(handle, &set));
    assert_int_equal(*fake.lt_calls, 1);
    assert_int_equal(*fake.lt_compute, 77);
    epilogue_set_free(&set);
    gt_close(handle);
    setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
    handle = open_handle(NULL);
    set = epilogue_set_make(SHAPE ":epilogue=bias", 0);
    assert_gt(gemm_epilogue(handle, &set));
    unsetenv("NVIDIA_TF32_OVERRIDE");
    assert_int_equal(*fake.lt_compute, 69);
    epilogue_set_free(&set);
    gt_close(handle);
}

/* Each trouble with cublasLt ends in a plain kernel. */
TEST(without_cublaslt_a_plain_kernel_computes_it)
{
    static const struct {
        const char *variable, *value;
        int said;
    } troubles[] = {{"GEMMTUNE_LIBCUBLASLT", "/nowhere/libcublasLt.so", 1},
                    {"FAKE_LT_PROPOSES", "0", 0},
                    {"FAKE_LT_FAIL", "15", 0},
                    {"FAKE_LT_FAIL", "3", 0}};
    for (size_t i = 1; i <= sizeof troubles / sizeof *troubles; i++) {
        const size_t t = i % (sizeof troubles / sizeof *troubles); /* once it is loaded it stays */
        if (t == 0) continue;
        setenv(troubles[t].variable, troubles[t].value, 1);
        stderr_catch();
        struct gt_handle *handle = open_handle(NULL);
        struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias+relu", 0);
        for (int call = 0; call < 2; call++) {
            assert_gt(gemm_epilogue(handle, &set));
            epilogue_set_check(&set, troubles[t].variable);
        }
        assert_int_equal(*fake.lt_calls, 0);
        assert_int_equal(counted(fake.launch_count), 2);
        epilogue_set_free(&set);
        gt_close(handle);
        stderr_release();
        unsetenv(troubles[t].variable);
    }
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

TEST(cublaslt_is_asked_for_scalars_where_they_are)
{
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":beta=3:epilogue=bias+relu+out", 0);
    struct gt_problem p = public_problem(&set.o.problem);
    struct epilogue_call x;
    p.flags |= GT_SCALARS_ON_DEVICE;
    epilogue_call_make(&x, &set);
    epilogue_set_expect(&set);
    assert_gt(gt_gemm(handle, &p, &x.call));
    epilogue_set_check(&set, "scalars on the device");
    assert_int_equal(*fake.lt_calls, 1);
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
    struct gt_plan *plan = plan_of(handle, "sgemm:nn:64x64x256:beta=1:epilogue=bias+relu+out");
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

/* C that is read is as important for a kernel's loads as C that is written; a bias is read one by one. */
TEST(a_source_that_is_less_aligned_has_another_kernel)
{
    put_winner(SHAPE ":beta=1:epilogue=bias+out", SIMT, 5, false);
    for (int by_plan = 0; by_plan < 2; by_plan++) {
        struct gt_handle *handle = open_flagged(GT_NO_CUBLAS);
        struct epilogue_set set = epilogue_set_make(SHAPE ":beta=1:epilogue=bias+out", 0);
        struct gt_plan *plan = plan_of(handle, SHAPE ":beta=1:epilogue=bias+out");
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
        ON_FAKES(every_epilogue_with_a_winner_is_one_launch_of_it),
        ON_FAKES(without_a_winner_cublaslt_computes_it_or_a_plain_kernel),
        ON_FAKES(a_winner_serves_only_its_own_epilogue),
        ON_FAKES(cublas_as_the_winner_is_cublaslt),
        ON_FAKES(cublaslt_computes_in_the_arithmetic_of_the_type),
        ON_FAKES(without_cublaslt_a_plain_kernel_computes_it),
        ON_FAKES(threads_may_have_biases_of_their_own),
        ON_FAKES(an_epilogue_is_captured),
        ON_FAKES(the_bias_of_column_major_callers_keeps_its_direction),
        ON_FAKES(beta_decides_whether_there_is_a_source),
        ON_FAKES(with_scalars_on_the_device_the_source_is_read),
        ON_FAKES(cublaslt_is_asked_for_scalars_where_they_are),
        ON_FAKES(a_bias_may_belong_to_one_item_or_to_all),
        ON_FAKES(an_epilogue_comes_after_split_k),
        ON_FAKES(without_k_only_the_epilogue_is_left),
        ON_FAKES(nothing_is_launched_for_nothing),
        ON_FAKES(a_source_that_is_less_aligned_has_another_kernel),
        ON_FAKES(a_source_that_is_not_read_may_be_aligned_anyhow),
        ON_FAKES(wrong_epilogues_are_refused_with_a_sentence),
        ON_FAKES(wrong_calls_are_refused_with_a_sentence),
        ON_FAKES(matrices_may_lie_in_each_others_padding),
        ON_FAKES(a_program_with_the_header_of_before_has_no_epilogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
