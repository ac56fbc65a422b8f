/* test_not_done.c — what gemmtune does not do is said where it is asked for, and in docs/not-done.md. */
#include "unit.h"

#include "gpu.h"
#include "not_done.h"
#include "problem.h"
#include "text_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of the table in docs/not-done.md begins with this. */
static bool page_has(const char *what)
{
    FILE *file = fopen(GT_SOURCE_DIR "/docs/not-done.md", "r");
    char wanted[128];
    bool found = false;
    assert_non_null(file);
    snprintf(wanted, sizeof wanted, "| %s |", what);
    struct text_file lines = text_file_start(file, "page", "docs/not-done.md");
    for (const char *line; (line = text_file_line(&lines));)
        found |= strncmp(line, wanted, strlen(wanted)) == 0;
    assert_ok(text_file_end(&lines));
    fclose(file);
    return found;
}

TEST(each_kind_that_is_not_done_is_a_row_of_the_page)
{
    for (size_t i = 0; i < not_done_count; i++)
        if (!page_has(not_done_rows[i].what)) fail_msg("'%s' is not in the page", not_done_rows[i].what);
}

TEST(what_is_not_done_is_told_in_a_sentence)
{
    static const char *const asked[][2] = {{"fp8gemm", "FP8"},         {"Float8_e4m3fn", "FP8"},
                                           {"int8gemm", "integer"},    {"dgemm", "FP64"},
                                           {"zgemm", "complex"},       {"c10::complex<float>", "complex"},
                                           {"hgemm_16f", "FP16 sums"}, {"groups", "grouped"},
                                           {"MIG-1g.10gb", "MIG"},     {"NVIDIA Tesla V100", "Volta"},
                                           {"sm_61", "Pascal"},        {"mi300x", "other makers"}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *said = not_done(asked[i][0]);
        if (!said || !strstr(said, asked[i][1])) fail_msg("%s: %s", asked[i][0], said ? said : "nothing");
    }
}

TEST(nothing_that_is_done_is_said_not_to_be)
{
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) assert_null(not_done(gemm_type_row((enum gemm_type)i)->name));
    struct gpu *gpus;
    size_t count;
    assert_ok(gpu_list(GT_SOURCE_DIR "/configs/gpus", &gpus, &count));
    for (size_t i = 0; i < count; i++) {
        assert_null(not_done(gpus[i].id));
        assert_null(not_done(gpus[i].name));
    }
    free(gpus);
    assert_null(not_done("nosuch"));
    assert_null(not_done(""));
}

TEST(types_options_and_gpus_answer_with_it)
{
    struct problem problem;
    struct gpu gpu;
    assert_fails(problem_parse("fp8gemm:nn:4x4x4", &problem), E_INPUT, "FP8 products");
    assert_fails(problem_parse("4x4x4:groups=8", &problem), E_INPUT, "grouped and MoE products");
    assert_fails(gpu_choose(GT_SOURCE_DIR "/configs/gpus", "V100", &gpu), E_ABSENT, "Volta");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_that_is_not_done_is_a_row_of_the_page),
        cmocka_unit_test(what_is_not_done_is_told_in_a_sentence),
        cmocka_unit_test(nothing_that_is_done_is_said_not_to_be),
        cmocka_unit_test(types_options_and_gpus_answer_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
