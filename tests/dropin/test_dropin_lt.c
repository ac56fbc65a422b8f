/* cublasLtMatmul under the drop-in, and descriptors that change between calls. */
#include "dropin_calls.h"
#include "dropin_runs.h"

TEST(lt_in_its_plain_form_is_answered)
{
    struct operand_set o = arrive_tuned_both("sgemm:nn:16x24x32", "", 0);
    struct lt_call x = lt_make();
    float other[16 * 24] = {0};
    assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    operands_check(&o, 1, "cublasLtMatmul");
    assert_ptr_equal(fake.launches[0].stream, stream);
    assert_went(lt_run(&x, &o, &one, o.c), 1, 0);
    assert_went(lt_run(&x, &o, &zero, other), 1, 0); /* C is not read */
    assert_went(lt_run(&x, &o, &one, other), 0, 1);  /* C is read, and is not D */
    lt_free(&x);
    operands_free(&o);
}

/* Calls that passed before are no reason to pass one: layouts and descriptors stay where they are and change.
 */
TEST(lt_descriptors_that_change_are_asked_again)
{
    put_winner("sgemm:nn:16x16x16", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x16x16", 0),
                       skewed = operands_make("sgemm:nn:16x16x16", 1);
    struct lt_call x;
    const int turned = BLAS_OP_T, plain = BLAS_OP_N;
    const uint64_t fewer = 12, all = 16;
    cublasLtMatmulDescCreate(&x.desc, BLAS_COMPUTE_32F, BLAS_R_32F);
    cublasLtMatrixLayoutCreate(&x.a, BLAS_R_32F, fewer, 16, 16);
    cublasLtMatrixLayoutCreate(&x.b, BLAS_R_32F, 16, 16, 16);
    cublasLtMatrixLayoutCreate(&x.c, BLAS_R_32F, fewer, 16, 16);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
    cublasLtMatrixLayoutSetAttribute(x.a, LT_LAYOUT_ROWS, &all, sizeof all);
    cublasLtMatrixLayoutSetAttribute(x.c, LT_LAYOUT_ROWS, &all, sizeof all);
    cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_TRANSA, &turned, sizeof turned);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &skewed, &zero, skewed.c), 0, 1);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
    cublasLtMatmulDescSetAttribute(x.desc, LT_DESC_TRANSA, &plain, sizeof plain);
    for (int i = 0; i < 3; i++) assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    operands_check(&o, 1, "cublasLtMatmul");
    lt_free(&x);
    operands_free(&o);
    operands_free(&skewed);
}

TEST(lt_in_any_other_form_goes_to_cublas)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    static const int64_t somewhere = 4096;
    static const struct {
        int what;
        int64_t value;
        size_t bytes;
    } desc[] = {{LT_DESC_EPILOGUE, 4, 4},
                {LT_DESC_COMPUTE_TYPE, 77, 4},
                {LT_DESC_POINTER_MODE, 2, 4},
                {LT_DESC_TRANSA, 1, 4},
                {LT_DESC_TRANSC, 1, 4},
                {LT_DESC_SCALE_TYPE, 2, 4},
                {LT_DESC_FILL_MODE, 1, 4},
                {LT_DESC_SM_COUNT_TARGET, 16, 4},
                {LT_DESC_D_SCALE_POINTER, somewhere, 8},
                {LT_DESC_A_SCALE_POINTER, somewhere, 8}},
      layout[] = {{LT_LAYOUT_TYPE, 2, 4},          {LT_LAYOUT_ORDER, 1, 4}, {LT_LAYOUT_BATCH_COUNT, 2, 4},
                  {LT_LAYOUT_PLANE_OFFSET, 64, 8}, {LT_LAYOUT_ROWS, 20, 8}, {PROGRAM_LT_FUTURE, 0, 4}};
    program_blas_idle = 1; /* some of these make no sense, and are not to be computed */
    for (size_t i = 0; i < sizeof desc / sizeof *desc; i++) {
        struct lt_call x = lt_make();
        assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
        assert_int_equal(cublasLtMatmulDescSetAttribute(x.desc, desc[i].what, &desc[i].value, desc[i].bytes),
                         0);
        assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
        lt_free(&x);
    }
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
        struct lt_call x = lt_make();
        assert_int_equal(
            cublasLtMatrixLayoutSetAttribute(x.a, layout[i].what, &layout[i].value, layout[i].bytes), 0);
        assert_went(lt_run(&x, &o, &zero, o.c), 0, 1);
        lt_free(&x);
    }
    operands_free(&o);
}

/* Numbers of cublasLt 12 and 13, with the chunks and counters (27 to 30) and the emulation (38) that only the
 * real one knows of; and one that no version has yet. */
static void try_every_attribute(uint32_t version)
{
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    int tried = 0;
    memcpy(x.desc, &version, sizeof version);
    for (int what = LT_DESC_BIAS_BATCH_STRIDE + 1; what <= PROGRAM_LT_FUTURE; what++) {
        int64_t usual = 0, other;
        size_t bytes, written;
        if (what == LT_DESC_BIAS_DATA_TYPE) continue; /* read with the epilogue */
        if (cublasLtMatmulDescGetAttribute(x.desc, what, NULL, 0, &bytes)) continue;
        assert_int_equal(cublasLtMatmulDescGetAttribute(x.desc, what, &usual, bytes, &written), 0);
        other = usual ^ 1;
        assert_int_equal(cublasLtMatmulDescSetAttribute(x.desc, what, &other, bytes), 0);
        *fake.launch_count = program_lt_calls = 0;
        assert_int_equal(lt_run(&x, &o, &zero, o.c), 0);
        if (program_lt_calls != 1 || *fake.launch_count)
            fail_msg("attribute %d was answered by a kernel that knows nothing of it", what);
        assert_int_equal(cublasLtMatmulDescSetAttribute(x.desc, what, &usual, bytes), 0);
        assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
        tried++;
    }
    assert_int_equal(tried, 28);
    lt_free(&x);
    operands_free(&o);
}

static void lt_attributes_that_no_kernel_honours_go_to_cublas(void **state)
{
    (void)state;
    try_every_attribute(PROGRAM_LT_VERSION);
}

/* One that a program has initialised with the headers of an earlier version lies otherwise. */
static void lt_descriptors_of_an_older_form_are_queried(void **state)
{
    (void)state;
    try_every_attribute(PROGRAM_LT_VERSION - 1);
}

TEST(the_log_says_why_such_calls_go_to_cublas)
{
    static const char why[] =
        "cublasLtMatmul sgemm:nn:16x24x32 -> cuBLAS: its descriptor has an attribute that no tuned "
        "kernel honours";
    const char *text = scenario_log("lt_attributes_that_no_kernel_honours_go_to_cublas");
    const char *said = strstr(text, why);
    if (!said) fail_msg("not said: %s", text);
    assert_null(strstr(said + 1, why)); /* once */
}

/* What is queried is queried once, by whatever descriptor. */
static void lt_descriptors_cost_no_questions(void **state)
{
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    lt_free(&x);
    for (int i = 0; i < 3; i++) {
        x = lt_make();
        const int before = program_lt_questions;
        assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
        assert_int_equal(program_lt_questions, before);
        lt_free(&x);
    }
    operands_free(&o);
}

/* A call whose layouts are of a side of their own. */
static void matmul_of_side(struct lt_call *x, uint64_t side)
{
    static float memory[4] __attribute__((aligned(16)));
    const int64_t ld = (int64_t)side;
    cublasLtMatrixLayoutSetAttribute(x->a, LT_LAYOUT_ROWS, &side, sizeof side);
    cublasLtMatrixLayoutSetAttribute(x->a, LT_LAYOUT_LD, &ld, sizeof ld);
    cublasLtMatrixLayoutSetAttribute(x->c, LT_LAYOUT_ROWS, &side, sizeof side);
    cublasLtMatrixLayoutSetAttribute(x->c, LT_LAYOUT_LD, &ld, sizeof ld);
    assert_int_equal(cublasLtMatmul(lt_context, x->desc, &one, memory, x->a, memory, x->b, &zero, memory,
                                    x->c, memory, x->c, NULL, NULL, 0, stream),
                     0);
}

/* More layouts than there is room for cost hardly more than those that are remembered, and a winner that
 * shows up late still answers. */
static void lt_layouts_without_end_cost_few_questions(void **state)
{
    enum { FIRST = 100, LAYOUTS = 67000 };
    (void)state;
    struct operand_set o = arrive_tuned("sgemm:nn:16x24x32", 0);
    struct lt_call x = lt_make();
    program_blas_idle = 1;
    for (uint64_t i = 0; i < LAYOUTS; i++) matmul_of_side(&x, FIRST + i);
    const int first = program_lt_questions;
    for (uint64_t i = 0; i < LAYOUTS; i++) matmul_of_side(&x, FIRST + i);
    print_message("%d questions, %d the second time\n", first, program_lt_questions - first);
    assert_in_range(program_lt_questions - first, 0, first / 100);
    lt_free(&x);
    x = lt_make();
    program_blas_idle = 0;
    for (int i = 0; i < 2; i++) assert_went(lt_run(&x, &o, &zero, o.c), 1, 0);
    operands_check(&o, 1, "late");
    lt_free(&x);
    operands_free(&o);
}

static const struct scenario scenarios[] = {
    SCENARIO(lt_layouts_without_end_cost_few_questions),
    SCENARIO(lt_in_its_plain_form_is_answered),
    SCENARIO(lt_descriptors_that_change_are_asked_again),
    SCENARIO(lt_in_any_other_form_goes_to_cublas),
    SCENARIO(lt_attributes_that_no_kernel_honours_go_to_cublas),
    SCENARIO(lt_descriptors_of_an_older_form_are_queried),
    SCENARIO(lt_descriptors_cost_no_questions),
};

static const struct CMUnitTest more[] = {cmocka_unit_test(the_log_says_why_such_calls_go_to_cublas)};

int main(int argc, char **argv)
{
    return dropin_main(argc, argv, "test_dropin_lt", scenarios, sizeof scenarios / sizeof *scenarios, more,
                       sizeof more / sizeof *more);
}
