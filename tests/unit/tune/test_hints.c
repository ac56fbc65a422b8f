/* Which winners are hints: how far their problems are from the one that is searched. */
#include "hints.h"

#include "described_gpu.h"
#include "scratch_folder.h"
#include "unit.h"
#include "workspace.h"

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

/* The winners that ship, for products with a short k, say eight parts of k, or none. */
static void check_hints_for(const char *shape, struct db *db, const struct space *space)
{
    const struct db_context context = {.gpu = gpu_of("h100_sxm")};
    const struct problem problem = problem_of(shape);
    struct field field;
    struct search *search;
    size_t given, index;
    assert_ok(field_open(space, &problem, &context.gpu, WORKSPACE_DEFAULT, false, &field));
    assert_ok(search_start("gp", field.config, field.count, field.predicted_us, NULL, 1, &search));
    assert_ok(hints_give(&field, db, NULL, &context, &problem, true, search, &given));
    assert_true(given > 0);
    for (size_t i = 0; i < given; i++) {
        assert_int_equal(search_next(search, &index), SEARCH_TRY);
        const double times = field.predicted_us[index] / field.predicted_us[0];
        char text[CONFIG_TEXT_MAX];
        config_format(&field.config[index], text);
        if (times > 3) fail_msg("%s: a hint is predicted %.0f times the favourite's: %s", shape, times, text);
    }
    search_stop(search);
    field_close(&field);
}

TEST(no_hint_cuts_a_k_of_millions_into_a_few_parts)
{
    static const char *const shapes[] = {"64x64x70000000", "16x16x1000000", "128x64x20000000"};
    struct db *db;
    struct space *space;
    setenv("GEMMTUNE_CONFIGS", GT_SOURCE_DIR "/configs", 1);
    assert_ok(field_space("", &space));
    assert_ok(db_open(in_folder("t.db"), DB_WRITE, &db));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_hints_for(shapes[i], db, space);
    db_close(db);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_ops_alignments_and_types_are_distances),
        cmocka_unit_test(what_was_tuned_for_the_like_comes_before_other_alignments_ops_and_sizes),
        FOLDER_TEST(no_hint_cuts_a_k_of_millions_into_a_few_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
