/* Trial, race blocks and verification on the host device; loading of kernels and cuBLAS is replaced by
 * faulty kernels. */
#include "accuracy_check.h"
#include "contenders.h"
#include "exec_problems.h"
#include "faulty_kernels.h"
#include "host_device.h"
#include "ladder.h"
#include "rival_open.h"
#include "unit.h"
#include "verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct device device;
static struct trial_setup setup;

/* ---- loading, replaced ---- */

static struct faulty_kernel next; /* returned by the next kernel_load */
static enum status load_answer;   /* its status */
static int loaded, open_kernels, made_calls;
static bool rival_there;

static void faulty_close(void *self)
{
    made_calls += ((const struct faulty_kernel *)self)->calls;
    free(self);
    open_kernels--;
}

static void give(const struct problem *problem, struct kernel *kernel)
{
    struct faulty_kernel *faulty = malloc(sizeof *faulty);
    if (!faulty) abort();
    *faulty = next;
    faulty->problem = *problem;
    *kernel = (struct kernel){.self = faulty, .launch = faulty_launch, .close = faulty_close};
    open_kernels++;
}

enum status kernel_load(struct device *on, const struct config *config, const struct problem *problem,
                        const char *cubin_path, const char *checksum, struct kernel *kernel)
{
    (void)on, (void)config, (void)cubin_path, (void)checksum;
    *kernel = (struct kernel){0};
    loaded++;
    if (load_answer) return fail(load_answer, "too many registers");
    give(problem, kernel);
    return OK;
}

void kernel_close(struct kernel *kernel)
{
    if (kernel->close) kernel->close(kernel->self);
    *kernel = (struct kernel){0};
}

enum status rival_sgemm_open(struct trial_setup *on, const struct rival_row *row, struct kernel *kernel,
                             char detail[RIVAL_DETAIL_MAX])
{
    (void)row, (void)detail;
    *kernel = (struct kernel){0};
    if (!rival_there) return fail(E_ABSENT, "no cuBLAS");
    give(&on->problem, kernel);
    return OK;
}

static bool searcher_there; /* whether there is a rival besides cuBLAS */
static int searched;

static enum status search(struct trial_setup *on, const struct rival_row *row, struct kernel *kernel,
                          char detail[RIVAL_DETAIL_MAX])
{
    searched++;
    *kernel = (struct kernel){0};
    if (!searcher_there) return fail(E_ABSENT, "no %s", row->name);
    snprintf(detail, RIVAL_DETAIL_MAX, "%s", row->name);
    give(&on->problem, kernel);
    return OK;
}

enum status rival_lt_open(struct trial_setup *on, const struct rival_row *row, struct kernel *kernel,
                          char detail[RIVAL_DETAIL_MAX])
{
    return search(on, row, kernel, detail);
}

enum status rival_gemm_ex_open(struct trial_setup *on, const struct rival_row *row, struct kernel *kernel,
                               char detail[RIVAL_DETAIL_MAX])
{
    return search(on, row, kernel, detail);
}

/* ---- ---- */

/* A right candidate that takes 2 ms per call. */
static struct candidate make_candidate(int group)
{
    struct candidate candidate = {.cubin = "", .checksum = "abc", .facts = {.registers = 99}};
    candidate.config.template = template_find("simt");
    const struct template *t = candidate.config.template;
    for (int i = 0; i < t->param_count; i++) candidate.config.value[i] = t->params[i].least;
    config_set(&candidate.config, "BM", 8), config_set(&candidate.config, "BN", 8);
    config_set(&candidate.config, "BK", 4), config_set(&candidate.config, "GROUP", group);
    return candidate;
}

static void prepare(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    assert_ok(trial_setup_prepare(&setup, &p, false, 3));
    next = (struct faulty_kernel){.us = 1900};
    load_answer = OK;
}

static struct outcome try(double best_us)
{
    struct outcome outcome;
    struct candidate candidate = make_candidate(1);
    assert_ok(trial_run(&setup, &candidate, best_us, 0, &outcome));
    assert_int_equal(open_kernels, 0);
    return outcome;
}

static int open_setup(void **state)
{
    (void)state;
    setup = (struct trial_setup){.device = &device};
    host_device_open(&device, &setup.kernels);
    return stopwatch_open(&device, &setup.watch) != OK;
}

static int close_setup(void **state)
{
    (void)state;
    trial_setup_clear(&setup);
    stopwatch_close(&setup.watch);
    return host_bytes_in_use != 0 || open_kernels != 0;
}

/* ---- trials ---- */

TEST(a_right_candidate_is_measured_with_ten_samples)
{
    prepare("17x9x5:beta=1");
    struct outcome o = try(0);
    if (o.verdict != VERDICT_MEASURED) fail_msg("%s: %s", verdict_name(o.verdict), o.detail);
    assert_int_equal(o.sample_count, 10);
    assert_true(fabs(o.time_us - 1905) < 0.1);
    assert_true(o.exact && o.worst_error <= 1 && !o.cold);
    assert_string_equal(o.detail, "");
    assert_int_equal(o.facts.registers, 99);
    assert_true(o.wall_ms > 0);
}

TEST(a_slower_candidate_is_dropped_the_sooner_the_slower_it_is)
{
    prepare("17x9x5");
    const struct {
        double best_us;
        enum verdict verdict;
        int samples;
    } steps[] = {{1850, VERDICT_MEASURED, 10},
                 {1800, VERDICT_MEASURED, 3},
                 {1600, VERDICT_SLOW, 3},
                 {1300, VERDICT_SLOW, 3},
                 {600, VERDICT_SLOW, 1}};
    for (size_t i = 0; i < 5; i++) {
        struct outcome o = try(steps[i].best_us);
        assert_int_equal(o.verdict, steps[i].verdict);
        assert_int_equal(o.sample_count, steps[i].samples);
        assert_true(outcome_usable(&o) && o.time_us > 0);
    }
}

TEST(a_long_call_is_timed_five_times_and_dropped_after_one)
{
    prepare("17x9x5");
    next.us = 3000;
    struct outcome o = try(2900);
    assert_int_equal(o.verdict, VERDICT_MEASURED);
    assert_int_equal(o.sample_count, 5);
    o = try(2500);
    assert_int_equal(o.verdict, VERDICT_SLOW);
    assert_int_equal(o.sample_count, 1);
}

static struct outcome try_within(double best_us, double limit_s)
{
    struct outcome outcome;
    struct candidate candidate = make_candidate(1);
    made_calls = 0;
    assert_ok(trial_run(&setup, &candidate, best_us, limit_s, &outcome));
    return outcome;
}

/* Judged three times, and timed once. */
TEST(a_call_of_seconds_is_made_four_times_and_once_if_there_is_no_time_for_more)
{
    prepare("17x9x5");
    next.us = 2.5e6;
    struct outcome o = try_within(0, 0);
    assert_int_equal(o.verdict, VERDICT_MEASURED);
    assert_int_equal(made_calls, 4);
    assert_int_equal(o.sample_count, 1);
    o = try_within(0, 12);
    assert_int_equal(o.verdict, VERDICT_SLOW);
    assert_int_equal(made_calls, 1);
    assert_true(fabs(o.time_us - 2.5e6) < 100 && o.sample_count == 1);
    o = try_within(2e4, 60);
    assert_int_equal(o.verdict, VERDICT_SLOW);
    assert_int_equal(made_calls, 1);
    next.fault = ONE_OFF;
    assert_int_equal(try_within(0, 12).verdict, VERDICT_WRONG);
}

TEST(a_check_of_calls_of_seconds_makes_as_few_as_there_is_time_for)
{
    prepare("17x9x5");
    struct candidate candidate = make_candidate(1);
    struct verification v;
    made_calls = 0;
    assert_ok(verify_run(&setup, &candidate, 0, 0, &v));
    const int all = made_calls;
    made_calls = 0;
    assert_ok(verify_run(&setup, &candidate, 2.5e6, 10, &v));
    assert_int_equal(v.verdict, VERDICT_MEASURED);
    assert_int_equal(all - made_calls, 19);
    made_calls = 0;
    assert_ok(verify_run(&setup, &candidate, 2.5e6, 3, &v));
    assert_int_equal(all - made_calls, 22);
    assert_true(accuracy_is_known(&v.errors));
    next.fault = RANDOM_ONLY;
    assert_ok(verify_run(&setup, &candidate, 2.5e6, 3, &v));
    assert_int_equal(v.verdict, VERDICT_WRONG);
}

TEST(a_wrong_candidate_is_not_timed_and_harms_no_later_one)
{
    prepare("17x9x5");
    next.fault = OPERANDS_OVERWRITTEN;
    struct outcome o = try(0);
    assert_int_equal(o.verdict, VERDICT_WRONG);
    assert_int_equal(o.sample_count, 0);
    assert_true(o.time_us == 0 && strlen(o.detail) > 0);
    next.fault = NONE;
    assert_int_equal(try(0).verdict, VERDICT_MEASURED);
}

TEST(an_innocent_is_not_blamed_for_operands_that_another_spoilt)
{
    prepare("17x9x5");
    host_memory(workload_operands(&setup.work, 0).at[OPERAND_B])[7] = 1e9f;
    assert_int_equal(try(0).verdict, VERDICT_MEASURED);
}

TEST(a_class_of_accuracy_needs_a_rivals_errors)
{
    prepare("sgemm_accurate:nn:17x9x5");
    struct outcome o = try(0);
    assert_int_equal(o.verdict, VERDICT_WRONG);
    assert_non_null(strstr(o.detail, "no rival's errors"));
    setup.anchor_errors = o.errors;
    assert_int_equal(try(0).verdict, VERDICT_MEASURED);
}

/* A kernel that needs lines at multiples of 16 bytes has them in the last check, too. */
TEST(the_problem_of_the_last_check_keeps_aligned_lines)
{
    struct problem tuned;
    assert_ok(problem_parse("sgemm_accurate:nt:600x1001x1001:lda=1004:ldb=1004:ldc=1004", &tuned));
    struct problem p = accuracy_problem(&tuned);
    assert_true(p.m == 512 && p.n == 512 && p.k == 1001);
    assert_true(p.lda == 1004 && p.ldb == 1004 && p.ldc == 512);
    assert_null(problem_check(&p));
    assert_ok(problem_parse("sgemm_accurate:nt:600x1001x1001", &tuned));
    p = accuracy_problem(&tuned);
    assert_true(p.lda == 1001 && p.ldb == 1001 && p.ldc == 512);
}

/* 8 times FP32's error is too much on most kinds of data, and allowed below the bound on the others. */
TEST(a_kind_of_data_with_a_bound_asks_for_that_alone)
{
    const struct gemm_type_row *row = gemm_type_row(GEMM_SGEMM_ACCURATE);
    struct class_errors e = {.own = {8e-7, 8e-7, 8e-7},
                             .rival = {1e-7, 1e-7, 1e-7},
                             .in_order = {1e-7, 1e-7, 1e-7},
                             .right = true};
    assert_false(class_errors_answer(row, &e));
    e.bound = accuracy_bound(256);
    assert_true(e.bound > 2.7e-5 && e.bound < 2.8e-5);
    assert_true(class_errors_answer(row, &e));
    e.own.componentwise = 2.8e-5;
    assert_false(class_errors_answer(row, &e));
    e.own.componentwise = 8e-7;
    e.right = false;
    assert_false(class_errors_answer(row, &e));
}

TEST(a_candidate_that_goes_wrong_while_it_is_timed_is_wrong)
{
    prepare("17x9x5");
    next.fault = LATE;
    next.late = 8; /* three judged calls, two to estimate, three blocks */
    struct outcome o = try(0);
    assert_int_equal(o.verdict, VERDICT_WRONG);
    assert_string_equal(o.detail, "C after timing differs from the C judged before");
    assert_true(o.time_us == 0);
}

TEST(what_the_driver_refuses_is_refused_with_its_reason)
{
    prepare("17x9x5");
    load_answer = E_ABSENT;
    struct outcome o = try(0);
    assert_int_equal(o.verdict, VERDICT_REFUSED);
    assert_string_equal(o.detail, "too many registers");
}

TEST(a_damaged_cubin_is_an_error_and_no_verdict)
{
    prepare("17x9x5");
    load_answer = E_INPUT;
    struct outcome o;
    struct candidate candidate = make_candidate(1);
    assert_int_equal(trial_run(&setup, &candidate, 0, 0, &o), E_INPUT);
}

TEST(empty_problems_are_timed_as_they_are)
{
    static const char *const texts[] = {"0x5x3", "5x0x3", "5x3x0", "5x3x0:beta=2"};
    for (size_t i = 0; i < 4; i++) {
        prepare(texts[i]);
        struct outcome o = try(0);
        if (o.verdict != VERDICT_MEASURED) fail_msg("%s: %s", texts[i], o.detail);
        assert_true(o.time_us > 0);
    }
}

TEST(a_problem_that_does_not_fit_is_refused_with_the_sizes)
{
    struct problem p;
    assert_ok(problem_parse("100000x100000x10", &p));
    assert_fails(trial_setup_prepare(&setup, &p, true, 1), E_GPU, "sgemm:nn:100000x100000x10 needs at least");
    assert_non_null(strstr(status_text(), "GiB are free"));
    assert_false(setup.ready);
    assert_ok(problem_parse("2147418112x1x1:lda=500000000", &p)); /* nearly 2^60 elements */
    assert_fails(trial_setup_prepare(&setup, &p, true, 1), E_GPU, "needs at least");
    /* C is 480 MiB: two sets with a C each fit into 1.75 GiB, those with two do not. */
    assert_ok(problem_parse("7680x16384x1:epilogue=out", &p));
    assert_fails(trial_setup_prepare(&setup, &p, false, 1), E_GPU, "needs at least");
    /* The same of biases. */
    assert_ok(problem_parse("1x1x1:batch=30000:epilogue=bias:stride_bias=8000", &p));
    assert_fails(trial_setup_prepare(&setup, &p, false, 1), E_GPU, "needs at least");
}

TEST(preparing_again_frees_what_the_former_problem_held)
{
    prepare("300x200x100");
    size_t held = host_bytes_in_use;
    prepare("300x200x100");
    assert_int_equal(host_bytes_in_use, held);
}

/* ---- race ---- */

TEST(kernels_of_a_race_are_loaded_once_and_the_longest_unused_makes_room)
{
    static struct contenders contenders;
    struct runner *runner;
    prepare("17x9x5");
    rival_there = true;
    assert_ok(contenders_open(&setup, &contenders));
    assert_true(contenders.has_anchor);
    assert_string_equal(contenders.anchor_row->name, "cublasSgemm");
    loaded = 0;
    for (int round = 0; round < 3; round++)
        for (int i = 1; i <= CONTENDERS_MAX; i++) {
            struct candidate candidate = make_candidate(i);
            assert_ok(contenders_find(&contenders, &candidate, &runner));
        }
    assert_int_equal(loaded, CONTENDERS_MAX);
    struct candidate one_more = make_candidate(CONTENDERS_MAX + 1), second = make_candidate(2),
                     first = make_candidate(1);
    assert_ok(contenders_find(&contenders, &one_more, &runner)); /* replaces the first one */
    assert_ok(contenders_find(&contenders, &second, &runner));
    assert_int_equal(loaded, CONTENDERS_MAX + 1);
    assert_ok(contenders_find(&contenders, &first, &runner));
    assert_int_equal(loaded, CONTENDERS_MAX + 2);
    struct block block;
    assert_ok(contenders_block(&contenders, runner, TIMING_REPEAT, 0, 50, &block));
    assert_int_equal(block.calls, 27);
    contenders_close(&contenders);
    assert_int_equal(open_kernels, 0);
}

TEST(a_rival_searches_once_and_one_that_is_not_there_is_not_looked_for_again)
{
    static struct contenders contenders;
    struct runner *runner, *again;
    const char *detail;
    prepare("17x9x5");
    searcher_there = true;
    searched = 0;
    assert_ok(contenders_open(&setup, &contenders));
    assert_int_equal(searched, 0); /* not requested */
    assert_ok(contenders_rival(&contenders, "lt", &runner, &detail));
    assert_string_equal(detail, "cublasLt");
    assert_ok(contenders_rival(&contenders, "lt", &again, &detail));
    assert_ptr_equal(runner, again);
    assert_int_equal(searched, 1);
    searcher_there = false;
    for (int i = 0; i < 2; i++)
        assert_fails(contenders_rival(&contenders, "autotune", &runner, &detail), E_ABSENT,
                     "no cublasGemmEx autotune");
    assert_int_equal(searched, 2);
    assert_fails(contenders_rival(&contenders, "bf16x9", &runner, &detail), E_ABSENT, "of type sgemm");
    assert_fails(contenders_rival(&contenders, "nobody", &runner, &detail), E_INPUT, "'nobody'");
    contenders_close(&contenders);
    assert_int_equal(open_kernels, 0);
}

TEST(without_cublas_there_is_no_anchor_and_no_error)
{
    static struct contenders contenders;
    prepare("17x9x5");
    rival_there = false;
    assert_ok(contenders_open(&setup, &contenders));
    assert_false(contenders.has_anchor);
    contenders_close(&contenders);
}

TEST(a_fused_epilogue_is_raced_against_cublaslt_and_a_bias_by_rows_against_nobody)
{
    static struct contenders contenders;
    struct runner *runner;
    const char *detail;
    rival_there = searcher_there = true;
    prepare("17x9x5:epilogue=bias+gelu+out");
    assert_ok(contenders_open(&setup, &contenders));
    assert_true(contenders.has_anchor);
    assert_string_equal(contenders.anchor_row->name, "cublasLt epilogue");
    contenders_close(&contenders);
    prepare("17x9x5:epilogue=rowbias+gelu");
    assert_ok(contenders_open(&setup, &contenders));
    assert_false(contenders.has_anchor);
    assert_fails(contenders_rival(&contenders, "lt", &runner, &detail), E_ABSENT,
                 "there is no rival 'lt' for problems of type sgemm with the epilogue rowbias+gelu");
    contenders_close(&contenders);
    rival_there = searcher_there = false;
}

/* ---- verification ---- */

static struct verification verify(enum fault fault)
{
    struct verification v;
    struct candidate candidate = make_candidate(1);
    ladder_config(ladder_find("naive"), &candidate.config); /* legal for every problem without epilogue */
    if (setup.problem.epilogue)
        assert_ok(
            config_parse("simt BM=8 BN=4 BK=2 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 "
                         "UNROLL=2 STORE_AT=1 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
                         &candidate.config));
    next.fault = fault;
    assert_ok(verify_run(&setup, &candidate, 0, 0, &v));
    assert_int_equal(open_kernels, 0);
    return v;
}

TEST(a_right_winner_is_verified_on_dozens_of_cases)
{
    prepare("16x12x8");
    struct verification v = verify(NONE);
    if (v.verdict != VERDICT_MEASURED) fail_msg("%s", v.detail);
    assert_true(v.shapes > 50);
    assert_non_null(strstr(v.detail, "cases right"));
}

TEST(a_winner_right_at_its_own_shape_only_is_found)
{
    prepare("16x12x8");
    struct verification v = verify(ODD_M_WRONG);
    assert_int_equal(v.verdict, VERDICT_WRONG);
    assert_non_null(strstr(v.detail, "sgemm:nn:1x1x1"));
    assert_int_equal(verify(ALPHA_0_READS).verdict, VERDICT_WRONG);
    assert_int_equal(verify(BETA_IGNORED).verdict, VERDICT_WRONG);
}

/* As verify, of an own kernel: the rules are those of the least simt kernel. */
static struct verification verify_own(enum fault fault, bool own)
{
    struct verification v;
    struct candidate candidate = make_candidate(1);
    const struct gpu before = device.gpu;
    device.gpu = *exec_gpu();
    assert_ok(config_parse("simt BM=8 BN=4 BK=2 WM=8 WN=4 TM=1 TN=1 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 "
                           "UNROLL=2 STORE_AT=1 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1",
                           &candidate.config));
    struct template t = *candidate.config.template;
    t.own = own ? "{}" : NULL;
    candidate.config.template = &t;
    next.fault = fault;
    assert_ok(verify_run(&setup, &candidate, 0, 0, &v));
    assert_int_equal(open_kernels, 0);
    device.gpu = before;
    return v;
}

TEST(an_own_kernel_that_leaves_c_as_an_earlier_call_left_it_is_found)
{
    prepare("16x12x8");
    next.fault = IDLE;
    assert_int_equal(try(0).verdict, VERDICT_MEASURED); /* each of these calls finds poison first */
    struct verification v = verify_own(IDLE, true);
    assert_int_equal(v.verdict, VERDICT_WRONG);
    assert_non_null(strstr(v.detail, "leaves out its work"));
    assert_int_equal(verify_own(NONE, true).verdict, VERDICT_MEASURED);
    prepare("16x12x8:beta=1"); /* C is read: nothing to find */
    assert_int_equal(verify_own(NONE, true).verdict, VERDICT_MEASURED);
}

TEST(an_own_kernel_is_verified_on_whole_tiles_too)
{
    prepare("16x12x8");
    const int more = verify_own(NONE, true).shapes, usual = verify_own(NONE, false).shapes;
    if (more < usual + 20) fail_msg("%d cases, and %d of other kernels", more, usual);
}

TEST(a_winner_with_an_epilogue_is_verified_with_it)
{
    static const struct {
        const char *problem;
        enum fault fault;
        const char *said;
    } cases[] = {
        /* The tuned problems have neither a batch nor NaN nor a source that is read. */
        {"16x12x8:epilogue=bias+gelu+out", BIAS_OF_ITEM_0, ":batch=3"},
        {"16x12x8:epilogue=bias+gelu+out", D_READ, ":beta="},
        {"16x12x8:epilogue=relu", NAN_CLAMPED, "= 0, not "},
        {"16x12x8:epilogue=rowbias", BETA_IGNORED, ":beta="},
    };
    const struct gpu before = device.gpu;
    device.gpu = *exec_gpu();
    prepare("16x12x8:epilogue=bias+gelu+out");
    struct verification v = verify(NONE);
    if (v.verdict != VERDICT_MEASURED || v.shapes < 100) fail_msg("%s", v.detail);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prepare(cases[i].problem);
        next.fault = cases[i].fault;
        struct outcome o = try(0);
        if (o.verdict != VERDICT_MEASURED) fail_msg("%s: %s", cases[i].problem, o.detail);
        v = verify(cases[i].fault);
        assert_int_equal(v.verdict, VERDICT_WRONG);
        if (!strstr(v.detail, cases[i].said)) fail_msg("'%s' lacks '%s'", v.detail, cases[i].said);
    }
    device.gpu = before;
}

TEST(a_winner_whose_bits_change_is_found)
{
    prepare("16x12x8");
    struct verification v = verify(UNSTEADY);
    assert_int_equal(v.verdict, VERDICT_WRONG);
    assert_non_null(strstr(v.detail, "bits"));
    next.late = 12;
    v = verify(LATE);
    assert_int_equal(v.verdict, VERDICT_WRONG);
    assert_non_null(strstr(v.detail, "of 20 runs gave different bits"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_candidate_is_measured_with_ten_samples),
        cmocka_unit_test(a_slower_candidate_is_dropped_the_sooner_the_slower_it_is),
        cmocka_unit_test(a_long_call_is_timed_five_times_and_dropped_after_one),
        cmocka_unit_test(a_call_of_seconds_is_made_four_times_and_once_if_there_is_no_time_for_more),
        cmocka_unit_test(a_check_of_calls_of_seconds_makes_as_few_as_there_is_time_for),
        cmocka_unit_test(a_wrong_candidate_is_not_timed_and_harms_no_later_one),
        cmocka_unit_test(an_innocent_is_not_blamed_for_operands_that_another_spoilt),
        cmocka_unit_test(a_class_of_accuracy_needs_a_rivals_errors),
        cmocka_unit_test(the_problem_of_the_last_check_keeps_aligned_lines),
        cmocka_unit_test(a_kind_of_data_with_a_bound_asks_for_that_alone),
        cmocka_unit_test(a_candidate_that_goes_wrong_while_it_is_timed_is_wrong),
        cmocka_unit_test(what_the_driver_refuses_is_refused_with_its_reason),
        cmocka_unit_test(a_damaged_cubin_is_an_error_and_no_verdict),
        cmocka_unit_test(empty_problems_are_timed_as_they_are),
        cmocka_unit_test(a_problem_that_does_not_fit_is_refused_with_the_sizes),
        cmocka_unit_test(preparing_again_frees_what_the_former_problem_held),
        cmocka_unit_test(kernels_of_a_race_are_loaded_once_and_the_longest_unused_makes_room),
        cmocka_unit_test(a_rival_searches_once_and_one_that_is_not_there_is_not_looked_for_again),
        cmocka_unit_test(without_cublas_there_is_no_anchor_and_no_error),
        cmocka_unit_test(a_fused_epilogue_is_raced_against_cublaslt_and_a_bias_by_rows_against_nobody),
        cmocka_unit_test(a_right_winner_is_verified_on_dozens_of_cases),
        cmocka_unit_test(an_own_kernel_that_leaves_c_as_an_earlier_call_left_it_is_found),
        cmocka_unit_test(an_own_kernel_is_verified_on_whole_tiles_too),
        cmocka_unit_test(a_winner_right_at_its_own_shape_only_is_found),
        cmocka_unit_test(a_winner_whose_bits_change_is_found),
        cmocka_unit_test(a_winner_with_an_epilogue_is_verified_with_it),
    };
    return cmocka_run_group_tests(tests, open_setup, close_setup);
}
