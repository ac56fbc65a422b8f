/* What lets programs and libraries of different ages work together: structs that say their size, and words
 * kept for later. And beta, which decides between two kernels. */
#include "runtime_fakes.h"

#define TEXT "sgemm:nn:64x64x64"
#define ADDS "sgemm:nn:64x64x64:beta=1"

_Static_assert(sizeof(struct gt_options) == 96 && sizeof(struct gt_problem) == 136 &&
                   sizeof(struct gt_call) == 104 && sizeof(struct gt_plan_info) == 1960,
               "members are added at the end or in place of reserved ones");
_Static_assert(offsetof(struct gt_problem, m) == 24 && offsetof(struct gt_call, workspace) == 56 &&
                   offsetof(struct gt_plan_info, why) == 824 &&
                   offsetof(struct gt_plan_info, checked) == 1704 &&
                   offsetof(struct gt_options, device) == 32 && offsetof(struct gt_problem, bias) == 104 &&
                   offsetof(struct gt_call, bias) == 72,
               "members stay where they are");

/* Programs know types by their numbers. */
TEST(types_keep_their_numbers)
{
    static const struct {
        int32_t number;
        const char *name;
    } types[] = {{GT_SGEMM, "sgemm"},
                 {GT_SGEMM_ACCURATE, "sgemm_accurate"},
                 {GT_SGEMM_NORMWISE, "sgemm_normwise"},
                 {GT_TF32, "tf32gemm"},
                 {GT_BF16, "bf16gemm"},
                 {GT_FP16, "hgemm"},
                 {GT_BF16_TO_F32, "bf16gemm:c=f32"},
                 {GT_FP16_TO_F32, "hgemm:c=f32"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_int_equal(types[i].number, i);
        assert_string_equal(gemm_type_row((enum gemm_type)types[i].number)->name, types[i].name);
    }
}

/* A struct of a program that was compiled with a later header: more of it. */
#define LATER(type)                                                                                          \
    struct {                                                                                                 \
        type now;                                                                                            \
        unsigned char more[40];                                                                              \
    }

TEST(what_a_newer_header_has_more_must_be_zero)
{
    struct gt_handle *handle;
    struct gt_plan *plan;
    float data[64 * 64] = {0}, one = 1;
    LATER(struct gt_options) options = {.now = gt_options_make()};
    LATER(struct gt_problem) problem = {.now = gt_problem_make(64, 64, 64)};
    LATER(struct gt_call) call = {.now = gt_call_make(&one, data, data, &one, data, stream)};
    options.now.size = sizeof options;
    problem.now.size = sizeof problem;
    call.now.size = sizeof call;
    put_winner(TEXT, SIMT, 5, false);

    options.more[39] = 1;
    assert_gt_fails(gt_open(&handle, &options.now), GT_INVALID, "struct gt_options has members");
    options.more[39] = 0;
    assert_gt(gt_open(&handle, &options.now));
    problem.more[0] = 1;
    assert_gt_fails(gt_plan_open(handle, &problem.now, &plan), GT_INVALID, "struct gt_problem has members");
    assert_gt_fails(gt_gemm(handle, &problem.now, &call.now), GT_INVALID, "struct gt_problem has members");
    problem.more[0] = 0;
    assert_gt(gt_plan_open(handle, &problem.now, &plan));
    call.more[7] = 1;
    assert_gt_fails(gt_launch(plan, &call.now), GT_INVALID, "struct gt_call has members");
    assert_gt_fails(gt_gemm(handle, &problem.now, &call.now), GT_INVALID, "struct gt_call has members");
    call.more[7] = 0;
    assert_int_equal(*fake.launch_count, 0);
    assert_gt(gt_launch(plan, &call.now));
    assert_gt(gt_gemm(handle, &problem.now, &call.now));
    assert_int_equal(*fake.launch_count, 2);
    gt_close(handle);
}

TEST(sizes_and_reserved_words_are_checked_in_every_struct)
{
    struct gt_handle *handle = open_handle(NULL), *none;
    struct gt_plan *plan = make_plan(handle, TEXT), *no_plan;
    float data[64 * 64] = {0}, one = 1;
    const struct gt_call good = gt_call_make(&one, data, data, &one, data, stream);
    const struct gt_problem problem = gt_problem_make(64, 64, 64);
    struct gt_call call = good;
    struct gt_problem p = problem;
    struct gt_options options = gt_options_make();
    struct gt_plan_info info = {.size = 4};
    options.size = 0;
    assert_gt_fails(gt_open(&none, &options), GT_INVALID, "size of struct gt_options is 0");
    call.size = 8;
    assert_gt_fails(gt_launch(plan, &call), GT_INVALID, "size of struct gt_call is 8");
    call = good;
    call.flags = 2;
    assert_gt_fails(gt_launch(plan, &call), GT_INVALID, "flags of the call are 0x2");
    for (int i = 0; i < 2; i++) {
        call = good;
        const char *const why = i ? "none of this library's" : "reserved members of struct gt_call";
        if (i) call.prepared = (const void *)data;
        else call.reserved[0] = data;
        assert_gt_fails(gt_launch(plan, &call), GT_INVALID, why);
        assert_gt_fails(gt_gemm(handle, &problem, &call), GT_INVALID, why);
        p = problem;
        p.reserved[i] = 1;
        assert_gt_fails(gt_gemm(handle, &p, &good), GT_INVALID, "reserved members of struct gt_problem");
        assert_gt_fails(gt_plan_open(handle, &p, &no_plan), GT_INVALID,
                        "reserved members of struct gt_problem");
    }
    assert_gt_fails(gt_plan_describe(plan, &info), GT_INVALID, "size of struct gt_plan_info is 4");
    assert_gt_fails(gt_plan_describe(NULL, &info), GT_INVALID, "NULL");
    assert_gt_fails(gt_plan_describe(plan, NULL), GT_INVALID, "no place");
    assert_int_equal(*fake.launch_count, 0);
    gt_close(handle);
}

TEST(no_more_of_a_description_is_written_than_there_is_room_for)
{
    LATER(struct gt_plan_info) info;
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, TEXT);
    memset(&info, 0x55, sizeof info);
    info.now.size = sizeof info.now;
    assert_gt(gt_plan_describe(plan, &info.now));
    assert_int_equal(info.now.size, sizeof info.now);
    assert_int_equal(info.more[0], 0x55);
    info.now.size = sizeof info;
    assert_gt(gt_plan_describe(plan, &info.now));
    assert_int_equal(info.now.size, sizeof info);
    assert_true(info.more[0] == 0 && info.more[39] == 0);
    gt_close(handle);
}

/* The struct of a program that was compiled before it had `checked`. */
TEST(an_older_program_gets_the_description_that_it_knows)
{
    enum { OLDER = offsetof(struct gt_plan_info, checked) };
    struct gt_plan_info info, all = gt_plan_info_make();
    struct gt_handle *handle = open_handle(NULL);
    struct gt_plan *plan = make_plan(handle, "sgemm_accurate:nn:64x64x64");
    assert_gt(gt_plan_describe(plan, &all));
    memset(&info, 0x55, sizeof info);
    info.size = OLDER;
    assert_gt(gt_plan_describe(plan, &info));
    assert_int_equal(info.size, OLDER);
    assert_memory_equal(&info.source, &all.source, OLDER - sizeof info.size);
    for (size_t i = 0; i < sizeof info.checked; i++) assert_int_equal(info.checked[i], 0x55);
    gt_close(handle);
}

/* Threads a block of the last launch: SIMT has 128, SIMT_LARGE 256. */
static unsigned threads(void)
{
    return fake.launches[*fake.launch_count - 1].threads;
}

TEST(beta_0_and_another_beta_are_two_problems)
{
    static const float betas[] = {0, 1, -2, 0, 1};
    put_winner(TEXT, SIMT, 5, false);
    put_winner(ADDS, SIMT_LARGE, 5, false);
    struct operand_set set = operands_make(TEXT, 0);
    struct gt_handle *handle = open_handle(NULL);
    for (int adds = 0; adds < 2; adds++) {
        struct gt_problem p = problem_of(TEXT);
        struct gt_plan *plan;
        p.flags = adds ? GT_ADDS_TO_C : 0;
        assert_gt(gt_plan_open(handle, &p, &plan));
        struct gt_plan_info info = info_of(plan);
        assert_int_equal(info.source, GT_EXACT);
        assert_int_equal(info.adds_to_c, adds);
        assert_string_equal(info.config, adds ? SIMT_LARGE : SIMT);
        assert_string_equal(info.tuned_for, adds ? ADDS : TEXT);
        for (size_t i = 0; i < sizeof betas / sizeof *betas; i++) {
            set.problem.beta = (double)betas[i];
            assert_gt(launch_set(plan, &set));
            assert_int_equal(threads(), betas[i] != 0 ? 256 : 128);
            operands_check(&set, 1, "by plan");
            assert_gt(gemm_set(handle, &p, &set));
            assert_int_equal(threads(), betas[i] != 0 ? 256 : 128);
            operands_check(&set, 1, "gemm");
        }
        if (adds) gt_plan_close(plan); /* and the other by gt_close */
    }
    operands_free(&set);
    gt_close(handle);
}

TEST(a_winner_for_beta_0_is_not_exact_for_another_beta)
{
    put_winner(TEXT, SIMT, 5, false);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = problem_of(TEXT);
    struct gt_plan *plan;
    p.flags = GT_ADDS_TO_C;
    assert_gt(gt_plan_open(handle, &p, &plan));
    assert_int_equal(info_of(plan).source, GT_NEAREST);
    assert_string_equal(info_of(plan).config, SIMT);
    gt_close(handle);
}

/* The value is the device's to know: one kernel for both. */
TEST(scalars_on_the_device_have_one_kernel)
{
    put_winner(TEXT, SIMT, 5, false);
    put_winner(ADDS, SIMT_LARGE, 5, false);
    struct operand_set set = operands_make(TEXT, 0);
    struct gt_handle *handle = open_handle(NULL);
    struct gt_problem p = problem_of(TEXT);
    p.flags = GT_SCALARS_ON_DEVICE;
    set.problem.beta = 1;
    assert_gt(gemm_set(handle, &p, &set));
    assert_int_equal(threads(), 128);
    operands_check(&set, 1, "scalars on the device");
    operands_free(&set);
    gt_close(handle);
}

TEST(each_status_has_a_text_of_its_own)
{
    static const enum gt_status all[] = {GT_OK, GT_INVALID, GT_NO_GPU, GT_UNAVAILABLE, GT_MEMORY, GT_DEVICE};
    enum { COUNT = sizeof all / sizeof *all };
    for (int i = 0; i < COUNT; i++) {
        assert_true(strlen(gt_status_text(all[i])) >= 5);
        assert_string_not_equal(gt_status_text(all[i]), "unknown status");
        for (int j = 0; j < i; j++) assert_string_not_equal(gt_status_text(all[i]), gt_status_text(all[j]));
    }
    assert_string_equal(gt_status_text(GT_MEMORY), "out of memory");
    assert_string_equal(gt_status_text((enum gt_status)COUNT), "unknown status");
    assert_string_equal(gt_status_text((enum gt_status) - 1), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_keep_their_numbers),
        ON_FAKES(each_status_has_a_text_of_its_own),
        ON_FAKES(what_a_newer_header_has_more_must_be_zero),
        ON_FAKES(sizes_and_reserved_words_are_checked_in_every_struct),
        ON_FAKES(no_more_of_a_description_is_written_than_there_is_room_for),
        ON_FAKES(an_older_program_gets_the_description_that_it_knows),
        ON_FAKES(beta_0_and_another_beta_are_two_problems),
        ON_FAKES(a_winner_for_beta_0_is_not_exact_for_another_beta),
        ON_FAKES(scalars_on_the_device_have_one_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
