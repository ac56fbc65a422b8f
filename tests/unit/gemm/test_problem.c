#include "problem.h"
#include "problem_texts.h"
#include "suite.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(bare_shape_is_sgemm_nn)
{
    struct problem p = problem_of("3x5x7");
    assert_int_equal(p.m, 3);
    assert_int_equal(p.n, 5);
    assert_int_equal(p.k, 7);
    assert_int_equal(p.lda, 7);
    assert_int_equal(p.ldb, 5);
    assert_int_equal(p.ldc, 5);
    assert_string_equal(problem_op_name(&p), "nn");
    assert_true(p.alpha == 1.0 && p.beta == 0.0 && p.batch == 1);
}

TEST(leading_dimensions_follow_the_op)
{
    struct problem p = problem_of("tt:3x5x7");
    assert_int_equal(p.lda, 3);
    assert_int_equal(p.ldb, 7);
    assert_int_equal(problem_rows_a(&p), 7);
    assert_int_equal(problem_rows_b(&p), 5);
}

TEST(every_text_survives_a_round_trip)
{
    static const char *const texts[] = {
        "sgemm:nn:4096x4096x4096",
        "sgemm:tn:1x2x3:batch=4",
        "sgemm:nt:10x20x30:lda=31:ldb=33:ldc=21",
        "sgemm:nn:10x20x30:batch=2:ldc=32:stride_a=400:stride_c=999:alpha=0.5:beta=-2",
        "sgemm:nn:0x5x5",
        "sgemm:nn:2147418112x1x1",
        "sgemm:nn:8x8x8:alpha=0.1",
        "sgemm:nn:10x20x30:batch=2:stride_a=0:stride_b=0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[PROBLEM_TEXT_MAX];
        struct problem p = problem_of(texts[i]);
        problem_format(&p, text);
        assert_string_equal(text, texts[i]);
    }
}

TEST(zero_sizes_are_problems)
{
    struct problem p = problem_of("0x5x5");
    assert_int_equal(problem_span_a(&p), 0);
    assert_int_equal(problem_span_c(&p), 0);
    assert_int_equal(p.lda, 5);
    p = problem_of("4x4x0");
    assert_int_equal(p.lda, 1);
    assert_int_equal(problem_span_c(&p), 16);
}

TEST(each_type_reads_back_as_what_was_written)
{
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        struct problem p = problem_make(3, 5, 7), again;
        char text[PROBLEM_TEXT_MAX], wanted[PROBLEM_TEXT_MAX];
        p.type = (enum gemm_type)type;
        problem_format(&p, text);
        const char *const name = gemm_type_row(p.type)->name, *const of_c = name + strcspn(name, ":");
        snprintf(wanted, sizeof wanted, "%.*s:nn:3x5x7%s", (int)(of_c - name), name, of_c);
        assert_string_equal(text, wanted);
        assert_ok(problem_parse(text, &again));
        assert_int_equal(again.type, type);
        assert_true(problem_equal(&p, &again));
        p.type = (enum gemm_type)((type + 1) % GEMM_TYPE_COUNT);
        assert_false(problem_equal(&p, &again));
    }
}

/* By the row of the type: all rows of today are FP32, whose numbers must stay. */
TEST(bytes_and_vectors_are_those_of_the_elements)
{
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        struct problem p = problem_make(8, 16, 32);
        p.type = (enum gemm_type)type;
        const struct gemm_type_row *row = gemm_type_row(p.type);
        assert_true(problem_bytes(&p) ==
                    256 * element_bytes(row->a) + 512 * element_bytes(row->b) + 128 * element_bytes(row->c));
        assert_int_equal(problem_align_a(&p), element_vector(row->a));
        assert_int_equal(problem_align_c(&p), element_vector(row->c));
    }
}

/* No stride is the default, and a stride of 0 is one matrix for all items. */
TEST(a_batch_that_shares_a_matrix_has_a_text_of_its_own)
{
    static const struct {
        const char *text, *canonical;
        int64_t a, b, bytes;
    } cases[] = {
        {"16x16x8:batch=4", "sgemm:nn:16x16x8:batch=4", 128, 128, 4 * 4 * (128 + 128 + 256)},
        {"16x16x8:batch=4:stride_a=0", "sgemm:nn:16x16x8:batch=4:stride_a=0", 0, 128,
         4 * (128 + 4 * (128 + 256))},
        {"nt:16x16x8:stride_b=0:batch=4", "sgemm:nt:16x16x8:batch=4:stride_b=0", 128, 0,
         4 * (128 + 4 * (128 + 256))},
        {"16x16x8:batch=4:stride_a=0:stride_b=0:beta=1",
         "sgemm:nn:16x16x8:batch=4:stride_a=0:stride_b=0:beta=1", 0, 0, 4 * (128 + 128 + 4 * 512)},
        {"16x16x8:stride_a=0", "sgemm:nn:16x16x8", 0, 128, 4 * (128 + 128 + 256)}, /* strides mean nothing */
        {"16x16x0:batch=4", "sgemm:nn:16x16x0:batch=4", 16, 0, 4 * 4 * 256},       /* 0 is the default */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[PROBLEM_TEXT_MAX];
        struct problem p = problem_of(cases[i].text), again;
        assert_int_equal(p.stride_a, cases[i].a);
        assert_int_equal(p.stride_b, cases[i].b);
        assert_true(problem_bytes(&p) == (double)cases[i].bytes);
        problem_format(&p, text);
        assert_string_equal(text, cases[i].canonical);
        again = problem_of(text);
        assert_true(problem_equal(&p, &again));
    }
    const struct problem shared = problem_of("16x16x8:batch=4:stride_a=0"),
                         own = problem_of("16x16x8:batch=4");
    assert_false(problem_equal(&shared, &own));
    assert_false(problem_alike(&shared, &own));
    assert_int_equal(problem_span_a(&shared), 128);
    assert_int_equal(problem_align_a(&shared), 4);
}

/* The text is short, the key in the database that of all versions. */
TEST(fractions_are_as_short_as_they_read_back)
{
    static const char *const texts[][2] = {{"0.1", "0.100000001"},
                                           {"-0.3", "-0.300000012"},
                                           {"0.5", "0.5"},
                                           {"100000", "100000"},
                                           {"123456792", "123456792"},
                                           {"1e+10", "1e+10"},
                                           {"1e-45", "1.40129846e-45"},
                                           {"3.4028235e+38", "3.40282347e+38"},
                                           {"0.33333334", "0.333333343"},
                                           {"0.125", "0.125"},
                                           {"1.1754944e-38", "1.17549435e-38"}};
    char text[PROBLEM_TEXT_MAX], wanted[PROBLEM_TEXT_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int old = 0; old < 2; old++) {
            snprintf(wanted, sizeof wanted, "8x8x8:alpha=%s", texts[i][old]);
            const struct problem p = problem_of(wanted);
            problem_format(&p, text);
            snprintf(wanted, sizeof wanted, "sgemm:nn:8x8x8:alpha=%s", texts[i][0]);
            assert_string_equal(text, wanted);
            problem_key(&p, text);
            snprintf(wanted, sizeof wanted, "sgemm:nn:8x8x8:alpha=%s", texts[i][1]);
            assert_string_equal(text, wanted);
        }
    srand(3);
    for (int i = 0; i < 20000; i++) {
        struct problem p = problem_make(8, 8, 8), again;
        const uint32_t bits = (uint32_t)rand() ^ (uint32_t)rand() << 16;
        float beta;
        memcpy(&beta, &bits, sizeof beta);
        if (!isfinite(beta)) continue;
        p.beta = (double)beta;
        problem_format(&p, text);
        again = problem_of(text);
        assert_true(again.beta == p.beta);
        problem_key(&p, wanted);
        assert_true(strlen(text) <= strlen(wanted));
    }
}

TEST(of_alpha_and_beta_it_matters_only_whether_they_are_0)
{
    static const struct {
        const char *x, *y;
        bool alike;
    } pairs[] = {
        {"16x24x48", "16x24x48:alpha=0.125", true},
        {"16x24x48:beta=1", "16x24x48:alpha=-3:beta=0.5", true},
        {"16x24x48", "16x24x48:beta=1", false},
        {"16x24x48", "16x24x48:alpha=0", false},
        {"16x24x48:beta=1", "16x24x48:alpha=0:beta=1", false},
        {"16x24x48:beta=1", "16x24x47:beta=1", false},
        {"16x24x48:beta=2:epilogue=bias", "16x24x48:alpha=2:beta=1:epilogue=bias", true},
        {"16x24x48:beta=2:epilogue=bias", "16x24x48:beta=2", false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct problem x = problem_of(pairs[i].x), y = problem_of(pairs[i].y);
        assert_int_equal(problem_alike(&x, &y), pairs[i].alike);
        assert_int_equal(problem_alike(&y, &x), pairs[i].alike);
    }
}

/* All codes: those that are known have a text of their own, which reads back. */
TEST(each_epilogue_reads_back_as_what_was_written)
{
    int known = 0;
    for (int code = -1; code <= EPILOGUE_CODES; code++) {
        struct problem p = problem_make(3, 5, 7), again;
        char text[PROBLEM_TEXT_MAX], its[EPILOGUE_TEXT_MAX], wanted[PROBLEM_TEXT_MAX];
        p.epilogue = code;
        if (!epilogue_is_known(code)) {
            assert_fails(problem_check(&p), E_INPUT, "there is no epilogue");
            continue;
        }
        known++;
        assert_ok(problem_check(&p));
        assert_int_equal(
            epilogue_code(epilogue_bias(code), epilogue_activation(code), epilogue_out_of_place(code)), code);
        problem_format(&p, text);
        epilogue_format(code, its);
        snprintf(wanted, sizeof wanted, "sgemm:nn:3x5x7%s%s", code ? ":epilogue=" : "", its);
        assert_string_equal(text, wanted);
        assert_ok(problem_parse(text, &again));
        assert_int_equal(again.epilogue, code);
        assert_true(problem_equal(&p, &again));
        again.epilogue = code ? 0 : 1;
        assert_false(problem_equal(&p, &again));
    }
    assert_int_equal(known, 3 * 3 * 2);
}

TEST(parts_of_an_epilogue_come_in_any_order)
{
    struct problem p = problem_of("4x8x16:epilogue=out+gelu+rowbias:beta=2");
    char text[PROBLEM_TEXT_MAX];
    assert_int_equal(epilogue_bias(p.epilogue), BIAS_ROW);
    assert_int_equal(epilogue_activation(p.epilogue), ACTIVATION_GELU);
    assert_true(epilogue_out_of_place(p.epilogue));
    problem_format(&p, text);
    assert_string_equal(text, "sgemm:nn:4x8x16:beta=2:epilogue=rowbias+gelu+out");
}

TEST(a_bias_is_as_long_as_its_side_of_c)
{
    struct problem p = problem_of("4x8x16:batch=3:epilogue=bias:stride_bias=10");
    assert_int_equal(problem_bias_length(&p), 8);
    assert_int_equal(problem_span_bias(&p), 28);
    const struct problem without = problem_of("4x8x16:batch=3");
    assert_true(problem_bytes(&p) - problem_bytes(&without) == 3 * 8 * 4);
    p = problem_of("4x8x16:batch=3:epilogue=rowbias");
    assert_int_equal(problem_bias_length(&p), 4);
    assert_int_equal(problem_span_bias(&p), 4); /* one for all items */
    const struct problem same = problem_of("4x8x16:batch=3:epilogue=rowbias:stride_bias=0");
    assert_true(problem_equal(&p, &same));
    p = problem_of("4x8x16:epilogue=relu+out");
    assert_int_equal(problem_bias_length(&p), 0);
    assert_int_equal(problem_span_bias(&p), 0);
}

/* As the other strides: of one item it means nothing. */
TEST(the_stride_of_one_bias_is_left_out)
{
    struct problem p = problem_of("4x8x16:epilogue=bias:stride_bias=10");
    char text[PROBLEM_TEXT_MAX];
    problem_format(&p, text);
    assert_string_equal(text, "sgemm:nn:4x8x16:epilogue=bias");
}

TEST(the_longest_text_fits)
{
    char text[PROBLEM_TEXT_MAX];
    struct problem p =
        problem_of("sgemm_normwise:nn:1x1x1:batch=2:lda=1073741825:ldb=1073741825:ldc=1073741825:"
                   "stride_a=576460752303423487:stride_b=576460752303423486:stride_c=576460752303423484:"
                   "alpha=-1.17549435e-38:beta=-1.17549435e-38:epilogue=rowbias+gelu+out:"
                   "stride_bias=576460752303423485");
    problem_format(&p, text);
    struct problem again = problem_of(text);
    assert_true(problem_equal(&p, &again));
    assert_int_equal(again.stride_bias, 576460752303423485);
    problem_key(&p, text);
    assert_true(strstr(text, ":stride_bias=576460752303423485") != NULL);
}

TEST(bad_text_gives_a_sentence_that_names_it)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"12x", "N must be a whole number"},
        {"", "M must be"},
        {"4", "expected 'x' after M"},
        {"4x4", "expected 'x' after N"},
        {"4x4x4x4", "unexpected"},
        {"-1x4x4", "M must be"},
        {"99999999999999999999x1x1", "does not fit"},
        {"2147483648x1x1", "limit"},
        {"xx:4x4x4", "unknown type or op"},
        {"zgemm:4x4x4", "complex products"},
        {"sgem:4x4x4", "unknown type or op 'sgem'"},
        {"sgem:4x4x4", "did you mean 'sgemm'?"},
        {"nn:tf32gemm:4x4x4", "M must be"},
        {"tf32gemm:sgemm:4x4x4", "unknown type or op 'sgemm'"},
        {"nn:tn:4x4x4", "M must be"},
        {"4x4x4:lda=3", "smaller than the stored row"},
        {"4x4x4:lda=99999999999", "limit"},
        {"4x4x4:depth=3", "unknown option"},
        {"4x4x4:lda=64:lda=128", "lda is given twice"},
        {"bf16gemm:4x4x4:c=f32:c=f32", "c is given twice"},
        {"bf16gemm:4x4x4:c=f16", "c is 'f16'; C has the elements of A and B, or f32"},
        {"4x4x4:c=", "c is ''"},
        {"4x4x4:c", "unknown option"},
        {"4x4x4:beta=1:batch=2:beta=1", "beta is given twice"},
        {"4x4x4:batch=0", "at least 1"},
        {"4x4x4:alpha=nan", "finite"},
        {"4x4x4:beta=1e99", "finite"},
        {"4x4x4:beta=-inf", "finite"},
        {"4x4x4:alpha=1e-46", "is 0 in FP32"},
        {"4x4x4:beta=-1e-400", "is 0 in FP32"},
        {"4x4x4:batch=2:stride_c=0", "overlap"},
        {"4x4x4:lda=0", "must be at least 1"},
        {"4x4x4:batch=2:stride_c=3", "overlap"},
        {"4x4x4 ", "unexpected"},
        {"4x4x4:epilogue=", "unknown part ''"},
        {"4x4x4:epilogue=tanh", "parts are bias or rowbias, relu or gelu, and out"},
        {"4x4x4:epilogue=bias+", "unknown part ''"},
        {"4x4x4:epilogue=bias+rowbias", "two parts of a kind"},
        {"4x4x4:epilogue=gelu+gelu", "two parts of a kind"},
        {"4x4x4:epilogue=relu:epilogue=relu", "epilogue is given twice"},
        {"4x4x4:epilogue=relu:lda", "unknown option"},
        {"4x4x4:batch=2:stride_bias=4", "needs an epilogue with a bias"},
        {"4x4x4:batch=2:epilogue=relu:stride_bias=4", "needs an epilogue with a bias"},
        {"4x4x4:batch=2:epilogue=bias:stride_bias=-4", "stride_bias must be"},
        {"4x4x4:batch=2:epilogue=bias:stride_bias=1152921504606846976", "the batch of operand bias"},
        {"1073741824x1x1073741824:batch=2:stride_a=576460752303423488", "a and its batch span"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct problem p;
        assert_fails(problem_parse(bad[i].text, &p), E_INPUT, bad[i].part);
        assert_fails(problem_parse(bad[i].text, &p), E_INPUT, bad[i].text);
    }
}

TEST(alignment_is_the_widest_that_all_rows_share)
{
    struct problem p = problem_of("32x1605632x27");
    assert_int_equal(problem_align_a(&p), 1);
    assert_int_equal(problem_align_b(&p), 4);
    assert_int_equal(problem_align_c(&p), 4);
    p = problem_of("8x6x4:lda=6");
    assert_int_equal(problem_align_a(&p), 2);
    p = problem_of("8x8x8:batch=2:stride_b=65");
    assert_int_equal(problem_align_b(&p), 1);
    p = problem_of("8x8x7:lda=8"); /* the row itself is ragged: a vector would straddle the edge */
    assert_int_equal(problem_align_a(&p), 1);
}

TEST(spans_pass_two_to_the_31)
{
    struct problem p = problem_of("100000x100000x8");
    assert_true(problem_span_c(&p) == INT64_C(10000000000));
}

TEST(random_bytes_never_crash_the_parser)
{
    srand(1);
    static const char alphabet[] = "0123456789xxx:=ntabcdlsgemabth_.-+e \t";
    for (int round = 0; round < 200000; round++) {
        char text[48];
        size_t length = (size_t)rand() % (sizeof text - 1);
        for (size_t i = 0; i < length; i++) text[i] = alphabet[(size_t)rand() % (sizeof alphabet - 1)];
        text[length] = '\0';
        struct problem p, again;
        if (problem_parse(text, &p)) continue;
        char canonical[PROBLEM_TEXT_MAX];
        problem_format(&p, canonical);
        assert_ok(problem_parse(canonical, &again));
        assert_true(problem_equal(&p, &again));
    }
}

/* The library runs in programs that have set theirs. */
TEST(fractions_have_a_point_in_any_locale)
{
    char folder[] = "/tmp/gemmtune-locale-XXXXXX", command[200], text[PROBLEM_TEXT_MAX];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", folder,
             folder);
    const bool made = system(command) == 0;
    setenv("LOCPATH", folder, 1);
    const bool comma = made && setlocale(LC_ALL, "de_DE.UTF-8") && strtod("0,5", NULL) == 0.5;
    if (comma) {
        struct problem p = problem_of("8x8x8:alpha=0.5:beta=-2.25");
        problem_format(&p, text);
        assert_string_equal(text, "sgemm:nn:8x8x8:alpha=0.5:beta=-2.25");
        assert_true(strtod("0,5", NULL) == 0.5); /* and theirs is as it was */
        assert_fails(problem_parse("8x8x8:alpha=0,5", &p), E_INPUT, "unexpected");
    }
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (!comma) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bare_shape_is_sgemm_nn),
        cmocka_unit_test(leading_dimensions_follow_the_op),
        cmocka_unit_test(every_text_survives_a_round_trip),
        cmocka_unit_test(zero_sizes_are_problems),
        cmocka_unit_test(each_type_reads_back_as_what_was_written),
        cmocka_unit_test(bytes_and_vectors_are_those_of_the_elements),
        cmocka_unit_test(a_batch_that_shares_a_matrix_has_a_text_of_its_own),
        cmocka_unit_test(fractions_are_as_short_as_they_read_back),
        cmocka_unit_test(of_alpha_and_beta_it_matters_only_whether_they_are_0),
        cmocka_unit_test(each_epilogue_reads_back_as_what_was_written),
        cmocka_unit_test(parts_of_an_epilogue_come_in_any_order),
        cmocka_unit_test(a_bias_is_as_long_as_its_side_of_c),
        cmocka_unit_test(the_stride_of_one_bias_is_left_out),
        cmocka_unit_test(the_longest_text_fits),
        cmocka_unit_test(bad_text_gives_a_sentence_that_names_it),
        cmocka_unit_test(alignment_is_the_widest_that_all_rows_share),
        cmocka_unit_test(spans_pass_two_to_the_31),
        cmocka_unit_test(random_bytes_never_crash_the_parser),
        cmocka_unit_test(fractions_have_a_point_in_any_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
