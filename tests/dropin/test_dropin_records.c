/* What the drop-in writes down: captures that add up over programs, and its log. */
#include "dropin_calls.h"
#include "dropin_runs.h"

static void two_problems_are_computed(void **state)
{
    (void)state;
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    struct operand_set o = operands_make("sgemm:nn:16x24x32", 0),
                       p = operands_make("sgemm:nt:8x8x8:lda=12", 0);
    for (int i = 0; i < 20; i++) {
        *fake.launch_count = 0;
        assert_int_equal(sgemm_of(&o), 0);
        if (i < 10) assert_int_equal(sgemm_of(&p), 0);
    }
    cublasSetMathMode(blas_context, 3); /* not strict: not recorded */
    assert_int_equal(sgemm_of(&p), 0);
    operands_free(&o);
    operands_free(&p);
}

static const struct scenario scenarios[] = {
    SCENARIO(two_problems_are_computed),
};

static const char *contents(const char *path)
{
    static char text[8192];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void what_is_computed_is_captured_and_adds_up_over_programs(void **state)
{
    char path[] = "/tmp/gemmtune-capture-XXXXXX";
    (void)state;
    close(mkstemp(path));
    setenv("GEMMTUNE_CAPTURE", path, 1);
    setenv("FAKE_GPU_EVENTS", "1", 1);
    assert_int_equal(scenario_start("two_problems_are_computed", NULL), 0);
    const char *text = contents(path);
    assert_non_null(strstr(
        text, "\nsgemm:nn:16x24x32  # count=20 time_us=10\nsgemm:nt:8x8x8:lda=12  # count=10 time_us=10\n"));
    assert_int_equal(lines_in(text), 3);
    unsetenv("FAKE_GPU_EVENTS");
    assert_int_equal(scenario_start("two_problems_are_computed", NULL), 0);
    assert_non_null(strstr(contents(path), "\nsgemm:nn:16x24x32  # count=40 time_us=10\n"));
    unsetenv("GEMMTUNE_CAPTURE");
    unlink(path);
}

static void the_log_says_once_which_call_went_where_and_why(void **state)
{
    char path[] = "/tmp/gemmtune-log-XXXXXX";
    (void)state;
    close(mkstemp(path));
    setenv("GEMMTUNE_LOG", "1", 1);
    assert_int_equal(scenario_start("two_problems_are_computed", path), 0);
    unsetenv("GEMMTUNE_LOG");
    const char *text = contents(path);
    assert_non_null(strstr(text,
                           "gemmtune: cublasSgemm sgemm:nn:16x24x32 -> tuned kernel: 1.250 times as fast as "
                           "cuBLAS, measured, simt BM=64"));
    assert_non_null(
        strstr(text, "gemmtune: cublasSgemm sgemm:nt:8x8x8:lda=12 -> cuBLAS: no winner is known"));
    assert_non_null(strstr(text, "-> cuBLAS: its math mode allows less than strict FP32"));
    assert_non_null(
        strstr(text, "gemmtune: 20 of 30 calls of strict FP32 products, of 2 problems, went to tuned"));
    int lines = 0; /* the test's own messages are there, too */
    for (const char *at = text; (at = strstr(at, "gemmtune: ")); at++) lines++;
    assert_int_equal(lines, 4);
    unlink(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest left[] = {
        cmocka_unit_test(what_is_computed_is_captured_and_adds_up_over_programs),
        cmocka_unit_test(the_log_says_once_which_call_went_where_and_why),
    };
    const struct scenario_group group = {.name = "test_dropin_records",
                                         .scenarios = scenarios,
                                         .count = sizeof scenarios / sizeof *scenarios,
                                         .more = left,
                                         .more_count = sizeof left / sizeof *left,
                                         .setup = fakes_setup,
                                         .teardown = store_teardown};
    return scenarios_run(argc, argv, &group);
}
