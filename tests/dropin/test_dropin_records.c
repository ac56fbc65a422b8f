/* What the drop-in writes down: captures that add up over programs, and its log. */
#include "dropin_calls.h"
#include "dropin_runs.h"
#include "files.h"

#include <sys/file.h>
#include <time.h>

TEST(two_problems_are_computed)
{
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0),
                       p = operands_make("sgemm:nt:8x8x8:lda=12", 0);
    for (int i = 0; i < 20; i++) {
        *fake.launch_count = 0;
        assert_int_equal(sgemm_of(&o), 0);
        if (i < 10) assert_int_equal(sgemm_of(&p), 0);
    }
    cublasSetMathMode(blas_context, BLAS_TENSOR_MATH); /* less than strict FP32: not recorded */
    assert_int_equal(sgemm_of(&p), 0);
    operands_free(&o);
    operands_free(&p);
}

TEST(products_without_a_winner_are_computed)
{
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0);
    program_blas_idle = 1;
    for (int i = 0; i < 1200; i++) assert_int_equal(sgemm_of(&o), 0);
    operands_free(&o);
}

/* C = A B, and C = C - 2 A B. */
static void both_kinds_of_beta_are_computed(void **state)
{
    static const float two = -2;
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    for (int i = 0; i < 5; i++) assert_int_equal(sgemm(&o, &one, &zero), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(sgemm(&o, &two, &one), 0);
    assert_int_equal(sgemm(&o, &zero, &one), 0); /* no product */
    operands_free(&o);
}

/* What CUDA's runtime asks the driver for. */
static void *driver_function(const char *name)
{
    CUresult (*find)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    void *address = NULL;
    *(void **)&find = dlsym(dlopen(FAKE_GPU, RTLD_NOW), "cuGetProcAddress_v2");
    assert_non_null(find);
    assert_int_equal(find(name, &address, 13000, 0, NULL), 0);
    return address;
}

/* Each product once; then a graph of three products, one of them not tuned, that runs seven times; then a
 * graph without products at the same address. */
static void a_graph_is_launched_several_times(void **state)
{
    CUresult (*instantiate)(CUgraphExec *, CUgraph, unsigned long long), (*run)(CUgraphExec, CUstream);
    CUresult (*destroy)(CUgraph);
    CUgraphExec executable[3];
    CUgraph graph;
    (void)state;
    *(void **)&instantiate = driver_function("cuGraphInstantiate");
    *(void **)&run = driver_function("cuGraphLaunch");
    *(void **)&destroy = driver_function("cuGraphDestroy");
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0), p = operands_make("sgemm:nt:8x8x8", 0);
    assert_int_equal(sgemm_of(&o) || sgemm_of(&p), 0);
    for (int empty = 0; empty < 2; empty++) {
        assert_int_equal(cuda.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), 0);
        if (!empty) assert_int_equal(sgemm_of(&o) || sgemm_of(&p) || sgemm_of(&o), 0);
        assert_int_equal(cuda.StreamEndCapture(stream, &graph), 0);
        assert_int_equal(instantiate(&executable[empty], graph, 0), 0);
        if (!empty) assert_int_equal(instantiate(&executable[2], graph, 0), 0);
        assert_int_equal(destroy(graph), 0);
        for (int i = 0; i < 6; i++) assert_int_equal(run(executable[empty], stream), 0);
    }
    assert_int_equal(run(executable[2], stream), 0);
    for (int i = 0; i < 3; i++) cuda.GraphExecDestroy(executable[i]);
    operands_free(&o);
    operands_free(&p);
}

/* Of one problem a kernel won, of the other cuBLAS. */
static void each_has_won_once(void **state)
{
    (void)state;
    put_raced("sgemm:nt:8x8x8", SIMT, 5, 0.8, false, false);
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0), p = operands_make("sgemm:nt:8x8x8", 0);
    for (int i = 0; i < 10; i++) assert_int_equal(sgemm_of(&o) || sgemm_of(&p), 0);
    operands_free(&o);
    operands_free(&p);
}

/* The file of the recorder, whose lock somebody else takes. */
static int lock_capture(void)
{
    const char *file = getenv("GEMMTUNE_CAPTURE");
    const int fd = open(file ? file : "/tmp", file ? O_RDWR | O_CREAT : O_RDONLY, 0600);
    assert_true(fd >= 0 && (!file || flock(fd, LOCK_EX) == 0)); /* without a recorder nothing waits, either */
    return fd;
}

/* The recorder saves all the time, into a file whose lock somebody else has. Its calls are timed, too. */
static void calls_go_on_while_a_file_cannot_be_written(void **state)
{
    enum { PATIENCE_S = 60 };
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0), p = operands_make("sgemm:nt:8x8x8", 0);
    const int fd = lock_capture();
    assert_int_equal(sgemm_of(&o), 0);
    usleep(100000); /* it wants to save that */
    alarm(PATIENCE_S);
    for (int i = 0; i < 10; i++) assert_int_equal(sgemm_of(&o) || sgemm_of(&p), 0);
    alarm(0);
    close(fd);
    operands_free(&o);
    operands_free(&p);
}

/* The lock is still held when the program ends. */
static void a_program_ends_while_its_capture_is_locked(void **state)
{
    (void)state;
    lock_capture();
    two_problems_are_computed(state);
}

/* A shared matrix is a problem; overlapping results and other types are not. */
static void calls_that_no_winner_can_answer_are_computed(void **state)
{
    enum { FAST_16F = 74 };
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nt:16x24x32:batch=3:stride_b=0", 0);
    const struct problem *p = &o.problem;
    for (int i = 0; i < 6; i++)
        cublasSgemmStridedBatched(blas_context, p->trans_b, p->trans_a, 24, 16, 32, &one, o.b, (int)p->ldb, 0,
                                  o.a, (int)p->lda, p->stride_a, &zero, o.c, (int)p->ldc,
                                  i < 4 ? p->stride_c : 1, 3);
    for (int i = 0; i < 5; i++)
        cublasGemmEx(blas_context, 0, 0, 24, 16, 32, &one, o.b, BLAS_R_32F, 24, o.a, BLAS_R_32F, 32, &zero,
                     o.c, BLAS_R_32F, 24, FAST_16F, 0);
    operands_free(&o);
}

static const struct scenario scenarios[] = {
    SCENARIO(calls_that_no_winner_can_answer_are_computed),
    SCENARIO(two_problems_are_computed),
    SCENARIO(products_without_a_winner_are_computed),
    SCENARIO(both_kinds_of_beta_are_computed),
    SCENARIO(a_graph_is_launched_several_times),
    SCENARIO(each_has_won_once),
    SCENARIO(calls_go_on_while_a_file_cannot_be_written),
    SCENARIO(a_program_ends_while_its_capture_is_locked),
};

static void what_is_computed_is_captured_and_adds_up_over_programs(void **state)
{
    char path[] = "/tmp/gemmtune-capture-XXXXXX";
    (void)state;
    close(mkstemp(path));
    setenv("GEMMTUNE_CAPTURE", path, 1);
    setenv("FAKE_GPU_EVENTS", "1", 1);
    assert_int_equal(scenario_start("two_problems_are_computed", NULL), 0);
    const char *text = file_text(path);
    assert_non_null(strstr(
        text, "\nsgemm:nn:16x24x32  # count=20 time_us=10\nsgemm:nt:8x8x8:lda=12  # count=10 time_us=10\n"));
    assert_non_null(strstr(text, "\n# left out: count=1 its math mode allows less than strict FP32\n"));
    assert_int_equal(lines_in(text), 4);
    unsetenv("FAKE_GPU_EVENTS");
    assert_int_equal(scenario_start("two_problems_are_computed", NULL), 0);
    assert_non_null(strstr(file_text(path), "\nsgemm:nn:16x24x32  # count=40 time_us=10\n"));
    assert_non_null(strstr(file_text(path), "\n# left out: count=2 its math mode"));
    unsetenv("GEMMTUNE_CAPTURE");
    unlink(path);
}

static void a_call_that_adds_to_c_is_a_problem_of_its_own(void **state)
{
    (void)state;
    const char *text = scenario_capture("both_kinds_of_beta_are_computed");
    assert_non_null(strstr(text, "\nsgemm:nn:16x24x32  # count=5\n"));
    assert_non_null(strstr(text, "\nsgemm:nn:16x24x32:beta=1  # count=3\n"));
    assert_non_null(strstr(text, "\n# left out: count=1 it has no product to compute"));
    assert_int_equal(lines_in(text), 4);
}

static void a_product_in_a_graph_counts_as_often_as_the_graph_runs(void **state)
{
    (void)state;
    const char *text = scenario_capture("a_graph_is_launched_several_times");
    assert_non_null(strstr(text, "\nsgemm:nn:16x24x32  # count=15\n")); /* 1 + 2 * 7 */
    assert_non_null(strstr(text, "\nsgemm:nt:8x8x8  # count=8\n"));
}

static void a_capture_counts_what_it_leaves_out(void **state)
{
    (void)state;
    const char *text = scenario_capture("calls_that_no_winner_can_answer_are_computed");
    assert_non_null(strstr(text, "\nsgemm:nt:16x24x32:batch=3:stride_b=0  # count=4\n"));
    assert_non_null(strstr(text, "\n# left out: count=2 no winner can exist for it: "));
    assert_non_null(strstr(text, "\n# left out: count=5 "));
    assert_int_equal(lines_in(text), 4);
}

static void a_save_that_waits_holds_up_no_call(void **state)
{
    char folder[] = "/tmp/gemmtune-capture-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/seen.txt", folder);
    assert_int_equal(scenario_start_recorded("calls_go_on_while_a_file_cannot_be_written", NULL, path), 0);
    assert_non_null(strstr(file_text(path), "\nsgemm:nn:16x24x32  # count=11 "));
    assert_non_null(strstr(file_text(path), "\nsgemm:nt:8x8x8  # count=10 "));
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void a_capture_that_is_locked_delays_no_end_and_is_saved_beside(void **state)
{
    char folder[] = "/tmp/gemmtune-capture-XXXXXX", path[64], said[64], part[128];
    struct timespec begin, end;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/seen.txt", folder);
    snprintf(said, sizeof said, "%s/said", folder);
    setenv("GEMMTUNE_CAPTURE", path, 1);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(scenario_start("a_program_ends_while_its_capture_is_locked", said), 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 10);
    const char *at = strstr(file_text(said), "this program's problems are in ");
    assert_true(at && sscanf(at, "this program's problems are in %127[^,]", part) == 1);
    assert_non_null(strstr(file_text(part), "\nsgemm:nn:16x24x32  # count=20\n"));
    assert_int_equal(scenario_start("two_problems_are_computed", NULL), 0);
    assert_non_null(strstr(file_text(path), "\nsgemm:nn:16x24x32  # count=40\n"));
    unsetenv("GEMMTUNE_CAPTURE");
    unlink(said);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void the_log_says_once_which_call_went_where_and_why(void **state)
{
    (void)state;
    const char *text = scenario_log("two_problems_are_computed");
    assert_non_null(strstr(text,
                           "gemmtune: cublasSgemm sgemm:nn:16x24x32 -> tuned kernel: 1.250 times as fast as "
                           "cuBLAS, measured, simt BM=64"));
    assert_non_null(
        strstr(text, "gemmtune: cublasSgemm sgemm:nt:8x8x8:lda=12 -> cuBLAS: no winner is known"));
    assert_non_null(strstr(text, "-> cuBLAS: its math mode allows less than strict FP32"));
    assert_non_null(strstr(text, "gemmtune: 20 of 30 calls of products, of 2 problems, went to tuned"));
    int lines = 0; /* the test's own messages are there, too */
    for (const char *at = text; (at = strstr(at, "gemmtune: ")); at++) lines++;
    assert_int_equal(lines, 4);
}

/* What a scenario under tune run says at its end, with the lines in it. */
static void check_end(const char *name, const char *const *lines)
{
    char path[] = "/tmp/gemmtune-capture-XXXXXX", said[] = "/tmp/gemmtune-said-XXXXXX";
    close(mkstemp(path));
    close(mkstemp(said));
    setenv("GEMMTUNE_RUN", "1", 1);
    assert_int_equal(scenario_start_recorded(name, said, path), 0);
    unsetenv("GEMMTUNE_RUN");
    const char *text = file_text(said);
    for (; *lines; lines++)
        if (!strstr(text, *lines)) fail_msg("'%s' is missing in:\n%s", *lines, text);
    unlink(path);
    unlink(said);
}

static void under_tune_run_the_end_says_what_answered_the_time(void **state)
{
    static const char *const two[] = {
        "gemmtune: 0.0003 s of GPU time in products: 66.7 % answered by tuned kernels, 0.0 % by cuBLAS "
        "because it "
        "is as fast, 33.3 % by cuBLAS for other reasons\n",
        "gemmtune: the time of 1 call is not known\n",
        "sgemm:nn:16x24x32         20     20       0.20       66.7  simt, 1.250 times as fast as cuBLAS\n",
        "sgemm:nt:8x8x8:lda=12     10      0       0.10       33.3  cuBLAS: no winner is known",
        "(passed on)                1      0          -          -  its math mode allows less",
        NULL};
    static const char *const each[] = {
        "50.0 % answered by tuned kernels, 50.0 % by cuBLAS because it is as fast, 0.0 %", NULL};
    (void)state;
    check_end("two_problems_are_computed", two);
    check_end("each_has_won_once", each);
}

/* What a scenario says under tune run without a capture. */
static const char *said_at_end(const char *name)
{
    char said[] = "/tmp/gemmtune-said-XXXXXX";
    close(mkstemp(said));
    setenv("GEMMTUNE_RUN", "1", 1);
    assert_int_equal(scenario_start(name, said), 0);
    unsetenv("GEMMTUNE_RUN");
    const char *text = file_text(said);
    unlink(said);
    return text;
}

static void under_tune_run_the_last_line_says_what_was_gained(void **state)
{
    static const char
        gained[] = "gemmtune: 65 % of 31 products answered, about 1.25 times as fast\n",
        none[] = "gemmtune: none of 1,200 products was answered: tune run --log says why, --learn 10m";
    (void)state;
    const char *text = said_at_end("two_problems_are_computed");
    if (!strstr(text, gained)) fail_msg("'%s' is missing in:\n%s", gained, text);
    text = said_at_end("products_without_a_winner_are_computed");
    if (!strstr(text, none)) fail_msg("'%s' is missing in:\n%s", none, text);
    assert_null(strstr(scenario_log("two_problems_are_computed"), "products answered")); /* not by tune run */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(what_is_computed_is_captured_and_adds_up_over_programs),
        cmocka_unit_test(under_tune_run_the_last_line_says_what_was_gained),
        cmocka_unit_test(a_call_that_adds_to_c_is_a_problem_of_its_own),
        cmocka_unit_test(a_product_in_a_graph_counts_as_often_as_the_graph_runs),
        cmocka_unit_test(a_capture_counts_what_it_leaves_out),
        cmocka_unit_test(a_save_that_waits_holds_up_no_call),
        cmocka_unit_test(a_capture_that_is_locked_delays_no_end_and_is_saved_beside),
        cmocka_unit_test(the_log_says_once_which_call_went_where_and_why),
        cmocka_unit_test(under_tune_run_the_end_says_what_answered_the_time),
    };
    return dropin_main(argc, argv, "test_dropin_records", scenarios, sizeof scenarios / sizeof *scenarios,
                       left, sizeof left / sizeof *left);
}
