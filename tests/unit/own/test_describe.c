#include "describe.h"
#include "unit.h"

#include "gemm_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct description d;

static enum status read_head(const char *text)
{
    return describe_read("my.cu", text, false, &d, NULL);
}

static const char whole[] =
    "/* a kernel */\n"
    "// gemmtune: type sgemm, ops nn tt, only M % BM == 0 && N % BN == 0\n"
    "// entry ns::warptile<BM, BN, (BM > 64), TYPE_C>\n"
    "// param BM 64 128 ; BN 32 64 128   # what is worth trying\n"
    "// param SPLIT 1 2 4\n"
    "// rule BM >= BN && (BM * BN) % 256 == 0\n"
    "// rule SPLIT == 1 || BM == 64\n"
    "// grid ceil(N, BN), ceil(M, BM), SPLIT ; block 32, 8 ; shared 4 * BM * BN ; registers BM * BN / 256\n"
    "// tile BM BN 8\n"
    "// args M N K alpha A lda B ldb workspace (M + 1) SPLIT\n"
    "// workspace 4 * M * N * SPLIT\n"
    "// launch sum grid ceil(M * N, 256) block 256 args workspace, C, M, N, SPLIT\n"
    "template <int BM> __global__ void f();\n"
    "// grid of something else\n";

TEST(a_whole_description_is_understood)
{
    assert_ok(read_head(whole));
    assert_int_equal(d.types, GEMM_TYPE_BIT(GEMM_SGEMM));
    assert_true(d.op[0][0] && d.op[1][1] && !d.op[0][1] && !d.op[1][0]);
    assert_int_equal(d.params, 3);
    assert_string_equal(d.param[2], "SPLIT");
    assert_int_equal(d.values[1], 3);
    assert_int_equal(d.value[1][0], 32);
    assert_int_equal(d.rules, 5); /* a conjunction is one for each part, a disjunction is one */
    assert_string_equal(d.rule[0].why, "my.cu:2: only M % BM == 0");
    assert_string_equal(d.rule[3].why, "my.cu:6: rule (BM * BN) % 256 == 0");
    assert_int_equal(d.launches, 2);
    assert_true(d.launch[0].is_template && !d.launch[1].is_template);
    assert_string_equal(d.launch[0].entry, "ns::warptile<BM, BN, (BM > 64), TYPE_C>");
    assert_string_equal(d.launch[0].name, "ns::warptile");
    assert_int_equal(d.launch[0].arguments, 11);
    assert_int_equal(d.launch[0].argument[8].kind, OWN_WORKSPACE);
    assert_true(d.launch[0].grid[2].steps && d.launch[0].block[1].steps && !d.launch[0].block[2].steps);
    assert_string_equal(d.launch[1].name, "sum");
    assert_int_equal(d.launch[1].argument[1].kind, OWN_C);
    assert_int_equal(d.tiles, 3);
}

TEST(a_file_beside_it_needs_no_comment_signs)
{
    assert_ok(describe_read("my.tune", "entry f\ngrid M\nblock 32\nargs C M", true, &d, NULL));
    assert_int_equal(d.params, 0);
    assert_int_equal(read_head("__global__ void f();\n"), E_ABSENT);
}

TEST(what_is_wrong_is_named_with_file_line_and_column)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"// gemmtune: type dgemm\n", "my.cu:1:19: 'dgemm'; expected "},
        {"// gemmtune: typ sgemm\n", "my.cu:1:14: 'typ'; expected type, ops, only,"},
        {"// gemmtune: ops nx\n", "my.cu:1:18: 'nx'; expected nn, nt, tn or tt"},
        {"// gemmtune: entry f\n// grid ceil(N)\n", "my.cu:2:9: expected ceil(x, y)"},
        {"// gemmtune: entry f\n// grid N ; block 32 ; args M N K A B C X\n", "my.cu:2:41: unknown name 'X'"},
        {"// gemmtune: entry f ; grid N ; block 32\n", "has no 'args'"},
        {"// gemmtune: entry f ; grid N ; args C\n", "has no 'block'"},
        {"// gemmtune: entry f ; entry g\n", "my.cu:1:24: 'entry'; expected it once"},
        {"// gemmtune: entry f ; grid N ; block 1 ; args M\n", "no kernel takes C"},
        {"// gemmtune: entry f ; grid N ; block 1 ; args C workspace\n",
         "expected 'workspace' and its bytes"},
        {"// gemmtune: entry f<BM\n// grid 1\n", "expected '>'"},
        {"// gemmtune: entry 3f\n", "my.cu:1:20: '3f'; expected the name of a kernel"},
        {"// gemmtune: param BM\n// entry f\n", "my.cu:2:4: 'entry'; expected a whole number"},
        {"// gemmtune: param BM 1 2 x\n", "'x'; expected type"},
        {"// gemmtune: param BM 1 1\n", "expected each value once"},
        {"// gemmtune: param M 1\n", "expected a name that means nothing else"},
        {"// gemmtune: param BM 1 ; BM 2\n", "expected a name that means nothing else"},
        {"// gemmtune: param BM -1\n", "'-1'; expected a whole number from 0"},
        {"// gemmtune: param BM 99999999999\n", "expected a whole number from 0"},
        {"// gemmtune: entry f ; grid N, M, 1, 2 ; block 1 ; args C\n",
         "my.cu:1:38: '2'; expected no more than that"},
        {"// gemmtune: entry f ; grid N ; block 1 ; args C ; tile 1 2\n", "expected three sizes"},
        {"// gemmtune: entry f ; grid N ; block 1 ; args C ; tile M 2 3\n", "expected parameters alone"},
        {"// gemmtune: entry f ; grid N ; block 1 ; args C\nint x;\n// gemmtune: ops nn\n",
         "a second 'gemmtune:'"},
        {"// gemmtune: entry f ; grid N ; block 1 ) 3 ; args C\n",
         "my.cu:1:41: expected a number, a name or '('"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const enum status st = read_head(cases[i].text);
        if (st != E_INPUT || !strstr(status_text(), cases[i].said))
            fail_msg("%s: '%s' lacks '%s'", cases[i].text, status_text(), cases[i].said);
    }
}

static char *bare_of(const char *text)
{
    char *bare = NULL, *at;
    assert_ok(describe_read("my.cu", text, false, &d, &bare));
    for (char *c = at = bare; *c; c++)
        if (*c != ' ' && *c != '\n') *at++ = *c;
    *at = '\0';
    return bare;
}

TEST(identity_depends_on_neither_comments_nor_values)
{
    char *a = bare_of("// gemmtune: entry f ; param X 1 2 ; grid N\n// block 32 ; args C # remark\n"),
         *b = bare_of("// gemmtune:  entry f ;  param X 4  ; grid N\n// block 32 ; args C\nint x;\n"),
         *c = bare_of("// gemmtune: entry f ; param X 1 2 ; grid N\n// block 64 ; args C\n");
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_description_is_understood),
        cmocka_unit_test(a_file_beside_it_needs_no_comment_signs),
        cmocka_unit_test(what_is_wrong_is_named_with_file_line_and_column),
        cmocka_unit_test(identity_depends_on_neither_comments_nor_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
