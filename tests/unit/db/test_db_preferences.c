/* Pins and exclusions, and notes of searches: what they do to the winner, and that merging carries them. */
#include "db_exchange.h"
#include "db_files.h"
#include "store.h"

static const struct db_context *context(void)
{
    static struct db_context c;
    c = store_context();
    return &c;
}

static const struct problem *the_problem(void)
{
    static struct problem p;
    p = problem_make(64, 64, 64);
    return &p;
}

/* A decision for the number-th configuration. */
static void decide(struct db *db, int64_t run, int number, double time_us, bool pinned, bool predicted)
{
    struct config c = store_config(number);
    struct db_winner w = {.base.problem = *the_problem(),
                          .base.cold = true,
                          .base.time_us = time_us,
                          .base.predicted = predicted,
                          .pinned = pinned,
                          .rounds = predicted ? 0 : 8,
                          .config = c};
    assert_ok(db_set_winner(db, run, &w, &c, 1, NULL, 0));
}

static bool prefer(struct db *db, bool pin, int number, bool holds)
{
    const struct config c = store_config(number);
    const struct problem problem = *the_problem();
    char text[CONFIG_TEXT_MAX];
    bool changed;
    config_format(&c, text);
    assert_ok(db_prefer(db, &context()->gpu, &problem, pin, text, holds, &changed));
    return changed;
}

static bool take(void *self, const struct db_winner *winner)
{
    *(struct db_winner *)self = *winner;
    return true;
}

/* The winner is the number-th configuration; -1: there is none. */
static void assert_winner(struct db *db, int number)
{
    const struct problem problem = *the_problem();
    const struct db_filter filter = {.problem = &problem};
    struct db_winner w = {.config_text = ""};
    char text[CONFIG_TEXT_MAX] = "";
    assert_ok(db_winners(db, &filter, NULL, take, &w));
    const struct config c = store_config(number < 0 ? 0 : number);
    if (number >= 0) config_format(&c, text);
    assert_string_equal(w.config_text, text);
}

static void assert_winner_takes(struct db *db, double time_us)
{
    const struct db_filter filter = {.problem = the_problem()};
    struct db_winner w = {.config_text = ""};
    assert_ok(db_winners(db, &filter, NULL, take, &w));
    assert_true(w.base.time_us == time_us && w.pinned);
}

struct listed {
    int pins, exclusions;
    char pin[CONFIG_TEXT_MAX];
};

static bool count(void *self, const struct db_preference *p)
{
    struct listed *l = self;
    if (p->pin) memcpy(l->pin, p->config_text, sizeof l->pin);
    *(p->pin ? &l->pins : &l->exclusions) += 1;
    assert_string_equal(p->gpu.name, context()->gpu.name);
    assert_true(problem_equal(&p->problem, the_problem()));
    return true;
}

static struct listed list(struct db *db)
{
    const struct problem problem = *the_problem();
    const struct db_filter filter = {.gpu = context()->gpu.name, .problem = &problem};
    struct listed l = {0}, all = {0};
    assert_ok(db_preferences(db, &filter, count, &l));
    assert_ok(db_preferences(db, NULL, count, &all));
    assert_int_equal(l.pins, all.pins);
    assert_int_equal(l.exclusions, all.exclusions);
    return l;
}

TEST(a_pin_wins_until_it_is_taken_back_and_then_the_earlier_winner_does)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    decide(db, run, 1, 10, false, false);
    decide(db, run, 2, 20, true, false);
    assert_winner(db, 2);
    assert_int_equal(list(db).pins, 1);
    decide(db, run, 3, 5, false, false); /* faster, and yet */
    assert_winner(db, 2);
    decide(db, run, 2, 21, true, false); /* measured again */
    assert_winner(db, 2);
    assert_true(prefer(db, true, 2, false));
    assert_int_equal(list(db).pins, 0);
    assert_winner(db, 3); /* the newest that was chosen */
    assert_false(prefer(db, true, 2, false));
    db_close(db);
    store_assert_clean();
}

static void fail_later(struct db *db, int64_t run, int number)
{
    const struct config c = store_config(number);
    const struct problem problem = *the_problem();
    const struct outcome wrong = outcome_failed(VERDICT_WRONG, "told to");
    store_trial(db, run, &problem, &c, &wrong);
}

/* It stays pinned: what is not wanted is not taken in its place. */
TEST(a_pin_that_fails_later_has_no_winner_until_it_is_taken_back_or_measured_again)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    decide(db, run, 1, 10, false, false);
    decide(db, run, 2, 20, true, false);
    fail_later(db, run, 2);
    assert_winner(db, -1);
    assert_int_equal(list(db).pins, 1);
    decide(db, run, 2, 20, true, true); /* a prediction proves nothing */
    assert_winner(db, -1);
    decide(db, run, 2, 21, true, false);
    assert_winner_takes(db, 21);
    fail_later(db, run, 2);
    assert_true(prefer(db, true, 2, false));
    assert_winner(db, 1);
    store_close_clean(db);
}

TEST(neither_what_is_excluded_nor_a_former_pin_stands_in_before_others)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    decide(db, run, 1, 10, false, false);
    decide(db, run, 2, 20, true, false);
    assert_true(prefer(db, true, 2, false));
    decide(db, run, 3, 30, false, false);
    decide(db, run, 4, 40, false, false);
    assert_true(prefer(db, false, 3, true));
    fail_later(db, run, 4);
    assert_winner(db, 1);
    fail_later(db, run, 1);
    assert_winner(db, 2);
    fail_later(db, run, 2);
    assert_winner(db, -1);
    assert_true(prefer(db, false, 3, false));
    assert_winner(db, 3);
    store_close_clean(db);
}

TEST(a_second_pin_takes_the_place_of_the_first)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    decide(db, run, 1, 10, true, false);
    decide(db, run, 2, 20, true, false);
    assert_winner(db, 2);
    assert_int_equal(list(db).pins, 1);
    assert_true(prefer(db, true, 1, true)); /* it was measured already */
    assert_winner(db, 1);
    assert_false(prefer(db, true, 1, true));
    assert_true(prefer(db, true, 1, false));
    assert_winner(db, 2); /* there is nothing but what was pinned once: the newest of it */
    db_close(db);
    store_assert_clean();
}

TEST(a_predicted_pin_wins_over_what_was_measured)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    decide(db, run, 1, 10, false, false);
    decide(db, run, 2, 20, true, true);
    assert_winner(db, 2);
    decide(db, run, 1, 10, false, true); /* a prediction without a pin says nothing */
    assert_winner(db, 2);
    decide(db, run, 2, 30, true, false);
    decide(db, run, 2, 20, true, true); /* nor one with a pin, once that is measured */
    assert_winner_takes(db, 30);
    prefer(db, true, 2, false);
    assert_winner(db, 1);
    db_close(db);
    store_assert_clean();
}

TEST(what_is_excluded_wins_no_more_until_it_is_included_again)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    decide(db, run, 1, 10, false, false);
    decide(db, run, 2, 9, false, false);
    assert_true(prefer(db, false, 2, true));
    assert_winner(db, 1);
    decide(db, run, 2, 8, false, false);
    assert_winner(db, 1);
    assert_true(prefer(db, false, 1, true));
    assert_winner(db, -1); /* nothing is left */
    assert_int_equal(list(db).exclusions, 2);
    assert_true(prefer(db, false, 2, false));
    assert_winner(db, 2);
    assert_int_equal(list(db).exclusions, 1);
    db_close(db);
    store_assert_clean();
}

TEST(preferences_of_another_problem_or_gpu_change_nothing)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    const struct problem other = problem_make(65, 64, 64);
    struct gpu gpu = context()->gpu;
    const struct config c = store_config(1);
    char text[CONFIG_TEXT_MAX];
    bool changed;
    config_format(&c, text);
    decide(db, run, 1, 10, false, false);
    assert_ok(db_prefer(db, &gpu, &other, false, text, true, &changed));
    gpu.sm_count--;
    assert_ok(db_prefer(db, &gpu, the_problem(), false, text, true, &changed));
    assert_winner(db, 1);
    db_close(db);
    store_assert_clean();
}

TEST(a_preference_whose_problem_cannot_be_read_is_passed_over)
{
    struct db *db = store_open(DB_WRITE);
    const struct problem other = problem_make(65, 64, 64);
    const struct config c = store_config(1);
    char text[CONFIG_TEXT_MAX];
    bool changed;
    config_format(&c, text);
    decide(db, store_run(db, context()), 2, 10, false, false);
    prefer(db, false, 1, true);
    assert_ok(db_prefer(db, &context()->gpu, &other, false, text, true, &changed)); /* the newer one */
    db_close(db);
    meddle("UPDATE problems SET text = 'latergemm:nn:65x64x64' WHERE m = 65");
    db = store_open(DB_READ);
    assert_int_equal(list(db).exclusions, 1);
    db_close(db);
}

/* Three files: a decides 1 and pins 2, b decides 3 and excludes 1 and takes its pin of 4 back. */
static void make_files(char path[3][160])
{
    for (int i = 0; i < 3; i++) {
        snprintf(path[i], sizeof path[i], "%s/file%d.db", store_folder, i);
        struct db *db;
        assert_ok(db_open(path[i], DB_WRITE, &db));
        const int64_t run = store_run(db, context());
        if (i == 0) decide(db, run, 1, 10, false, false), decide(db, run, 2, 20, true, false);
        if (i == 1) decide(db, run, 3, 5, false, false), prefer(db, false, 1, true);
        if (i == 1) decide(db, run, 4, 30, true, false), prefer(db, true, 4, false);
        if (i == 2) decide(db, run, 1, 1, false, false);
        assert_ok(db_note(db, run, the_problem(), i == 2 ? "other" : "one"));
        db_close(db);
    }
}

TEST(merging_carries_preferences_in_any_order)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}};
    char path[3][160];
    make_files(path);
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        struct db *db = store_open(DB_WRITE);
        struct db_merged merged;
        for (int i = 0; i < 6; i++) { /* each twice: the second time adds nothing */
            const char *const from = path[orders[o][i % 3]];
            assert_ok(db_merge(db, &from, 1, &merged));
        }
        assert_winner(db, 2);
        const struct listed l = list(db);
        assert_int_equal(l.pins, 1);
        assert_int_equal(l.exclusions, 1);
        prefer(db, true, 2, false);
        assert_winner(db, 3); /* 1, though newer or faster, is excluded; 4 was pinned */
        db_close(db);
        store_assert_clean();
        unlink(store_path);
    }
}

TEST(what_was_changed_last_stands_after_a_merge)
{
    char path[160];
    snprintf(path, sizeof path, "%s/later.db", store_folder);
    struct db *db = store_open(DB_WRITE);
    decide(db, store_run(db, context()), 1, 10, false, false);
    prefer(db, false, 1, true);
    db_close(db);
    struct db *later;
    struct db_merged merged;
    const char *const from[] = {store_path};
    assert_ok(db_open(path, DB_WRITE, &later));
    assert_ok(db_merge(later, from, 1, &merged));
    assert_winner(later, -1);
    prefer(later, false, 1, false);
    assert_winner(later, 1);
    assert_ok(db_merge(later, from, 1, &merged)); /* the older word comes again */
    assert_winner(later, 1);
    assert_int_equal(list(later).exclusions, 0);
    db_close(later);
}

TEST(imported_winners_respect_a_pin_and_an_exclusion)
{
    struct db *db = store_open(DB_WRITE);
    const int64_t run = store_run(db, context());
    bool added, won;
    struct db_winner w = {.base.problem = *the_problem(),
                          .base.cold = true,
                          .base.time_us = 1,
                          .gpu = context()->gpu,
                          .rounds = 1000,
                          .config = store_config(5)};
    decide(db, run, 2, 20, true, false);
    assert_ok(db_import_start(db));
    assert_ok(db_import_winner(db, &w, db_now_us(), &added, &won));
    assert_ok(db_import_end(db, OK));
    assert_true(added);
    assert_false(won);
    assert_winner(db, 2);
    db_close(db);
}

static bool keep_note(void *self, const struct db_search_note *note)
{
    char *text = self;
    snprintf(text + strlen(text), 200 - strlen(text), "%s|", note->text);
    return true;
}

TEST(notes_are_kept_once_a_run_and_the_newest_run_comes_first)
{
    struct db *db = store_open(DB_WRITE);
    const struct problem problem = *the_problem(), other = problem_make(1, 2, 3);
    const int64_t first = store_run(db, context());
    assert_ok(db_note(db, first, &problem, "first"));
    assert_ok(db_note(db, first, &problem, "first"));
    assert_ok(db_note(db, first, &other, "of another problem"));
    usleep(2000);
    assert_ok(db_note(db, store_run(db, context()), &problem, "second"));
    char text[200] = "";
    const struct db_filter filter = {.gpu = context()->gpu.name, .problem = &problem};
    assert_ok(db_notes(db, &filter, keep_note, text));
    assert_string_equal(text, "second|first|");
    db_close(db);
    store_assert_clean();
}

static struct db_known known_of(struct db *db, const struct problem *problem)
{
    const struct db_filter filter = {.problem = problem};
    struct db_known known;
    assert_ok(db_known(db, &filter, &known));
    return known;
}

TEST(a_winner_is_forgotten_alone_or_with_all_that_is_known_of_its_problem)
{
    struct db *db = store_open(DB_WRITE);
    const struct problem problem = *the_problem(), other = problem_make(65, 64, 64);
    const struct db_filter filter = {.problem = &problem}, elsewhere = {.gpu = "a100", .problem = &problem};
    const int64_t run = store_run(db, context());
    struct db_known removed;
    struct config c = store_config(3);
    struct db_winner w = {.base.problem = other, .base.cold = true, .base.time_us = 9, .config = c};
    const struct config tried = store_config(1);
    const struct outcome outcome = store_outcome(20);
    store_trial(db, run, &problem, &tried, &outcome);
    decide(db, run, 1, 20, false, false);
    decide(db, run, 2, 19, false, false);
    assert_ok(db_set_winner(db, run, &w, &c, 1, NULL, 0));
    assert_ok(db_note(db, run, &problem, "a note"));
    prefer(db, false, 4, true);
    assert_ok(db_forget(db, &elsewhere, true, &removed));
    assert_int_equal(removed.winners + removed.trials + removed.decisions, 0);
    assert_winner(db, 2);

    assert_ok(db_forget(db, &filter, false, &removed));
    assert_true(removed.winners == 1 && removed.trials == 0 && removed.decisions == 0);
    assert_winner(db, -1);
    struct db_known known = known_of(db, &problem);
    assert_true(known.winners == 0 && known.trials == 1 && known.decisions == 2 && known.notes == 1 &&
                known.preferences == 1);
    decide(db, run, 1, 20, false, false); /* what is decided again is the winner */
    assert_winner(db, 1);

    assert_ok(db_forget(db, &filter, true, &removed));
    assert_true(removed.winners == 1 && removed.trials == 1 && removed.decisions == 3 && removed.notes == 1 &&
                removed.preferences == 1);
    known = known_of(db, &problem);
    assert_true(known.winners + known.trials + known.decisions + known.notes + known.preferences == 0);
    assert_int_equal(known_of(db, &other).winners, 1);
    db_close(db);
    store_assert_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_pin_wins_until_it_is_taken_back_and_then_the_earlier_winner_does),
        STORE_TEST(a_pin_that_fails_later_has_no_winner_until_it_is_taken_back_or_measured_again),
        STORE_TEST(neither_what_is_excluded_nor_a_former_pin_stands_in_before_others),
        STORE_TEST(a_second_pin_takes_the_place_of_the_first),
        STORE_TEST(a_predicted_pin_wins_over_what_was_measured),
        STORE_TEST(what_is_excluded_wins_no_more_until_it_is_included_again),
        STORE_TEST(preferences_of_another_problem_or_gpu_change_nothing),
        STORE_TEST(a_preference_whose_problem_cannot_be_read_is_passed_over),
        STORE_TEST(merging_carries_preferences_in_any_order),
        STORE_TEST(what_was_changed_last_stands_after_a_merge),
        STORE_TEST(imported_winners_respect_a_pin_and_an_exclusion),
        STORE_TEST(a_winner_is_forgotten_alone_or_with_all_that_is_known_of_its_problem),
        STORE_TEST(notes_are_kept_once_a_run_and_the_newest_run_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
