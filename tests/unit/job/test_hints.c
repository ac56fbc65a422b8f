/* Which winners are hints: how far their problems are from the one that is searched. */
#include "hints.h"
#include "unit.h"

static double from(const char *text)
{
    struct problem x = problem_make(1024, 1024, 1024), y;
    assert_ok(problem_parse(text, &y));
    return hints_distance(&x, &y);
}

TEST(sizes_ops_alignments_and_types_are_distances)
{
    assert_true(from("1024x1024x1024") == 0);
    assert_true(from("2048x1024x1024") > 0.99 && from("2048x1024x1024") < 1);
    assert_true(from("nt:1024x1024x1024") == 1);
    assert_true(from("1024x1024x1024:lda=1025") > 0.26 && from("1024x1024x1024:lda=1025") < 0.28);
    assert_true(from("1024x1024x1024:epilogue=bias+gelu") == from("1024x1024x1024:beta=1"));
    assert_true(from("1024x1024x1024:pointers") > 0.1 && from("1024x1024x1024:pointers") < 1);
    assert_true(from("tf32gemm:1024x1024x1024") > 1 && from("tf32gemm:1024x1024x1024") < 1.03);
}

/* Nearest first. */
TEST(what_was_tuned_for_the_like_comes_before_other_alignments_ops_and_sizes)
{
    static const char *const order[] = {
        "1024x1024x1024",    "1024x1024x1024:lda=1028", "1024x1024x1024:beta=1:lda=1028",
        "1200x1024x1024",    "1024x1024x1024:lda=1025", "2048x1024x1024",
        "nt:1024x1024x1024", "2048x2048x2048",          "tt:1024x1024x1024",
        "tt:2048x2048x2048"};
    for (size_t i = 1; i < sizeof order / sizeof *order; i++)
        if (from(order[i - 1]) >= from(order[i])) fail_msg("%s is as far as %s", order[i - 1], order[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_ops_alignments_and_types_are_distances),
        cmocka_unit_test(what_was_tuned_for_the_like_comes_before_other_alignments_ops_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
