/* What a merge takes in, and that it does not depend on the order of the files. */
#include "merge_files.h"

TEST(files_merged_in_any_order_and_twice_give_the_same_content)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct db_merged merged;
    for (int i = 0; i < 3; i++) fill(i);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const char *out = paths[i == 0 ? FILES : FILES + 1];
        const char *inputs[6];
        for (int j = 0; j < 6; j++) inputs[j] = paths[orders[i][j % 3]];
        unlink(out);
        if (i % 2) {
            assert_ok(merge_into(out, inputs, 6, &merged)); /* each twice */
        } else {
            for (int j = 0; j < 3; j++) assert_ok(merge_into(out, inputs + j, 1, &merged)); /* one by one */
        }
        assert_clean(out);
        assert_same(paths[FILES], out);
    }
    const char *inputs[4] = {paths[0], paths[1], paths[2], paths[FILES]};
    char *before = content(paths[FILES]), *after;
    assert_ok(merge_into(paths[FILES], inputs, 4, &merged)); /* once more, and into itself */
    assert_int_equal(merged.trials + merged.runs + merged.decisions + merged.winners + merged.gpus, 0);
    assert_true(merged.known > 0);
    assert_string_equal(before, after = content(paths[FILES]));
    free(before);
    free(after);
}

/* COUNT trials of one run from configuration `first` on. */
static void add_trials(const char *path, int first, int count)
{
    struct db *db = open_at(path, DB_WRITE);
    struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    const struct problem problem = problem_make(64, 64, 64);
    for (int i = 0; i < count; i++) {
        const struct config config = store_config(first + i);
        const struct outcome outcome = store_outcome(10 + i);
        store_trial(db, run, &problem, &config, &outcome);
    }
    db_close(db);
}

static void assert_merged(const char *input, int64_t added, int64_t known)
{
    struct db_merged merged;
    assert_ok(merge_into(paths[FILES], &input, 1, &merged));
    assert_int_equal(merged.trials, added);
    assert_int_equal(merged.known - known, 0);
    assert_clean(paths[FILES]);
}

/* Rows that are known are compared side by side with those of the target as long as they come in its order:
 * whatever the order is, what is new is added once, and what is known not at all. */
TEST(known_trials_are_found_in_every_order)
{
    struct db_merged merged;
    add_trials(paths[0], 0, 50);
    assert_merged(paths[0], 50, 0);
    assert_merged(paths[0], 0, 51); /* the run, too */
    /* New ones before, between and after. */
    add_trials(paths[1], 100, 20);
    const char *const known = paths[0];
    struct db *db = open_at(paths[1], DB_WRITE);
    assert_ok(db_merge(db, &known, 1, &merged));
    db_close(db);
    add_trials(paths[1], 200, 20);
    assert_merged(paths[1], 40, 51);
    assert_merged(paths[1], 0, 93);
    /* Their order reversed, then every second one out of order: no two rows side by side. */
    change(paths[1], "UPDATE trials SET id = 1000 - id");
    assert_merged(paths[1], 0, 93);
    change(paths[1], "UPDATE trials SET id = id + 5000 * (id % 2)");
    assert_merged(paths[1], 0, 93);
    /* A known row in front of many new ones, and new rows among those that are in order. */
    change(paths[0], "UPDATE trials SET detail = 'another' WHERE id % 10 = 7");
    assert_merged(paths[0], 5, 46);
    assert_merged(paths[0], 0, 51);
    assert_merged(paths[1], 0, 93);
}

TEST(a_merge_of_merges_is_the_merge_of_all)
{
    struct db_merged merged;
    for (int i = 0; i < 3; i++) fill(i);
    const char *all[3] = {paths[0], paths[1], paths[2]}, *rest[2] = {paths[3], paths[2]};
    assert_ok(merge_into(paths[FILES], all, 3, &merged));
    assert_int_equal(merged.trials, 18);
    assert_int_equal(merged.runs, 3);
    assert_int_equal(merged.decisions, 6);
    assert_ok(merge_into(paths[3], all, 2, &merged));
    assert_ok(merge_into(paths[FILES + 1], rest, 2, &merged));
    assert_same(paths[FILES], paths[FILES + 1]);
}

/* Which of two winners stands, whichever comes first. */
static void assert_stands(const struct db_winner *better, const struct db_winner *worse)
{
    const struct db_winner *both[2] = {worse, better};
    struct db_merged merged;
    for (int first = 0; first < 2; first++) {
        struct db_context context = store_context();
        for (int i = 0; i < 2; i++) {
            unlink(paths[i]);
            struct db *db = open_at(paths[i], DB_WRITE);
            set_winner(db, store_run(db, &context), both[i]);
            db_close(db);
        }
        unlink(paths[FILES]);
        const char *inputs[2] = {paths[first], paths[1 - first]};
        assert_ok(merge_into(paths[FILES], inputs, 2, &merged));
        char *merged_content = content(paths[FILES]), *alone = content(paths[1]);
        /* The eighth line names the winner. */
        char *x = merged_content, *y = alone;
        for (int line = 0; line < 7; line++) x = strchr(x, '\n') + 1, y = strchr(y, '\n') + 1;
        assert_int_equal(strcspn(x, "\n"), 32);
        assert_memory_equal(x, y, 32);
        free(merged_content);
        free(alone);
    }
}

TEST(the_better_evidence_stands)
{
    struct db_winner raced = winner_of(1, 10, 1.0, 0.02, 8), other = winner_of(2, 9, 1.2, 0.02, 8);
    struct db_winner predicted = winner_of(3, 5, 0, 0, 0);
    predicted.base.predicted = true;
    predicted.base.ratio_low = predicted.base.ratio_high = 0;
    assert_stands(&raced, &predicted);
    struct db_winner cublas = raced;
    cublas.config.template = NULL;
    assert_stands(&cublas, &predicted);
    struct db_winner longer = other;
    longer.rounds = 16;
    assert_stands(&longer, &raced);
    struct db_winner narrow = raced;
    narrow.base.ratio_low = 0.998, narrow.base.ratio_high = 1.002;
    assert_stands(&narrow, &other);
    assert_stands(&raced, &other); /* as good: the newer, which is stored last */
    struct db_winner slightly_longer = other;
    slightly_longer.rounds = 15; /* of the same power of two as 8 */
    assert_stands(&raced, &slightly_longer);
}

static bool keep_winner(void *self, const struct db_winner *winner)
{
    *(struct db_winner *)self = *winner;
    return true;
}

static void assert_wins(const char *path, const struct config *config)
{
    const struct db_filter filter = {.gpu = NULL};
    struct db_winner winner = {.config_text = ""};
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    struct db *db = open_at(path, DB_READ);
    assert_ok(db_winners(db, &filter, NULL, keep_winner, &winner));
    assert_string_equal(winner.config_text, text);
    db_close(db);
}

/* One file has the winner with the better evidence, another that it failed later, a third that it then was
 * right. */
TEST(what_another_file_knows_of_a_winner_counts_in_any_order)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const struct db_winner best = winner_of(1, 10, 1.0, 0.02, 16), next = winner_of(2, 10, 1.0, 0.02, 8);
    const struct outcome wrong = outcome_failed(VERDICT_WRONG, "told to"), right = store_outcome(10);
    const struct db_context context = store_context();
    struct db_merged merged;
    for (int i = 0; i < 3; i++) {
        struct db *db = open_at(paths[i], DB_WRITE);
        const int64_t run = store_run(db, &context);
        if (i < 2) set_winner(db, run, i == 0 ? &best : &next);
        if (i > 0) store_trial(db, run, &best.base.problem, &best.config, i == 1 ? &wrong : &right);
        db_close(db);
    }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        bool has[3] = {false};
        unlink(paths[FILES]);
        for (int j = 0; j < 3; j++) {
            const char *input = paths[orders[i][j]];
            has[orders[i][j]] = true;
            assert_ok(merge_into(paths[FILES], &input, 1, &merged));
            if (has[0] || has[1])
                assert_wins(paths[FILES], has[0] && (!has[1] || has[2]) ? &best.config : &next.config);
        }
        assert_clean(paths[FILES]);
    }
}

TEST(a_config_of_a_changed_template_does_not_stand_against_one_that_can_be_used)
{
    struct db_winner predicted = winner_of(3, 5, 0, 0, 0), raced = winner_of(1, 10, 1.0, 0.02, 30);
    predicted.base.predicted = true;
    predicted.base.ratio_low = predicted.base.ratio_high = 0;
    struct db_context context = store_context();
    struct db *db = open_at(paths[0], DB_WRITE);
    db_parameters_hash(db, raced.config.template);
    db->parameters[0].schema ^= 1; /* as an earlier version of the program had it */
    set_winner(db, store_run(db, &context), &raced);
    db_close(db);
    db = open_at(paths[1], DB_WRITE);
    set_winner(db, store_run(db, &context), &predicted);
    db_close(db);
    struct db_merged merged;
    const char *inputs[2] = {paths[1], paths[0]};
    assert_ok(merge_into(paths[FILES], inputs, 2, &merged));
    assert_int_equal(merged.winners, 1);
    assert_clean(paths[FILES]);
}

TEST(a_tuner_goes_on_in_a_merged_file)
{
    struct db_merged merged;
    for (int i = 0; i < 2; i++) fill(i);
    const char *inputs[1] = {paths[1]};
    struct db *db = open_at(paths[0], DB_WRITE);
    assert_ok(db_merge(db, inputs, 1, &merged));
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct problem problem = problem_make(5, 6, 7);
    for (int i = 0; i < 20; i++) {
        struct config config = store_config(100 + i);
        struct outcome outcome = store_outcome(3);
        store_trial(db, run, &problem, &config, &outcome);
    }
    struct db_counts counts;
    assert_ok(db_count(db, &counts));
    assert_int_equal(counts.trials, 32);
    assert_int_equal(counts.attempts, 0);
    db_close(db);
    assert_clean(paths[0]);
}

TEST(what_ends_later_is_merged_later)
{
    struct db_merged merged;
    struct db_context context = store_context();
    struct db *db = open_at(paths[0], DB_WRITE);
    int64_t run = store_run(db, &context), attempt;
    struct problem problem = problem_make(5, 6, 7);
    struct config config = store_config(1);
    assert_ok(db_attempt(db, run, &problem, &config, &attempt));
    const char *inputs[1] = {paths[0]};
    assert_ok(merge_into(paths[FILES], inputs, 1, &merged)); /* while the tuner runs */
    assert_int_equal(merged.trials, 0);
    struct outcome outcome = store_outcome(3);
    assert_ok(db_record(db, attempt, &outcome));
    assert_ok(db_run_end(db, run, "finished"));
    db_close(db);
    struct db *out = open_at(paths[FILES], DB_WRITE);
    int64_t count;
    assert_ok(db_recover(out, &count)); /* here the run looks killed */
    db_close(out);
    assert_ok(merge_into(paths[FILES], inputs, 1, &merged));
    assert_int_equal(merged.trials, 1);
    assert_same(paths[0], paths[FILES]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_merged_in_any_order_and_twice_give_the_same_content, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(known_trials_are_found_in_every_order, setup, store_teardown),
        cmocka_unit_test_setup_teardown(a_merge_of_merges_is_the_merge_of_all, setup, store_teardown),
        cmocka_unit_test_setup_teardown(the_better_evidence_stands, setup, store_teardown),
        cmocka_unit_test_setup_teardown(what_another_file_knows_of_a_winner_counts_in_any_order, setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(
            a_config_of_a_changed_template_does_not_stand_against_one_that_can_be_used, setup,
            store_teardown),
        cmocka_unit_test_setup_teardown(a_tuner_goes_on_in_a_merged_file, setup, store_teardown),
        cmocka_unit_test_setup_teardown(what_ends_later_is_merged_later, setup, store_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
