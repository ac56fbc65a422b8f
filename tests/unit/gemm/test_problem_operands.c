/* Problems whose operands come in another form: arrays of pointers, and prepared ones. */
#include "problem.h"
#include "problem_texts.h"
#include "suite.h"

#include <string.h>

/* ---- pointers ---- */

TEST(pointers_read_back_as_what_was_written)
{
    static const char *const texts[][2] = {
        {"64x32x16:batch=500:pointers", "sgemm:nn:64x32x16:batch=500:pointers"},
        {"nt:64x32x16:pointers:batch=500", "sgemm:nt:64x32x16:batch=500:pointers"},
        {"tt:4x8x16:pointers", "sgemm:tt:4x8x16:pointers"},
        {"4x8x16:beta=2:pointers:lda=20:batch=3", "sgemm:nn:4x8x16:batch=3:lda=20:pointers:beta=2"},
        {"0x8x16:batch=3:pointers", "sgemm:nn:0x8x16:batch=3:pointers"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct problem p = problem_of(texts[i][0]), again = problem_of(texts[i][1]);
        char text[PROBLEM_TEXT_MAX];
        problem_format(&p, text);
        assert_string_equal(text, texts[i][1]);
        assert_true(p.pointers && again.pointers);
        assert_true(problem_equal(&p, &again));
        struct problem strided = p;
        strided.pointers = false;
        assert_false(problem_equal(&p, &strided));
    }
}

TEST(pointers_have_neither_strides_nor_an_epilogue)
{
    static const struct {
        const char *text, *why;
    } cases[] = {{"64x64x64:batch=3:pointers:stride_a=5000", "there are no strides"},
                 {"64x64x64:batch=3:stride_b=4096:pointers", "there are no strides"}, /* though usual */
                 {"64x64x64:batch=3:pointers:stride_c=4097", "there are no strides"},
                 {"64x64x64:pointers:epilogue=relu", "takes pointers and has an epilogue"},
                 {"64x64x64:pointers:pointers", "pointers is given twice"},
                 {"64x64x64:pointers=3", "unknown option at 'pointers=3'"},
                 {"64x64x64:pointer", "known: batch pointers lda"}};
    struct problem p;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(problem_parse(cases[i].text, &p), E_INPUT, cases[i].why);
        assert_fails(problem_parse(cases[i].text, &p), E_INPUT, cases[i].text);
    }
    p = problem_of("64x64x64:batch=3:pointers");
    p.stride_a++;
    assert_fails(problem_check(&p), E_INPUT, "there are no strides");
    problem_use_pointers(&p);
    assert_ok(problem_check(&p));
}

/* The host does not see where the items are. */
TEST(of_pointers_nothing_is_aligned)
{
    const struct problem p = problem_of("64x64x64:batch=3:pointers");
    assert_int_equal(problem_align_a(&p) * problem_align_b(&p) * problem_align_c(&p), 1);
}

/* ---- prepared operands ---- */

TEST(a_prepared_operand_makes_a_problem_of_its_own)
{
    static const struct {
        const char *text, *canonical;
        enum prepared_operand prepared;
    } cases[] = {
        {"sgemm_accurate:nt:64x32x16:prepared=b", "sgemm_accurate:nt:64x32x16:prepared=b", PREPARED_B},
        {"sgemm_normwise:64x32x16:prepared=a", "sgemm_normwise:nn:64x32x16:prepared=a", PREPARED_A},
        {"sgemm_accurate:4x8x16:epilogue=bias:prepared=b:beta=2:batch=3:stride_b=0:lda=20",
         "sgemm_accurate:nn:4x8x16:batch=3:lda=20:stride_b=0:prepared=b:beta=2:epilogue=bias", PREPARED_B}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem p = problem_of(cases[i].text);
        struct problem other = p;
        char text[PROBLEM_TEXT_MAX];
        problem_format(&p, text);
        assert_string_equal(text, cases[i].canonical);
        assert_int_equal(p.prepared, cases[i].prepared);
        other.beta = other.beta != 0 ? 3 : 0;
        assert_true(problem_alike(&p, &other));
        other.prepared = p.prepared == PREPARED_A ? PREPARED_B : PREPARED_A;
        assert_false(problem_equal(&p, &other) || problem_alike(&p, &other));
        other.prepared = PREPARED_NONE;
        assert_false(problem_equal(&p, &other) || problem_alike_but_m(&p, &other));
        assert_ok(problem_prepare(&other, p.prepared));
        assert_int_equal(other.prepared, p.prepared);
    }
}

TEST(what_has_nothing_to_prepare_says_so)
{
    static const struct {
        const char *text, *why;
    } cases[] = {{"64x64x64:prepared=b", "kernels of type sgemm have nothing to prepare"},
                 {"bf16gemm:64x64x64:prepared=a", "kernels of type bf16gemm have nothing to prepare"},
                 {"sgemm_accurate:64x64x64:pointers:prepared=a", "where pointers say"},
                 {"sgemm_accurate:64x64x64:prepared=ab", "prepared is 'ab'; a or b"},
                 {"sgemm_accurate:64x64x64:prepared=", "prepared is ''; a or b"},
                 {"sgemm_accurate:64x64x64:prepared=a:prepared=b", "prepared is given twice"},
                 {"sgemm_accurate:64x64x64:prepared", "unknown option at 'prepared'"}};
    struct problem p;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(problem_parse(cases[i].text, &p), E_INPUT, cases[i].why);
        assert_fails(problem_parse(cases[i].text, &p), E_INPUT, cases[i].text);
    }
    p = problem_of("tf32gemm:nt:64x64x64");
    assert_fails(problem_prepare(&p, PREPARED_B), E_INPUT, "tf32gemm:nt:64x64x64: kernels of type tf32gemm");
    assert_int_equal(p.prepared, PREPARED_NONE);
    p = problem_of("sgemm_accurate:nt:64x64x64:prepared=a");
    assert_ok(problem_prepare(&p, PREPARED_A));
    assert_fails(problem_prepare(&p, PREPARED_B), E_INPUT, "prepared=a: its text prepares one operand");
    assert_int_equal(p.prepared, PREPARED_A);
    p.prepared = (enum prepared_operand)3;
    assert_fails(problem_check(&p), E_INPUT, "no operand 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_read_back_as_what_was_written),
        cmocka_unit_test(pointers_have_neither_strides_nor_an_epilogue),
        cmocka_unit_test(of_pointers_nothing_is_aligned),
        cmocka_unit_test(a_prepared_operand_makes_a_problem_of_its_own),
        cmocka_unit_test(what_has_nothing_to_prepare_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
