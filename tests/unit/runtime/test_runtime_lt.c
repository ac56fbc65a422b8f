/* The runtime library without a GPU: problems with an epilogue that cublasLt computes. */
#include "epilogue_sets.h"

#define SHAPE "sgemm:nt:20x36x28"

TEST(cublas_as_the_winner_is_cublaslt)
{
    put_winner(SHAPE ":epilogue=bias+gelu", NULL, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias+gelu", 0);
    struct gt_plan *plan = epilogue_plan(handle, SHAPE ":epilogue=bias+gelu");
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

/* Trouble with cublasLt ends in a plain kernel, at each call. */
static void check_plain_kernel(const char *variable, const char *value)
{
    setenv(variable, value, 1);
    stderr_catch();
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias+relu", 0);
    for (int call = 0; call < 2; call++) {
        assert_gt(gemm_epilogue(handle, &set));
        epilogue_set_check(&set, variable);
    }
    assert_int_equal(*fake.lt_calls, 0);
    assert_int_equal(counted(fake.launch_count), 2);
    epilogue_set_free(&set);
    gt_close(handle);
    stderr_release();
    unsetenv(variable);
}

/* The first test: cublasLt stays once it is loaded. */
TEST(without_cublaslt_a_plain_kernel_computes_it)
{
    check_plain_kernel("GEMMTUNE_LIBCUBLASLT", "/nowhere/libcublasLt.so");
}

TEST(a_plain_kernel_computes_what_cublaslt_refuses)
{
    check_plain_kernel("FAKE_LT_PROPOSES", "0");
    check_plain_kernel("FAKE_LT_FAIL", "15");
    check_plain_kernel("FAKE_LT_FAIL", "3");
}

TEST(cublaslt_is_asked_for_scalars_where_they_are)
{
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE ":beta=3:epilogue=bias+relu+out", 0);
    assert_gt(gemm_epilogue_flagged(handle, &set, GT_SCALARS_ON_DEVICE));
    epilogue_set_check(&set, "scalars on the device");
    assert_int_equal(*fake.lt_calls, 1);
    epilogue_set_free(&set);
    gt_close(handle);
}

/* ---- the workspace ---- */

#define BIASED SHAPE ":epilogue=bias+relu"

/* Operands at multiples of 256 bytes, which is what a race has, and what they would be without. */
struct aligned_set {
    struct epilogue_set set;
    float *memory[3];
};

static float *copy_aligned(float **place, int64_t count)
{
    const size_t bytes = (size_t)count * sizeof(float);
    float *copy = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_non_null(copy);
    memcpy(copy, *place, bytes);
    *place = copy;
    return copy;
}

static struct aligned_set aligned_set_make(void)
{
    struct aligned_set a = {.set = epilogue_set_make(BIASED, 0)};
    struct operand_set *o = &a.set.o;
    a.memory[0] = copy_aligned(&o->a, problem_span_a(&o->problem));
    a.memory[1] = copy_aligned(&o->b, problem_span_b(&o->problem));
    a.memory[2] = copy_aligned(&o->c, o->span);
    a.set.source = o->c;
    a.set.bias = aligned_alloc(256, 256); /* more than the 36 columns: the bias may start later */
    assert_non_null(a.set.bias);
    for (int i = 0; i < 64; i++) a.set.bias[i] = (float)(i % 5);
    return a;
}

static void aligned_set_free(struct aligned_set *a)
{
    for (int i = 0; i < 3; i++) free(a->memory[i]);
    free(a->set.bias);
    epilogue_set_free(&a->set);
}

static struct gt_handle *open_with(size_t workspace_bytes, int workspaces)
{
    const struct gt_options options = {
        .size = sizeof options, .workspaces = workspaces, .workspace_bytes = workspace_bytes};
    put_winner(BIASED, NULL, 5, false);
    setenv("FAKE_LT_WORKSPACE", "1048576", 1);
    return open_handle(&options);
}

/* With the race's workspace and alignment the race's first proposal. */
TEST(what_won_is_what_runs)
{
    struct gt_handle *handle = open_with(0, 0);
    struct aligned_set a = aligned_set_make();
    struct gt_plan *plan = epilogue_plan(handle, BIASED);
    assert_int_equal(info_of(plan).workspace_bytes, 1 << 20);
    for (int call = 0; call < 3; call++) {
        a.set.bias += call == 1; /* less aligned than in the race */
        assert_gt(launch_epilogue(plan, &a.set));
        epilogue_set_check(&a.set, "cublasLt with a workspace");
        a.set.bias -= call == 1;
        assert_int_equal(*fake.lt_workspace, 1 << 20);
        assert_int_equal(*fake.lt_asked, 64 << 20);
        assert_int_equal(*fake.lt_alignment, call == 1 ? 16 : 256);
    }
    assert_int_equal(info_of(plan).without_workspace, 0);
    aligned_set_free(&a);
    gt_close(handle);
}

TEST(cublaslt_gets_no_more_than_the_limit_of_a_workspace)
{
    struct gt_handle *handle = open_with(1 << 19, 0);
    struct epilogue_set set = epilogue_set_make(BIASED, 0);
    struct gt_plan *plan = epilogue_plan(handle, BIASED);
    assert_int_equal(info_of(plan).workspace_bytes, 0);
    assert_gt(launch_epilogue(plan, &set));
    epilogue_set_check(&set, "cublasLt within the limit");
    assert_int_equal(*fake.lt_asked, 1 << 19);
    assert_int_equal(*fake.lt_workspace, 0);
    epilogue_set_free(&set);
    gt_close(handle);
}

/* Another algorithm of cublasLt takes the place of one that cannot have its workspace, except where the
 * caller has one. */
TEST(cublaslt_computes_without_a_workspace_if_there_is_none)
{
    struct gt_handle *handle = open_with(0, GT_NO_WORKSPACES);
    struct epilogue_set set = epilogue_set_make(BIASED, 0);
    struct gt_plan *plan = epilogue_plan(handle, BIASED);
    struct epilogue_call x;
    for (int call = 0; call < 3; call++) {
        assert_gt(launch_epilogue(plan, &set));
        epilogue_set_check(&set, "cublasLt without a workspace");
        assert_int_equal(*fake.lt_workspace, 0);
    }
    assert_int_equal(*fake.lt_calls, 3);
    assert_int_equal(info_of(plan).without_workspace, 3);
    assert_string_equal(info_of(plan).instead, "cublas");
    epilogue_call_make(&x, &set);
    epilogue_set_expect(&set);
    char *theirs = aligned_alloc(256, (1 << 20) + 256);
    assert_non_null(theirs);
    x.call.workspace = theirs + 16; /* cublasLt takes multiples of 256 */
    x.call.workspace_bytes = 1 << 20;
    assert_gt(gt_launch(plan, &x.call));
    epilogue_set_check(&set, "beside an unaligned workspace of the caller's");
    assert_int_equal(*fake.lt_workspace, 0);
    epilogue_set_expect(&set);
    x.call.workspace = theirs;
    assert_gt(gt_launch(plan, &x.call));
    epilogue_set_check(&set, "in the caller's workspace");
    assert_int_equal(*fake.lt_workspace, 1 << 20);
    assert_int_equal(((unsigned char *)theirs)[(1 << 20) - 1], 0xab); /* it was written */
    free(theirs);
    epilogue_set_free(&set);
    gt_close(handle);
}

/* A capture's workspace is the graph's. */
TEST(cublaslt_has_a_workspace_of_its_own_in_a_graph)
{
    CUgraph graph;
    struct gt_handle *handle = open_with(0, 0);
    struct epilogue_set set = epilogue_set_make(BIASED, 0);
    assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
    assert_gt(gemm_epilogue(handle, &set));
    assert_int_equal(cuda.StreamEndCapture(stream, &graph), 0);
    assert_int_equal(*fake.lt_workspace, 1 << 20);
    const int buffers = *fake.buffers;
    assert_gt(gt_trim(handle));
    assert_int_equal(*fake.buffers, buffers); /* held by the graph */
    cuda.GraphDestroy(graph);
    assert_gt(gt_trim(handle));
    assert_int_equal(*fake.buffers, buffers - 1);
    epilogue_set_free(&set);
    gt_close(handle);
}

/* ---- an algorithm that won ---- */

TEST(an_algorithm_that_won_is_launched)
{
    static const char *const texts[] = {SHAPE, SHAPE ":epilogue=bias+gelu", "tf32gemm:nn:16x16x16:batch=3",
                                        SHAPE ":beta=1"}; /* which reads C */
    for (int i = 0; i < 4; i++) put_winner(texts[i], LT_ALGORITHM, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < 4; i++) {
        struct epilogue_set set = epilogue_set_make(texts[i], 0);
        struct gt_plan *plan = epilogue_plan(handle, texts[i]);
        assert_string_equal(info_of(plan).config, LT_ALGORITHM);
        assert_int_equal(info_of(plan).source, GT_EXACT);
        assert_int_equal(info_of(plan).uses_cublas, 1);
        assert_gt(launch_epilogue(plan, &set));
        epilogue_set_check(&set, "an algorithm of cublasLt");
        assert_int_equal(*fake.lt_calls, i + 1);
        assert_int_equal(*fake.lt_compute, i == 2 ? 77 : 68);
        epilogue_set_free(&set);
    }
    gt_close(handle);
}

/* One for all calls, but for those with a bias: two threads may want different ones. */
TEST(a_call_without_a_bias_makes_no_descriptor)
{
    static const char *const texts[] = {SHAPE, SHAPE ":epilogue=gelu", SHAPE ":epilogue=bias+gelu"};
    for (int i = 0; i < 3; i++) put_winner(texts[i], LT_ALGORITHM, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    for (int i = 0; i < 3; i++) {
        struct epilogue_set set = epilogue_set_make(texts[i], 0);
        struct gt_plan *plan = epilogue_plan(handle, texts[i]);
        const int before = *fake.lt_descs, calls = *fake.lt_calls;
        for (int call = 0; call < 2; call++) {
            assert_gt(launch_epilogue(plan, &set));
            epilogue_set_check(&set, texts[i]);
        }
        assert_int_equal(*fake.lt_calls - calls, 2);
        assert_int_equal(*fake.lt_descs - before, i < 2 ? 0 : 2);
        epilogue_set_free(&set);
    }
    gt_close(handle);
}

/* A caller that stands in for cuBLAS has algorithms all the same, but no cuBLAS. */
TEST(an_algorithm_may_run_without_cublas)
{
    put_winner(SHAPE, LT_ALGORITHM, 5, false);
    for (int loaded = 0; loaded < 2; loaded++) {
        struct gt_handle *handle = open_flagged(GT_NO_CUBLAS | (loaded ? GT_LOADED_CUBLASLT : 0));
        struct epilogue_set set = epilogue_set_make(SHAPE, 0),
                            other = epilogue_set_make("sgemm:nt:28x36x28", 0);
        const int before = *fake.lt_calls;
        assert_gt(gemm_epilogue(handle, &set));
        epilogue_set_check(&set, "without cuBLAS");
        assert_int_equal(*fake.lt_calls - before, loaded);
        assert_gt(gemm_epilogue(handle, &other));
        epilogue_set_check(&other, "without cuBLAS and without a winner");
        assert_int_equal(*fake.blas_calls, 0);
        epilogue_set_free(&set);
        epilogue_set_free(&other);
        gt_close(handle);
    }
}

/* It takes multiples of 16 bytes; one call with another bias is no reason to give it up. */
TEST(a_bias_that_is_less_aligned_once_does_not_end_an_algorithm)
{
    put_winner(BIASED, LT_ALGORITHM, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct aligned_set a = aligned_set_make();
    struct gt_plan *plan = epilogue_plan(handle, BIASED);
    stderr_catch();
    for (int call = 0; call < 4; call++) {
        a.set.bias += call == 1;
        assert_gt(launch_epilogue(plan, &a.set));
        epilogue_set_check(&a.set, "an algorithm with a bias");
        a.set.bias -= call == 1;
        assert_string_equal(info_of(plan).config, LT_ALGORITHM);
    }
    stderr_release();
    assert_int_equal(*fake.lt_calls, 3 + (counted(fake.launch_count) == 0));
    aligned_set_free(&a);
    gt_close(handle);
}

/* Whoever cannot have it gets the right result by other means, and is told why. */
static void check_without_algorithm(const char *variable, const char *value, int skew, const char *why)
{
    if (variable) setenv(variable, value, 1);
    stderr_catch();
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set set = epilogue_set_make(SHAPE, skew);
    assert_gt(gemm_epilogue(handle, &set));
    epilogue_set_check(&set, variable ? variable : "unaligned");
    assert_int_equal(*fake.lt_calls, 0);
    gt_close(handle);
    epilogue_set_free(&set);
    const char *said = stderr_release();
    if (why && !strstr(said, why)) fail_msg("'%s' was not said: %s", why, said);
    if (variable) unsetenv(variable);
}

TEST(an_algorithm_is_never_exchanged_silently)
{
    put_winner(SHAPE, LT_ALGORITHM, 5, false);
    check_without_algorithm("FAKE_LT_VERSION", "130200", 0,
                            "cublasLt is of version 130200, and its algorithm was judged with 130100");
    check_without_algorithm("FAKE_LT_REFUSES", "1", 0, "does not run algorithm 21 of version 130100");
    check_without_algorithm(NULL, NULL, 1, NULL);
}

TEST(an_algorithm_serves_its_own_problem_only)
{
    put_winner(SHAPE, LT_ALGORITHM, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct epilogue_set near = epilogue_set_make("sgemm:nt:20x36x32", 0);
    assert_gt(gemm_epilogue(handle, &near));
    epilogue_set_check(&near, "a neighbour");
    assert_int_equal(*fake.lt_calls, 0);
    epilogue_set_free(&near);
    near = epilogue_set_make("tf32gemm:nt:20x36x28", 0); /* in another arithmetic it was not judged */
    assert_gt(gemm_epilogue(handle, &near));
    assert_int_equal(*fake.lt_calls, 0);
    epilogue_set_free(&near);
    gt_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKES(without_cublaslt_a_plain_kernel_computes_it),
        ON_FAKES(a_plain_kernel_computes_what_cublaslt_refuses),
        ON_FAKES(cublas_as_the_winner_is_cublaslt),
        ON_FAKES(cublaslt_computes_in_the_arithmetic_of_the_type),
        ON_FAKES(cublaslt_is_asked_for_scalars_where_they_are),
        ON_FAKES(what_won_is_what_runs),
        ON_FAKES(cublaslt_gets_no_more_than_the_limit_of_a_workspace),
        ON_FAKES(cublaslt_computes_without_a_workspace_if_there_is_none),
        ON_FAKES(cublaslt_has_a_workspace_of_its_own_in_a_graph),
        ON_FAKES(an_algorithm_that_won_is_launched),
        ON_FAKES(a_call_without_a_bias_makes_no_descriptor),
        ON_FAKES(an_algorithm_may_run_without_cublas),
        ON_FAKES(a_bias_that_is_less_aligned_once_does_not_end_an_algorithm),
        ON_FAKES(an_algorithm_is_never_exchanged_silently),
        ON_FAKES(an_algorithm_serves_its_own_problem_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
