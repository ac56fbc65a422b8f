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
    assert_true(from("1024x1024x1024:lda=1025") == 0.5);
    assert_true(from("tf32gemm:1024x1024x1024") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_ops_alignments_and_types_are_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
