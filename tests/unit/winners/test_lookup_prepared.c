/* Which winners answer a problem with a prepared operand, and which a problem without. */
#include "db_files.h"
#include "lookup.h"
#include "store_choices.h"

#define PLAIN    "sgemm_accurate:nt:512x1024x1024"
#define PREPARED PLAIN ":prepared=b"

#define SPLITS 100 /* numbers from here on split A and B in the blocks, and read nothing prepared */

/* Legal for the problems below; all different. */
static struct config numbered(int number)
{
    char text[CONFIG_TEXT_MAX];
    struct config config;
    snprintf(text, sizeof text,
             "bf16x6 BM=128 BN=%d BK=64 STAGES=6 FUSE=%d VA=1 VB=1 VC=2 GROUP=%d SPLIT_K=1 SMS=132",
             number < SPLITS ? 128 : 96, number < SPLITS ? 0 : 3, number % SPLITS);
    assert_ok(config_parse(text, &config));
    return config;
}

static void decide(const char *text, int number, double ratio)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const struct db_errors errors = {true, 1e-7, 1e-7, 1e-7};
    struct db_winner w = {.base.time_us = 100,
                          .base.cold = true,
                          .base.exact = true,
                          .base.ratio = ratio,
                          .base.anchor_us = 100 * ratio,
                          .errors = errors,
                          .rival_errors = errors,
                          .rounds = 8,
                          .config = numbered(number)};
    assert_ok(problem_parse(text, &w.base.problem));
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

static bool is(const struct choice *choice, int number)
{
    const struct config config = numbered(number);
    return !choice->cublas && config_equal(&choice->config, &config);
}

static bool any_is(const struct choice *all, int count, int number)
{
    for (int i = 0; i < count; i++)
        if (is(&all[i], number)) return true;
    return false;
}

TEST(the_winner_with_a_prepared_operand_goes_before_the_one_without)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PLAIN, 1, 2.5);
    decide(PREPARED, 2, 3.5);
    choices_for(PREPARED, all);
    assert_true(is(&all[0], 2) && all[0].source == CHOICE_EXACT && all[0].ratio == 3.5);
    assert_string_equal(all[0].tuned_for, PREPARED);
    assert_true(is(&all[1], 1) && all[1].source == CHOICE_NEAREST);
    assert_string_equal(all[1].tuned_for, PLAIN);
    assert_string_equal(all[1].why, "measured for this problem without a prepared operand");
}

TEST(a_plain_problem_is_answered_by_plain_winners_alone)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PLAIN, 1, 2.5);
    decide(PREPARED, 2, 3.5);
    decide("sgemm_accurate:nt:513x1024x1024:prepared=b", 3, 3.5);
    decide("sgemm_accurate:nt:512x1024x1024:prepared=a", 4, 3.5);
    int count = choices_for(PLAIN, all);
    assert_true(is(&all[0], 1) && all[0].source == CHOICE_EXACT);
    for (int number = 2; number <= 4; number++) assert_false(any_is(all, count, number));
    count = choices_for("sgemm_accurate:nt:514x1024x1024", all);
    assert_true(any_is(all, count, 1));
    for (int number = 2; number <= 4; number++) assert_false(any_is(all, count, number));
    count = choices_for("sgemm_accurate:nt:514x1024x1024:prepared=b", all); /* both kinds, but not of A */
    assert_true(any_is(all, count, 1) && any_is(all, count, 2) && any_is(all, count, 3));
    assert_false(any_is(all, count, 4));
}

TEST(what_reads_no_prepared_operand_answers_the_plain_problem_too)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PREPARED, SPLITS + 1, 2.2);
    choices_for(PLAIN, all);
    assert_true(is(&all[0], SPLITS + 1) && all[0].source == CHOICE_EXACT && all[0].ratio == 2.2);
    assert_string_equal(all[0].tuned_for, PREPARED);
    assert_string_equal(all[0].why,
                        "measured for this problem with a prepared operand, which it does not read");
    assert_true(choice_replaces_cublas(&all[0]));
    choices_for("sgemm_normwise:nt:512x1024x1024", all);
    assert_true(is(&all[0], SPLITS + 1) && all[0].source == CHOICE_EXACT);
    choices_for("sgemm_accurate:nt:500x1024x1024", all); /* it is nearby, and the bucket */
    assert_true(is(&all[0], SPLITS + 1) && all[0].source == CHOICE_NEAREST);
    decide(PLAIN, 1, 2.5); /* precedes it */
    choices_for(PLAIN, all);
    assert_true(is(&all[0], 1) && all[0].source == CHOICE_EXACT);
}

/* The kernel lost, and reads the prepared operand: cuBLAS would win by more without. */
TEST(where_cublas_won_with_it_cublas_answers_the_plain_problem)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PREPARED, 2, 0.8);
    const int count = choices_for(PLAIN, all);
    assert_true(all[0].cublas && all[0].source == CHOICE_EXACT);
    assert_string_equal(all[0].why, "cuBLAS won the race for this problem with a prepared operand");
    assert_false(any_is(all, count, 2));
}

TEST(where_cublas_won_without_it_cublas_answers)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PLAIN, 1, 0.9);
    choices_for(PREPARED, all);
    assert_true(all[0].cublas && all[0].source == CHOICE_NEAREST && is(&all[1], 1));
    assert_string_equal(all[0].why, "cuBLAS won the race for this problem without a prepared operand");
    decide(PREPARED, 2, 1.5);
    choices_for(PREPARED, all);
    assert_true(is(&all[0], 2) && all[0].source == CHOICE_EXACT);
    assert_true(all[1].cublas && is(&all[2], 1));
}

/* A laxer class, and another beta. */
TEST(like_problems_share_winners_of_their_kind)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PLAIN, 1, 2.5);
    decide(PREPARED, 2, 3.5);
    choices_for("sgemm_normwise:nt:512x1024x1024:prepared=b", all);
    assert_true(is(&all[0], 2) && all[0].source == CHOICE_EXACT);
    choices_for(PREPARED ":alpha=3", all);
    assert_true(is(&all[0], 2) && all[0].source == CHOICE_EXACT);
    choices_for("sgemm_normwise:nt:512x1024x1024", all);
    assert_true(is(&all[0], 1) && all[0].source == CHOICE_EXACT);
    choices_for(PLAIN ":alpha=3", all);
    assert_true(is(&all[0], 1) && all[0].source == CHOICE_EXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_winner_with_a_prepared_operand_goes_before_the_one_without),
        STORE_TEST(a_plain_problem_is_answered_by_plain_winners_alone),
        STORE_TEST(what_reads_no_prepared_operand_answers_the_plain_problem_too),
        STORE_TEST(where_cublas_won_with_it_cublas_answers_the_plain_problem),
        STORE_TEST(where_cublas_won_without_it_cublas_answers),
        STORE_TEST(like_problems_share_winners_of_their_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
