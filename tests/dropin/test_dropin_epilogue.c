/* cublasLtMatmul with epilogues and with a result out of place under the drop-in: what a winner answers, and
 * what is passed on. */
#include "dropin_calls.h"
#include "dropin_runs.h"
#include "epilogue_sets.h"

#define SHAPE "sgemm:nn:16x24x32"

enum { RELU = 2, BIAS = 4, GELU = 32, AUX = 128 };

static const struct {
    int32_t value; /* cublasLt's */
    const char *text;
} known[] = {
    {BIAS, "bias"}, {RELU, "relu"}, {RELU | BIAS, "bias+relu"}, {GELU, "gelu"}, {GELU | BIAS, "bias+gelu"}};
enum { KNOWN = sizeof known / sizeof *known };

static char text_of_problem[PROBLEM_TEXT_MAX];

static const char *problem_with(const char *epilogue, bool adds)
{
    snprintf(text_of_problem, sizeof text_of_problem, SHAPE "%s%s%s", adds ? ":beta=1" : "",
             epilogue[0] ? ":epilogue=" : "", epilogue);
    return text_of_problem;
}

static void set_desc(const struct lt_call *x, int what, int64_t value, size_t bytes)
{
    assert_int_equal(cublasLtMatmulDescSetAttribute(x->desc, what, &value, bytes), 0);
}

static void set_epilogue(const struct lt_call *x, int32_t value, const float *bias)
{
    set_desc(x, LT_DESC_EPILOGUE, value, 4);
    set_desc(x, LT_DESC_BIAS_POINTER, (int64_t)(uintptr_t)bias, 8);
}

/* The program starts where a winner is known; a call with the bias of the operands for `text`. */
static struct epilogue_set arrive_biased(const char *winner, const char *text, struct lt_call *x)
{
    put_winner(winner, SIMT, 5, false);
    arrive();
    *x = lt_make();
    const struct epilogue_set set = epilogue_set_make(text, 0);
    set_epilogue(x, BIAS, set.bias);
    return set;
}

/* The call of a set; what is to be expected of it is in the set. */
static int run_set(const struct lt_call *x, struct epilogue_set *s)
{
    static float beta;
    beta = (float)s->o.problem.beta;
    epilogue_set_expect(s);
    return lt_run(x, &s->o, &beta, s->source);
}

static void every_epilogue_is_answered_by_its_winner(void **state)
{
    const bool winners = !getenv("NO_WINNERS");
    (void)state;
    put_winner(SHAPE, SIMT, 5, false);
    for (int i = 0; i < KNOWN && winners; i++)
        for (int adds = 0; adds < 2; adds++) put_winner(problem_with(known[i].text, adds), SIMT, 5, false);
    for (int i = 0; i < KNOWN && winners; i++) {
        char out[32];
        snprintf(out, sizeof out, "%s+out", known[i].text);
        put_winner(problem_with(out, true), SIMT, 5, false);
    }
    if (winners) put_winner(problem_with("out", true), SIMT, 5, false);
    arrive();
    struct lt_call x = lt_make();
    for (int out = 0; out < 2; out++)
        for (int i = 0; i < KNOWN; i++)
            for (int adds = 0; adds < 2; adds++) {
                char text[64];
                snprintf(text, sizeof text, "%s%s", known[i].text, out ? "+out" : "");
                struct epilogue_set set = epilogue_set_make(problem_with(text, adds), 0);
                set_epilogue(&x, known[i].value, set.bias);
                for (int call = 0; call < 3; call++) {
                    assert_went(run_set(&x, &set), winners, !winners);
                    epilogue_set_check(&set, "cublasLtMatmul");
                }
                epilogue_set_free(&set);
            }
    struct epilogue_set set = epilogue_set_make(problem_with("out", true), 0);
    set_epilogue(&x, LT_EPILOGUE_DEFAULT, NULL);
    assert_went(run_set(&x, &set), winners, !winners);
    epilogue_set_check(&set, "out of place");
    epilogue_set_free(&set);
    lt_free(&x);
}

/* The layouts were used before, without a winner or with another one. */
static void an_epilogue_that_changes_between_calls_changes_the_winner(void **state)
{
    static const struct {
        int32_t value;
        unsigned threads; /* of the winner; 0: there is none */
    } calls[] = {{LT_EPILOGUE_DEFAULT, 0}, {RELU, 0}, {BIAS, 128}, {BIAS | RELU, 256}, {BIAS, 128}, {GELU, 0},
                 {BIAS | RELU, 256}};
    (void)state;
    put_winner(SHAPE ":epilogue=bias", SIMT, 5, false);
    put_winner(SHAPE ":epilogue=bias+relu", SIMT_LARGE, 5, false);
    arrive();
    struct lt_call x = lt_make();
    struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias", 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        set_epilogue(&x, calls[i].value, set.bias);
        assert_went(lt_run(&x, &set.o, &zero, set.o.c), calls[i].threads > 0, calls[i].threads == 0);
        if (calls[i].threads) assert_int_equal(fake.launches[0].threads, calls[i].threads);
    }
    epilogue_set_free(&set);
    lt_free(&x);
}

/* An operand that is less aligned has no kernel here; that says nothing of the next call. */
static void one_call_s_alignment_is_not_another_s(void **state)
{
    (void)state;
    struct lt_call x;
    struct epilogue_set set =
        arrive_biased(SHAPE ":beta=1:epilogue=bias+out", SHAPE ":beta=1:epilogue=bias+out", &x);
    set.source++;
    assert_went(run_set(&x, &set), 0, 1);
    set.source--;
    assert_went(run_set(&x, &set), 1, 0);
    epilogue_set_check(&set, "aligned again");
    set_epilogue(&x, BIAS, ++set.bias); /* that need not be */
    assert_went(run_set(&x, &set), 1, 0);
    epilogue_set_check(&set, "a bias elsewhere");
    epilogue_set_free(&set);
    lt_free(&x);
}

static void a_batch_has_one_bias_or_one_after_the_other(void **state)
{
    static const int64_t strides[] = {0, 24, 48};
    const int batch = 3;
    const int64_t steps[] = {24 * 32, 32 * 16, 24 * 16};
    (void)state;
    put_winner(SHAPE ":batch=3:epilogue=bias", SIMT, 5, false);
    put_winner(SHAPE ":batch=3:epilogue=bias:stride_bias=24", SIMT_LARGE, 5, false);
    put_winner(SHAPE ":batch=3:epilogue=bias:stride_bias=48", SIMT, 5, false);
    arrive();
    struct lt_call x = lt_make();
    const lt_layout layouts[] = {x.a, x.b, x.c};
    for (int i = 0; i < 3; i++) {
        cublasLtMatrixLayoutSetAttribute(layouts[i], LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
        cublasLtMatrixLayoutSetAttribute(layouts[i], LT_LAYOUT_STRIDE, &steps[i], sizeof steps[i]);
    }
    for (int i = 2; i >= 0; i--) {
        struct epilogue_set set = epilogue_set_make(SHAPE ":batch=3:epilogue=bias:stride_bias=48", 0);
        set.o.problem.stride_bias = strides[i];
        set_epilogue(&x, BIAS, set.bias);
        set_desc(&x, LT_DESC_BIAS_BATCH_STRIDE, strides[i], 8);
        assert_went(run_set(&x, &set), i < 2, i == 2);
        if (i < 2) assert_int_equal(fake.launches[0].threads, i == 1 ? 256 : 128);
        epilogue_set_check(&set, "batch");
        epilogue_set_free(&set);
    }
    lt_free(&x);
}

/* The host cannot know whether C is read. */
static void scalars_on_the_device_read_c_out_of_place(void **state)
{
    (void)state;
    put_winner(SHAPE ":epilogue=relu+out", SIMT, 5, false);
    arrive();
    struct lt_call x = lt_make();
    struct epilogue_set set = epilogue_set_make(SHAPE ":beta=1:epilogue=relu+out", 0);
    set_epilogue(&x, RELU, NULL);
    set_desc(&x, LT_DESC_POINTER_MODE, BLAS_DEVICE_SCALARS, 4);
    assert_went(run_set(&x, &set), 1, 0);
    epilogue_set_check(&set, "scalars on the device");
    epilogue_set_free(&set);
    lt_free(&x);
}

/* D has been written, and C has not. */
static void a_launch_that_fails_out_of_place_is_computed_by_cublas(void **state)
{
    (void)state;
    struct lt_call x;
    struct epilogue_set set =
        arrive_biased(SHAPE ":beta=1:epilogue=bias+out", SHAPE ":beta=1:epilogue=bias+out", &x);
    assert_went(run_set(&x, &set), 1, 0);
    setenv("FAKE_GPU_FAIL", "cuLaunchKernel=999", 1);
    assert_went(run_set(&x, &set), 0, 1);
    unsetenv("FAKE_GPU_FAIL");
    epilogue_set_check(&set, "after a failed launch");
    epilogue_set_free(&set);
    lt_free(&x);
}

/* With winners for every problem that could be taken for the call's. */
static void what_no_kernel_computes_is_passed_on_as_it_is(void **state)
{
    enum { NOTHING = -1 };
    static const struct {
        int32_t epilogue;
        int what; /* of the descriptor, beside the epilogue */
        int64_t value;
        int bias, c, result, wide; /* in floats from where they were; wide: more of C's leading dimension */
    } calls[] = {{RELU | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {RELU | BIAS | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {GELU | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {GELU | BIAS | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {8 | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {8 | 16 | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {64 | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {64 | 16 | AUX, NOTHING, 0, 0, 0, 0, 0},
                 {256, NOTHING, 0, 0, 0, 0, 0},
                 {512, NOTHING, 0, 0, 0, 0, 0},
                 {RELU | GELU, NOTHING, 0, 0, 0, 0, 0},
                 {0, NOTHING, 0, 0, 0, 0, 0},
                 {BIAS, LT_DESC_BIAS_DATA_TYPE, 2, 0, 0, 0, 0},
                 {BIAS, LT_DESC_BIAS_POINTER, 0, 0, 0, 0, 0},
                 {BIAS, LT_DESC_BIAS_POINTER, 4098, 0, 0, 0, 0},
                 {BIAS, NOTHING, 0, 400, 0, 0, 0},
                 {BIAS, NOTHING, 0, 0, 4, 0, 0},
                 {BIAS, NOTHING, 0, 0, 0, 4, 0},
                 {BIAS, NOTHING, 0, 0, 0, 0, 8},
                 {BIAS, LT_DESC_TRANSC, 1, 0, 0, 0, 0},
                 {BIAS, LT_DESC_COMPUTE_TYPE, 74, 0, 0, 0, 0}};
    /* C, then D 400 floats on, and the bias in D if it is 400 floats on. */
    static float memory[4096] __attribute__((aligned(64)));
    (void)state;
    for (int i = 0; i < KNOWN; i++) put_winner(problem_with(known[i].text, true), SIMT, 5, false);
    put_winner(problem_with("bias+out", true), SIMT, 5, false);
    put_winner(problem_with("", true), SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make(SHAPE, 0);
    program_blas_idle = 1;
    *fake.computes = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct lt_call x = lt_make(), wide = lt_make();
        const int64_t ld = 24 + calls[i].wide;
        float *c = memory, *d = memory + 400, *bias = memory + 2048;
        cublasLtMatrixLayoutSetAttribute(wide.c, LT_LAYOUT_LD, &ld, sizeof ld);
        for (int good = 1; good >= 0; good--) {
            const float *c_now = c, *bias_now = bias;
            float *d_now = d;
            set_epilogue(&x, good ? BIAS : calls[i].epilogue, bias_now);
            if (!good) {
                if (calls[i].bias) set_epilogue(&x, BIAS, bias_now = d + calls[i].bias - 400 + 360);
                if (calls[i].c) c_now = d + calls[i].c;
                if (calls[i].result) d_now = o.a; /* which is read, too */
                if (calls[i].what != NOTHING)
                    set_desc(&x, calls[i].what, calls[i].value,
                             calls[i].what == LT_DESC_BIAS_POINTER ? 8 : 4);
            }
            *fake.launch_count = program_lt_calls = 0;
            assert_int_equal(cublasLtMatmul(lt_context, x.desc, &one, o.b, x.a, o.a, x.b, &one, c_now,
                                            good ? x.c : wide.c, d_now, x.c, NULL, NULL, 0, stream),
                             0);
            if (*fake.launch_count != good || program_lt_calls != !good)
                fail_msg("call %zu, good %d: %d launches, %d calls of cublasLt", i, good, *fake.launch_count,
                         program_lt_calls);
        }
        lt_free(&x);
        lt_free(&wide);
    }
    operands_free(&o);
}

/* The library is request again whether an algorithm is valid. */
static void an_algorithm_may_be_valid_without_an_epilogue_only(void **state)
{
    static char workspace[PROGRAM_LT_WORKSPACE] __attribute__((aligned(256)));
    const struct lt_algorithm algorithm = {{PROGRAM_LT_ALGORITHM, PROGRAM_LT_NO_EPILOGUE}};
    (void)state;
    put_winner(SHAPE, SIMT, 5, false);
    put_winner(SHAPE ":epilogue=bias", SIMT, 5, false);
    arrive();
    struct lt_call x = lt_make();
    struct epilogue_set set = epilogue_set_make(SHAPE ":epilogue=bias", 0);
    program_blas_idle = 1;
    for (int bias = 0; bias < 2; bias++) {
        set_epilogue(&x, bias ? BIAS : LT_EPILOGUE_DEFAULT, set.bias);
        assert_went(cublasLtMatmul(lt_context, x.desc, &one, set.o.b, x.a, set.o.a, x.b, &zero, set.o.c, x.c,
                                   set.o.c, x.c, &algorithm, workspace, sizeof workspace, stream),
                    !bias, bias);
    }
    epilogue_set_free(&set);
    lt_free(&x);
}

/* With a beta of 0 any layout will do for C; else one that means the same, whatever its bytes. */
static void only_what_c_s_layout_means_counts_and_only_if_c_is_read(void **state)
{
    const int64_t wide_ld = 32, stride = 4096;
    (void)state;
    put_winner(SHAPE, SIMT, 5, false);
    put_winner(SHAPE ":beta=1", SIMT, 5, false);
    arrive();
    struct lt_call x = lt_make(), wide = lt_make(), strided = lt_make();
    struct operand_set o = operands_make(SHAPE, 0);
    cublasLtMatrixLayoutSetAttribute(wide.c, LT_LAYOUT_LD, &wide_ld, sizeof wide_ld);
    cublasLtMatrixLayoutSetAttribute(strided.c, LT_LAYOUT_STRIDE, &stride, sizeof stride);
    program_blas_idle = 1;
    const lt_layout layouts[] = {wide.c, strided.c};
    for (int i = 0; i < 2; i++)
        for (int adds = 0; adds < 2; adds++) {
            const int answered = i == 1 || !adds;
            assert_went(cublasLtMatmul(lt_context, x.desc, &one, o.b, x.a, o.a, x.b, adds ? &one : &zero, o.c,
                                       layouts[i], o.c, x.c, NULL, NULL, 0, stream),
                        answered, !answered);
        }
    operands_free(&o);
    lt_free(&strided);
    lt_free(&wide);
    lt_free(&x);
}

/* How many questions a call without a winner costs, with winners for other sizes. */
static void layouts_without_a_winner_cost_no_questions(void **state)
{
    (void)state;
    struct lt_call x;
    struct epilogue_set set = arrive_biased("sgemm:nn:160x24x32:epilogue=bias", SHAPE ":epilogue=bias", &x);
    assert_went(run_set(&x, &set), 0, 1);
    program_blas_idle = 1;
    const int before = program_lt_questions;
    for (int i = 0; i < 10; i++) assert_went(run_set(&x, &set), 0, 1);
    assert_int_equal(program_lt_questions, before);
    epilogue_set_free(&set);
    lt_free(&x);
}

static const struct scenario scenarios[] = {
    SCENARIO(every_epilogue_is_answered_by_its_winner),
    {"every_epilogue_without_a_winner_is_cublas_s", every_epilogue_is_answered_by_its_winner, "NO_WINNERS",
     "1"},
    SCENARIO(an_epilogue_that_changes_between_calls_changes_the_winner),
    SCENARIO(one_call_s_alignment_is_not_another_s),
    SCENARIO(a_batch_has_one_bias_or_one_after_the_other),
    SCENARIO(scalars_on_the_device_read_c_out_of_place),
    SCENARIO(a_launch_that_fails_out_of_place_is_computed_by_cublas),
    SCENARIO(what_no_kernel_computes_is_passed_on_as_it_is),
    SCENARIO(an_algorithm_may_be_valid_without_an_epilogue_only),
    SCENARIO(layouts_without_a_winner_cost_no_questions),
    SCENARIO(only_what_c_s_layout_means_counts_and_only_if_c_is_read),
};

static void the_capture_names_the_epilogue(void **state)
{
    (void)state;
    setenv("NO_WINNERS", "1", 1);
    const char *text = scenario_capture("every_epilogue_is_answered_by_its_winner");
    unsetenv("NO_WINNERS");
    static const char *const lines[] = {"\n" SHAPE ":epilogue=bias  # count=6\n",
                                        "\n" SHAPE ":beta=1:epilogue=bias+gelu  # count=3\n",
                                        "\n" SHAPE ":beta=1:epilogue=bias+gelu+out  # count=3\n",
                                        "\n" SHAPE ":beta=1:epilogue=out  # count=1\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_non_null(strstr(text, lines[i]));
    assert_int_equal(lines_in(text), 1 + 3 * KNOWN + 1);
}

static void the_log_says_why_an_epilogue_is_passed_on(void **state)
{
    static const char *const reasons[] = {"its epilogue stores an auxiliary matrix for a gradient",
                                          "its epilogue is a gradient",
                                          "its epilogue is none of a bias, ReLU and GELU",
                                          "its bias is of another type than D",
                                          "its bias is NULL, or its address is no multiple of an element",
                                          "its result shares memory with another operand",
                                          "its matrices C and D have different layouts"};
    (void)state;
    const char *text = scenario_log("what_no_kernel_computes_is_passed_on_as_it_is");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const char *found = strstr(text, reasons[i]);
        if (!found) fail_msg("the log lacks '%s'", reasons[i]);
        assert_null(strstr(found + 1, reasons[i])); /* once */
    }
    assert_non_null(strstr(text, "cublasLtMatmul " SHAPE ":beta=1:epilogue=bias+out -> tuned kernel: "));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(the_capture_names_the_epilogue),
        cmocka_unit_test(the_log_says_why_an_epilogue_is_passed_on),
    };
    return dropin_main(argc, argv, "test_dropin_epilogue", scenarios, sizeof scenarios / sizeof *scenarios,
                       left, sizeof left / sizeof *left);
}
