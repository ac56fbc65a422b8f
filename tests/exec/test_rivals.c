/* The rivals on the host device, with a cuBLAS and a cublasLt in host memory: operands and layouts are passed
 * correctly, and the best right algorithm is chosen. */
#include "fake_rivals.h"
#include "host_device.h"
#include "kernel.h"
#include "lt_kernel.h"
#include "rival_open.h"
#include "trial_setup.h"
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct device device;
static struct trial_setup setup;
static struct fake_rivals *fake;
static struct kernel kernel;
static char detail[RIVAL_DETAIL_MAX];

static int open_setup(void **state)
{
    (void)state;
    setenv("GEMMTUNE_LIBCUBLAS", FAKE_RIVALS, 1);
    setenv("GEMMTUNE_LIBCUBLASLT", FAKE_RIVALS, 1);
    void *library = dlopen(FAKE_RIVALS, RTLD_NOW);
    if (!library) return -1;
    fake = dlsym(library, "fake_rivals");
    fake->spend = host_spend;
    setup = (struct trial_setup){.device = &device};
    host_device_open(&device, &setup.kernels);
    device.stream = (CUstream)(void *)&device; /* any stream but the default one */
    return stopwatch_open(&device, &setup.watch) != OK;
}

static int close_setup(void **state)
{
    (void)state;
    trial_setup_clear(&setup);
    stopwatch_close(&setup.watch);
    return 0;
}

static void prepare(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    assert_ok(trial_setup_prepare(&setup, &p, false, 3));
    memset(fake->answer, 0, sizeof fake->answer);
    fake->answers = 1;
    fake->answer[0].us = 2000;
    fake->autotune_calls = 0;
}

/* Opens the row of this role that fits the setup's problem. */
static enum status open_as(const char *role)
{
    const struct rival_row *row = rival_for(role, &setup.problem);
    assert_non_null(row);
    return row->open(&setup, row, &kernel, detail);
}

static int nothing_is_left(void **state)
{
    (void)state;
    kernel_close(&kernel);
    return fake->open != 0;
}

static const char *const plain[] = {"sgemm:nn:16x24x32",
                                    "sgemm:nt:16x24x32",
                                    "sgemm:tn:16x24x32",
                                    "sgemm:tt:17x9x5",
                                    "sgemm:nt:12x20x8:lda=16:ldb=24:ldc=28:alpha=2:beta=-1",
                                    "sgemm:tn:7x5x6:batch=3:lda=12:stride_b=100:beta=2",
                                    "sgemm:nn:1x8x1"};

static const char *const with_epilogue[] = {
    "sgemm:nn:16x24x32:epilogue=bias",
    "sgemm:nt:17x9x5:epilogue=relu",
    "sgemm:tn:17x9x5:beta=2:epilogue=bias+relu+out",
    "sgemm:tt:17x9x5:epilogue=gelu+out",
    "sgemm:nt:12x20x8:lda=16:ldb=24:ldc=28:alpha=2:beta=-1:epilogue=bias+gelu",
    "sgemm:tn:7x5x6:batch=3:lda=12:stride_b=100:beta=2:epilogue=bias+out:stride_bias=11",
    "sgemm:nn:7x5x6:batch=3:epilogue=bias",
    "tf32gemm:nn:8x8x8:beta=1:epilogue=out"};

#define ALL(texts) texts, sizeof texts / sizeof *(texts)

/* The rival of this role computes each problem; autotune is called at least this often. */
static void assert_asked_for_the_problem(const char *role, int autotune_calls, const char *const *texts,
                                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct judgement judgement;
        prepare(texts[i]);
        assert_ok(open_as(role));
        assert_ok(oracle_judge(&setup.oracle, &kernel, &judgement));
        if (!judgement.right || !judgement.exact) fail_msg("%s: %s", texts[i], judgement.detail);
        assert_true(fake->autotune_calls >= autotune_calls);
        if (setup.problem.epilogue)
            assert_int_equal(fake->out_of_place, epilogue_out_of_place(setup.problem.epilogue));
        kernel_close(&kernel);
    }
}

TEST(lt_is_asked_for_the_problem_itself)
{
    assert_asked_for_the_problem("lt", 0, ALL(plain));
    assert_true(fake->alignment_a >= 4 && fake->alignment_a <= 256);
}

TEST(with_an_epilogue_both_anchor_and_lt_compute_it_in_the_same_call)
{
    assert_asked_for_the_problem("cublas", 0, ALL(with_epilogue));
    assert_asked_for_the_problem("lt", 0, ALL(with_epilogue));
}

TEST(for_pointers_the_anchor_is_given_the_arrays)
{
    static const char *const texts[] = {
        "sgemm:nn:16x24x32:batch=3:pointers", "sgemm:nt:17x9x5:batch=5:pointers:beta=2",
        "sgemm:tn:7x5x6:lda=12:ldc=8:batch=2:pointers:alpha=2", "sgemm:tt:7x5x6:pointers",
        "tf32gemm:nt:7x5x6:batch=4:pointers:beta=1"};
    const int before = fake->pointer_products;
    assert_asked_for_the_problem("cublas", 0, ALL(texts));
    assert_true(fake->pointer_products >= before + 5);
}

TEST(the_anchor_with_an_epilogue_is_what_cublaslt_proposes_first)
{
    prepare("17x9x5:epilogue=bias");
    fake->answer[0] = (struct fake_answer){.us = 10, .state = 15};
    fake->answer[1] = (struct fake_answer){.us = 300, .wrong = 1};
    fake->answer[2] = (struct fake_answer){.us = 100};
    fake->answers = 3;
    assert_ok(open_as("cublas"));
    assert_string_equal(detail,
                        "answer 2 of 3"); /* the first that is usable; it is judged where it is used */
    kernel_close(&kernel);
    assert_ok(open_as("lt"));
    assert_string_equal(detail, "answer 3 of 3");
    kernel_close(&kernel);
    fake->answer[1].state = fake->answer[2].state = 15;
    assert_fails(open_as("cublas"), E_ABSENT, "none of the 3 algorithms");
}

TEST(the_fastest_answer_that_runs_and_is_right_is_taken)
{
    prepare("17x9x5");
    fake->answer[0] = (struct fake_answer){.us = 400};
    fake->answer[1] = (struct fake_answer){.us = 100, .wrong = 1};
    fake->answer[2] = (struct fake_answer){.us = 30, .state = 15};
    fake->answer[3] = (struct fake_answer){.us = 200};
    fake->answer[4] = (struct fake_answer){.us = 0}; /* proposed, but refused at launch */
    fake->answer[5] = (struct fake_answer){.us = 20, .workspace_bytes = (size_t)65 << 20};
    fake->answer[6] = (struct fake_answer){.us = 201};
    fake->answers = 7;
    assert_ok(open_as("lt"));
    assert_string_equal(detail, "answer 4 of 7");
    struct timed timed;
    double us;
    int64_t calls;
    assert_ok(timed_start(&setup.watch, &setup.work, &kernel, &timed));
    assert_ok(timed_blocks(&timed, 1, 5000, &us, &calls, NULL));
    assert_true(us >= 200 && us < 250); /* plus the duration of a launch */
    timed_stop(&timed);
}

TEST(without_an_answer_that_is_right_there_is_no_rival)
{
    prepare("17x9x5");
    fake->answer[0].wrong = 1;
    assert_fails(open_as("lt"), E_ABSENT, "none of the 1 algorithms");
    fake->answers = 0;
    assert_fails(open_as("lt"), E_ABSENT, "propose");
}

TEST(autotune_is_asked_for_the_problem_itself)
{
    assert_asked_for_the_problem("autotune", 6, ALL(plain));
}

TEST(an_autotuner_that_fails_or_is_wrong_is_no_rival)
{
    prepare("17x9x5");
    fake->answer[0].us = 0;
    assert_fails(open_as("autotune"), E_ABSENT, "CUBLAS_GEMM_AUTOTUNE");
    fake->answer[0] = (struct fake_answer){.us = 2000, .wrong = 1};
    assert_fails(open_as("autotune"), E_ABSENT, "wrong C");
}

TEST(the_row_of_a_role_is_the_one_that_fits_the_type)
{
    static const struct {
        const char *role;
        enum gemm_type needed;
        const char *kind, *name; /* an epilogue or pointers; name: NULL: there is none */
    } rows[] = {
        {"cublas", GEMM_SGEMM, "", "cublasSgemm"},
        {"cublas", GEMM_SGEMM_ACCURATE, "", "cublasSgemm"},
        {"cublas", GEMM_SGEMM_NORMWISE, "", "cublasSgemm"},
        {"cublas", GEMM_TF32, "", "cublasGemmEx TF32"},
        {"lt", GEMM_SGEMM, "", "cublasLt"},
        {"lt", GEMM_TF32, "", "cublasLt TF32"},
        {"autotune", GEMM_SGEMM_NORMWISE, "", "cublasGemmEx autotune"},
        {"autotune", GEMM_TF32, "", "cublasGemmEx TF32 autotune"},
        {"bf16x9", GEMM_SGEMM, "", NULL}, /* emulated FP32 is no rival for strict problems */
        {"bf16x9", GEMM_SGEMM_ACCURATE, "", "cublasGemmEx BF16x9"},
        {"bf16x9", GEMM_TF32, "", NULL}, /* of which nobody has proven what TF32 promises for each element */
        {"nobody", GEMM_SGEMM, "", NULL},
        {"cublas", GEMM_SGEMM, "bias", "cublasLt epilogue"},
        {"cublas", GEMM_SGEMM_ACCURATE, "gelu", "cublasLt epilogue"},
        {"cublas", GEMM_TF32, "bias+relu+out", "cublasLt TF32 epilogue"},
        {"cublas", GEMM_SGEMM, "out", "cublasLt epilogue"},
        {"cublas", GEMM_SGEMM, "rowbias", NULL}, /* NVIDIA's libraries fuse no bias by rows */
        {"lt", GEMM_SGEMM, "bias+gelu", "cublasLt"},
        {"lt", GEMM_TF32, "rowbias+relu+out", NULL},
        {"autotune", GEMM_SGEMM, "bias", NULL},
        {"bf16x9", GEMM_SGEMM_ACCURATE, "relu", NULL},
        {"cublas", GEMM_SGEMM, "pointers", "cublasSgemmBatched"},
        {"cublas", GEMM_TF32, "pointers", "cublasGemmBatchedEx TF32"},
        {"lt", GEMM_SGEMM, "pointers", NULL},
        {"cublas", GEMM_BF16, "", "cublasGemmEx BF16"},
        {"cublas", GEMM_F16, "pointers", "cublasGemmBatchedEx FP16"},
        {"cublas", GEMM_F16, "bias+gelu", "cublasLt FP16 epilogue"},
        {"lt", GEMM_BF16, "", "cublasLt BF16"},
        {"autotune", GEMM_BF16, "", "cublasGemmEx BF16 autotune"},
        {"bf16x9", GEMM_BF16, "", NULL},
        {"cublas", GEMM_BF16_TO_F32, "", "cublasGemmEx BF16/FP32"},
        {"lt", GEMM_F16_TO_F32, "bias", "cublasLt FP16/FP32"},
        {"autotune", GEMM_SGEMM, "pointers", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct problem problem = {.type = rows[i].needed};
        problem.pointers = strcmp(rows[i].kind, "pointers") == 0;
        if (rows[i].kind[0] && !problem.pointers) assert_ok(epilogue_parse(rows[i].kind, &problem.epilogue));
        const struct rival_row *row = rival_for(rows[i].role, &problem);
        if (rows[i].name) assert_string_equal(row->name, rows[i].name);
        else assert_null(row);
    }
    for (int i = 0; rival_at(i); i++) {
        assert_true(strlen(rival_at(i)->name) < 32); /* stored with a decision */
        for (int j = 0; j < i; j++) assert_string_not_equal(rival_at(i)->name, rival_at(j)->name);
    }
    for (int type = 0; type < GEMM_TYPE_COUNT; type++)
        for (int code = 0; code < EPILOGUE_CODES; code++) {
            const struct problem problem = {.type = (enum gemm_type)type, .epilogue = code};
            const bool fused = epilogue_is_known(code) && epilogue_bias(code) != BIAS_ROW;
            assert_int_equal(rival_anchor(&problem) != NULL, fused);
        }
}

/* With the operands of an FP32 problem, which the fake leaves alone then. */
TEST(rows_of_16_bit_types_say_their_elements_and_sum_in_fp32)
{
    int count = 0;
    for (int i = 0; rival_at(i); i++) {
        const struct rival_row *row = rival_at(i);
        const enum element element = gemm_type_row(row->delivers)->a;
        if (element == ELEMENT_F32 || row->open == rival_lt_open ||
            row->algorithm == RIVAL_ALGORITHM_AUTOTUNE)
            continue;
        prepare(row->pointers ? "17x9x5:batch=2:pointers" : count % 2 ? "17x9x5:batch=3" : "17x9x5");
        setup.problem.type = row->delivers;
        fake->element = fake->compute = -1;
        assert_ok(row->open(&setup, row, &kernel, detail));
        const struct operands operands = workload_operands(&setup.work, 0);
        assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
        assert_int_equal(fake->element, element == ELEMENT_F16 ? 2 : 14);
        assert_int_equal(fake->compute, BLAS_COMPUTE_32F);
        kernel_close(&kernel);
        count++;
    }
    assert_int_equal(count, 8);
}

/* cublasLtReductionScheme_t: 2 adds the parts in the compute type. */
TEST(algorithms_that_add_in_a_narrow_c_are_not_asked_for)
{
    static const struct {
        enum gemm_type type;
        unsigned sums;
    } rows[] = {{GEMM_SGEMM, 0}, {GEMM_BF16, 2}, {GEMM_F16, 2}, {GEMM_F16_TO_F32, 0}, {GEMM_TF32, 0}};
    struct config configs[BLAS_LT_ANSWERS_MAX];
    int count;
    prepare("17x9x5");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct problem p = setup.problem;
        p.type = rows[i].type;
        fake->sums = 99;
        assert_ok(lt_kernel_candidates(setup.device, &p, configs, &count));
        assert_int_equal(fake->sums, rows[i].sums);
    }
}

/* What a row of the table requests, without environment variables and with one that asks for TF32. */
TEST(each_row_asks_for_its_own_arithmetic_and_strict_ones_stay_strict)
{
    enum { PEDANTIC_MATH = 2, EAGER = 2 };
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        if (relaxed) setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
        for (int i = 0; rival_at(i); i++) {
            const struct rival_row *row = rival_at(i);
            const bool strict = row->delivers == GEMM_SGEMM, lt = row->open == rival_lt_open;
            struct judgement judgement;
            if (gemm_type_row(row->delivers)->a != ELEMENT_F32) continue;
            prepare(row->pointers        ? "17x9x5:batch=2:pointers"
                    : row->epilogues & 1 ? "17x9x5"
                                         : "17x9x5:epilogue=bias");
            setup.problem.type = row->delivers;
            fake->math = fake->compute = fake->emulation = -1;
            assert_ok(row->open(&setup, row, &kernel, detail));
            assert_ok(oracle_judge(&setup.oracle, &kernel, &judgement));
            assert_true(judgement.right);
            if (lt) assert_int_equal(fake->compute, strict && relaxed ? 69 : row->compute);
            else assert_int_equal(fake->math, strict && relaxed ? PEDANTIC_MATH : 0);
            if (!lt && row->compute) assert_int_equal(fake->compute, row->compute);
            assert_int_equal(fake->emulation, row->compute == BLAS_COMPUTE_32F_BF16X9 ? EAGER : -1);
            kernel_close(&kernel);
        }
    }
    unsetenv("NVIDIA_TF32_OVERRIDE");
}

TEST(emulation_that_cublas_refuses_is_no_rival)
{
    prepare("17x9x5");
    setup.problem.type = GEMM_SGEMM_ACCURATE;
    fake->no_emulation = 1;
    assert_fails(open_as("bf16x9"), E_ABSENT, "could not emulate FP32");
    fake->no_emulation = 0;
    assert_ok(open_as("bf16x9"));
}

/* Items of 1x2x3; judging that many would take minutes. */
TEST(a_long_batch_is_two_calls)
{
    enum { ITEMS = 70000 };
    static float a[ITEMS][3], b[ITEMS][6], c[ITEMS][2];
    const struct operands operands = {
        .at = {(CUdeviceptr)(uintptr_t)a, (CUdeviceptr)(uintptr_t)b, (CUdeviceptr)(uintptr_t)c}};
    for (int i = 0; i < ITEMS; i++) {
        for (int j = 0; j < 3; j++) a[i][j] = (float)(i % 100 + j);
        for (int j = 0; j < 6; j++) b[i][j] = (float)(i % 70 - j);
    }
    prepare("17x9x5");
    assert_ok(problem_parse("tf32gemm:nn:1x2x3:batch=70000", &setup.problem));
    assert_ok(open_as("cublas"));
    fake->products = 0;
    assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
    assert_int_equal(fake->products, 2);
    for (int i = 0; i < ITEMS; i++)
        for (int j = 0; j < 2; j++)
            assert_true(c[i][j] == a[i][0] * b[i][j] + a[i][1] * b[i][2 + j] + a[i][2] * b[i][4 + j]);
}

TEST(a_long_batch_of_pointers_is_two_calls)
{
    enum { ITEMS = 70000 };
    static float a[ITEMS], b[ITEMS], c[ITEMS], *at_a[ITEMS], *at_b[ITEMS], *at_c[ITEMS];
    const struct operands operands = {
        .at = {(CUdeviceptr)(uintptr_t)at_a, (CUdeviceptr)(uintptr_t)at_b, (CUdeviceptr)(uintptr_t)at_c}};
    for (int i = 0; i < ITEMS; i++) {
        a[i] = (float)(i % 100), b[i] = (float)(i % 70);
        at_a[i] = &a[ITEMS - 1 - i], at_b[i] = &b[i], at_c[i] = &c[i];
    }
    prepare("17x9x5:pointers");
    assert_ok(problem_parse("sgemm:nn:1x1x1:batch=70000:pointers", &setup.problem));
    assert_ok(open_as("cublas"));
    fake->products = 0;
    assert_ok(kernel.launch(kernel.self, &operands, 1, 0));
    assert_int_equal(fake->products, 2);
    for (int i = 0; i < ITEMS; i++) assert_true(c[i] == a[ITEMS - 1 - i] * b[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lt_is_asked_for_the_problem_itself, nothing_is_left),
        cmocka_unit_test_teardown(with_an_epilogue_both_anchor_and_lt_compute_it_in_the_same_call,
                                  nothing_is_left),
        cmocka_unit_test_teardown(for_pointers_the_anchor_is_given_the_arrays, nothing_is_left),
        cmocka_unit_test_teardown(the_anchor_with_an_epilogue_is_what_cublaslt_proposes_first,
                                  nothing_is_left),
        cmocka_unit_test_teardown(the_fastest_answer_that_runs_and_is_right_is_taken, nothing_is_left),
        cmocka_unit_test_teardown(without_an_answer_that_is_right_there_is_no_rival, nothing_is_left),
        cmocka_unit_test_teardown(autotune_is_asked_for_the_problem_itself, nothing_is_left),
        cmocka_unit_test_teardown(the_row_of_a_role_is_the_one_that_fits_the_type, nothing_is_left),
        cmocka_unit_test(algorithms_that_add_in_a_narrow_c_are_not_asked_for),
        cmocka_unit_test_teardown(each_row_asks_for_its_own_arithmetic_and_strict_ones_stay_strict,
                                  nothing_is_left),
        cmocka_unit_test_teardown(rows_of_16_bit_types_say_their_elements_and_sum_in_fp32, nothing_is_left),
        cmocka_unit_test_teardown(emulation_that_cublas_refuses_is_no_rival, nothing_is_left),
        cmocka_unit_test_teardown(a_long_batch_of_pointers_is_two_calls, nothing_is_left),
        cmocka_unit_test_teardown(a_long_batch_is_two_calls, nothing_is_left),
        cmocka_unit_test_teardown(an_autotuner_that_fails_or_is_wrong_is_no_rival, nothing_is_left),
    };
    return cmocka_run_group_tests(tests, open_setup, close_setup);
}
