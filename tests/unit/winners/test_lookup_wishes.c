/* What the library takes for a problem for which its user has pinned or excluded a configuration, or for
 * which one has failed. */
#include "db_files.h"
#include "files.h"
#include "lookup.h"
#include "pretuned.h"
#include "store.h"

static struct notices quiet = {.quiet = true};

/* Legal for the problems below; all different. */
static struct config numbered(int number)
{
    struct config config = {.template = template_find("simt")};
    for (int i = 0; i < config.template->param_count; i++) config.value[i] = config.template->params[i].least;
    static const char *const names[] = {"BM", "BN", "BK", "WM",     "WN",     "TM",
                                        "TN", "VA", "VB", "STAGES", "UNROLL", "STORE_AT"};
    static const int values[] = {64, 64, 16, 32, 32, 4, 8, 4, 4, 2, 16, 8};
    for (int i = 0; i < 12; i++) assert_true(config_set(&config, names[i], values[i]));
    assert_true(config_set(&config, "VC", 4) && config_set(&config, "GROUP", 1 + number));
    return config;
}

static void decide_against(const struct problem *problem, int number, bool pinned, bool predicted,
                           double ratio)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    struct db_winner w = {.base.problem = *problem,
                          .base.time_us = 100,
                          .base.cold = true,
                          .base.exact = true,
                          .base.predicted = predicted,
                          .base.ratio = ratio,
                          .base.anchor_us = 100 * ratio,
                          .pinned = pinned,
                          .rounds = 8,
                          .config = numbered(number)};
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

static void decide(const struct problem *problem, int number, bool pinned, bool predicted)
{
    decide_against(problem, number, pinned, predicted, 0);
}

static void prefer(const struct problem *problem, bool pin, int number, bool holds)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const struct config config = numbered(number);
    char text[CONFIG_TEXT_MAX];
    bool changed;
    config_format(&config, text);
    assert_ok(db_prefer(db, &context.gpu, problem, pin, text, holds, &changed));
    assert_true(changed);
    db_close(db);
}

static void open_store(struct winner_store *store)
{
    const struct db_context context = store_context();
    assert_ok(winner_store_open(store, &context.gpu, store_path, "", &quiet));
}

/* The choices in their order, the exact one first. */
static int choices_for(const struct problem *problem, struct choice all[2 * CHOICES_MAX])
{
    struct winner_store store;
    int count, others;
    open_store(&store);
    assert_ok(lookup_exact(&store, problem, 16, all, &count));
    assert_ok(lookup_others(&store, problem, 16, all + count, &others));
    winner_store_close(&store);
    return count + others;
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

TEST(a_measured_pin_is_the_exact_choice)
{
    const struct problem problem = problem_make(1024, 1024, 1024);
    struct choice all[2 * CHOICES_MAX];
    decide(&problem, 1, false, false);
    decide(&problem, 2, true, false);
    decide(&problem, 1, false, false);
    choices_for(&problem, all);
    assert_true(is(&all[0], 2));
    assert_int_equal(all[0].source, CHOICE_EXACT);
    assert_non_null(strstr(all[0].why, "pinned"));
    prefer(&problem, true, 2, false);
    choices_for(&problem, all);
    assert_true(is(&all[0], 1));
    assert_null(strstr(all[0].why, "pinned"));
}

TEST(a_pin_is_taken_whatever_its_ratio_and_only_while_it_holds)
{
    const struct problem problem = problem_make(1024, 1024, 1024);
    struct choice all[2 * CHOICES_MAX];
    decide_against(&problem, 2, false, false, 0.994);
    choices_for(&problem, all);
    assert_true(all[0].cublas && is(&all[1], 2));
    assert_false(choice_replaces_cublas(&all[0]) || choice_replaces_cublas(&all[1]));
    decide_against(&problem, 2, true, false, 0.009);
    choices_for(&problem, all);
    assert_true(is(&all[0], 2) && all[0].pinned && all[0].ratio == 0.009);
    assert_true(choice_replaces_cublas(&all[0]));
    prefer(&problem, true, 2, false);
    choices_for(&problem, all);
    assert_true(all[0].cublas && is(&all[1], 2));
    prefer(&problem, true, 1, true); /* never measured */
    choices_for(&problem, all);
    assert_true(is(&all[0], 1) && all[0].pinned && all[0].source == CHOICE_PREDICTED);
    assert_false(choice_replaces_cublas(&all[0]));
}

TEST(a_pin_that_was_only_predicted_goes_before_what_was_measured_nearby)
{
    const struct problem problem = problem_make(1024, 1024, 1024), near = problem_make(1024, 1024, 1056);
    struct choice all[2 * CHOICES_MAX];
    decide(&near, 1, false, false);
    decide(&problem, 2, true, true);
    choices_for(&problem, all);
    assert_true(is(&all[0], 2));
    assert_int_equal(all[0].source, CHOICE_PREDICTED);
    choices_for(&near, all); /* the pin is for its own problem */
    assert_true(is(&all[0], 1));
}

TEST(what_is_excluded_is_not_taken_wherever_it_comes_from)
{
    const struct problem problem = problem_make(1024, 1024, 1024), near = problem_make(1024, 1024, 1056);
    struct choice all[2 * CHOICES_MAX];
    decide(&problem, 1, false, false);
    decide(&near, 1, false, false);
    int count = choices_for(&problem, all);
    assert_true(is(&all[0], 1));
    prefer(&problem, false, 1, true);
    count = choices_for(&problem, all);
    assert_true(count > 0);
    assert_false(any_is(all, count, 1));
    choices_for(&near, all);
    assert_true(is(&all[0], 1));
    prefer(&problem, false, 1, false);
    choices_for(&problem, all);
    assert_true(is(&all[0], 1));
}

TEST(a_pin_that_operands_do_not_allow_gives_way)
{
    struct problem problem = problem_make(1024, 1024, 1024);
    struct choice choices[CHOICES_MAX];
    struct winner_store store;
    int count;
    decide(&problem, 2, true, false);
    open_store(&store);
    assert_ok(lookup_exact(&store, &problem, 4, choices, &count));
    assert_int_equal(count, 0); /* its accesses are of 16 bytes */
    assert_ok(lookup_exact(&store, &problem, 16, choices, &count));
    assert_int_equal(count, 1);
    winner_store_close(&store);
}

static struct problem problem_at(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return p;
}

/* The configuration that a look-up gives as measured for exactly this; 0: none. */
static int exact_for(const char *text)
{
    const struct problem problem = problem_at(text);
    struct winner_store store;
    struct choice choices[CHOICES_MAX];
    int count, number = 1;
    open_store(&store);
    assert_ok(lookup_exact(&store, &problem, 16, choices, &count));
    winner_store_close(&store);
    if (count == 0) return 0;
    assert_int_equal(choices[0].source, CHOICE_EXACT);
    while (!is(&choices[0], number)) number++;
    return number;
}

static void decide_at(const char *text, int number)
{
    const struct problem problem = problem_at(text);
    decide(&problem, number, false, false);
}

TEST(a_winner_is_exact_for_every_alpha_and_every_beta_but_0)
{
    decide_at("64x64x48:alpha=0.125", 1);
    decide_at("64x64x32:beta=0.5", 2);
    decide_at("64x64x16", 3);
    decide_at("64x64x80:beta=1:epilogue=bias", 4);
    decide_at("64x64x96:alpha=0", 5);
    assert_int_equal(exact_for("64x64x48"), 1);
    assert_int_equal(exact_for("64x64x48:alpha=-3"), 1);
    assert_int_equal(exact_for("64x64x48:beta=1"), 0);
    assert_int_equal(exact_for("64x64x32:beta=1"), 2);
    assert_int_equal(exact_for("64x64x32:alpha=2:beta=-7"), 2);
    assert_int_equal(exact_for("64x64x32"), 0);
    assert_int_equal(exact_for("64x64x16:alpha=0.125"), 3);
    assert_int_equal(exact_for("64x64x16:beta=0.5"), 0);
    assert_int_equal(exact_for("64x64x80:alpha=2:beta=3:epilogue=bias"), 4);
    assert_int_equal(exact_for("64x64x80:beta=1"), 0);
    assert_int_equal(exact_for("64x64x96"), 0); /* where alpha is 0 there was no product */
    /* Its own before others, of which the one that was decided last. */
    decide_at("64x64x48", 6);
    assert_int_equal(exact_for("64x64x48"), 6);
    assert_int_equal(exact_for("64x64x48:alpha=0.125"), 1);
    decide_at("64x64x32:alpha=0.5:beta=0.25", 7);
    assert_int_equal(exact_for("64x64x32:beta=1"), 7);
    decide_at("64x64x32:beta=0.5", 2);
    assert_int_equal(exact_for("64x64x32:beta=1"), 2);
}

/* One that was only predicted gives way to one that was measured with another alpha. */
TEST(a_prediction_gives_way_to_a_winner_with_another_alpha)
{
    const struct problem problem = problem_at("64x64x48");
    decide(&problem, 1, false, true);
    assert_int_equal(exact_for("64x64x48"), 0);
    decide_at("64x64x48:alpha=2", 2);
    assert_int_equal(exact_for("64x64x48"), 2);
}

TEST(pins_and_exclusions_hold_for_every_alpha_and_every_beta_but_0)
{
    const struct problem pinned = problem_at("64x64x48:beta=0.5"), excluded = problem_at("64x64x32:alpha=2");
    struct choice all[2 * CHOICES_MAX];
    decide_at("64x64x48:beta=1", 1);
    prefer(&pinned, true, 2, true);
    const struct problem asked = problem_at("64x64x48:beta=1"), other = problem_at("64x64x48");
    assert_true(choices_for(&asked, all) > 0 && is(&all[0], 2));
    assert_true(choices_for(&other, all) > 0 && !is(&all[0], 2));
    decide_at("64x64x32", 3);
    assert_int_equal(exact_for("64x64x32"), 3);
    prefer(&excluded, false, 3, true);
    assert_int_equal(exact_for("64x64x32"), 0);
}

TEST(a_batch_that_shares_a_matrix_has_winners_of_its_own)
{
    decide_at("64x64x64:batch=4", 1);
    assert_int_equal(exact_for("64x64x64:batch=4"), 1);
    assert_int_equal(exact_for("64x64x64:batch=4:stride_a=0"), 0);
    decide_at("64x64x64:batch=4:stride_a=0", 2);
    decide_at("64x64x64:batch=4:stride_b=0", 3);
    assert_int_equal(exact_for("64x64x64:batch=4"), 1);
    assert_int_equal(exact_for("64x64x64:batch=4:stride_a=0"), 2);
    assert_int_equal(exact_for("64x64x64:batch=4:stride_b=0"), 3);
    assert_int_equal(exact_for("64x64x64:batch=4:stride_a=0:stride_b=0"), 0);
}

/* The first, second and fourth question open it if it is free. */
TEST(a_pin_in_a_database_that_was_held_is_taken_later)
{
    const struct problem problem = problem_make(1024, 1024, 1024);
    struct choice choices[CHOICES_MAX];
    struct winner_store store;
    sqlite3 *writer;
    int count;
    decide(&problem, 2, true, false);
    assert_int_equal(sqlite3_open(store_path, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    open_store(&store);
    for (int question = 1; question <= 4; question++) {
        assert_true(store.held);
        if (question == 3) sqlite3_close(writer);
        assert_ok(lookup_exact(&store, &problem, 16, choices, &count));
        assert_int_equal(count, question == 4);
    }
    assert_true(!store.held && is(&choices[0], 2));
    assert_non_null(strstr(choices[0].why, "pinned"));
    winner_store_close(&store);
}

TEST(preferences_that_cannot_be_read_leave_the_winners_in_use)
{
    static const char *const changes[] = {
        "UPDATE problems SET text = 'latergemm:nn:65x64x64' WHERE m = 65",
        "UPDATE problems SET text = 'sgemm:nn:65x64x64' WHERE m = 65;"
        "UPDATE preferences SET changed_us = -1",
    };
    const struct problem problem = problem_make(1024, 1024, 1024), other = problem_make(65, 64, 64);
    struct choice all[2 * CHOICES_MAX];
    decide(&problem, 1, false, false);
    prefer(&other, false, 2, true);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        meddle(changes[i]);
        assert_true(choices_for(&problem, all) > 0 && is(&all[0], 1));
        assert_int_equal(all[0].source, CHOICE_EXACT);
    }
}

/* ---- what has failed ---- */

static void try_again(const struct problem *problem, int number, enum verdict verdict)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const struct config config = numbered(number);
    struct outcome outcome = store_outcome(100);
    if (verdict != VERDICT_MEASURED) outcome = outcome_failed(verdict, "told to");
    store_trial(db, store_run(db, &context), problem, &config, &outcome);
    db_close(db);
}

TEST(what_has_failed_for_a_problem_is_not_taken_wherever_it_comes_from)
{
    const struct problem problem = problem_make(1024, 1024, 1024), near = problem_make(1024, 1024, 1056);
    struct choice all[2 * CHOICES_MAX];
    decide(&problem, 1, false, false);
    decide(&near, 1, false, false);
    try_again(&problem, 1, VERDICT_WRONG);
    int count = choices_for(&problem, all);
    assert_true(count > 0);
    assert_false(any_is(all, count, 1));
    choices_for(&near, all); /* where it has not failed */
    assert_true(is(&all[0], 1));
    try_again(&problem, 1, VERDICT_MEASURED);
    choices_for(&problem, all);
    assert_true(is(&all[0], 1));
    assert_int_equal(all[0].source, CHOICE_EXACT);
}

TEST(a_winner_that_has_failed_is_nobodys_neighbour)
{
    const struct problem problem = problem_make(1024, 1024, 1024), near = problem_make(1024, 1024, 1056);
    struct choice all[2 * CHOICES_MAX];
    decide(&near, 1, false, false);
    choices_for(&problem, all);
    assert_true(is(&all[0], 1));
    try_again(&near, 1, VERDICT_HUNG);
    const int count = choices_for(&problem, all);
    assert_false(any_is(all, count, 1));
}

TEST(a_pin_that_has_failed_is_not_taken)
{
    const struct problem problem = problem_make(1024, 1024, 1024);
    struct choice all[2 * CHOICES_MAX];
    decide(&problem, 1, false, false);
    decide(&problem, 2, true, false);
    try_again(&problem, 2, VERDICT_CRASHED);
    int count = choices_for(&problem, all);
    assert_false(any_is(all, count, 2));
    prefer(&problem, true, 2, false);
    choices_for(&problem, all);
    assert_true(is(&all[0], 1));
    prefer(&problem, true, 3, true); /* never measured */
    choices_for(&problem, all);
    assert_true(is(&all[0], 3));
    try_again(&problem, 3, VERDICT_WRONG);
    count = choices_for(&problem, all);
    assert_false(any_is(all, count, 3));
}

/* A file of one pretuned winner: the number-th configuration, measured long ago. */
static void ship(const struct problem *problem, int number)
{
    char path[200], text[CONFIG_TEXT_MAX], problem_text[PROBLEM_TEXT_MAX];
    const struct db_context context = store_context();
    const struct config config = numbered(number);
    config_format(&config, text);
    problem_format(problem, problem_text);
    snprintf(path, sizeof path, "%s/h200.jsonl", store_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"problem\": \"%s\", \"gpu\": \"%s\", \"arch\": 90, \"sm_count\": %d, \"config\": \"%s\", "
            "\"template_hash\": \"%016llx\", \"time_us\": 100, \"cublas_us\": 110, \"ratio\": 1.1, "
            "\"ratio_low\": 1.1, \"ratio_high\": 1.1, \"cold\": true, \"exact\": true, \"predicted\": false, "
            "\"protocol\": 1, \"driver\": \"580.95.05\", \"when\": \"2020-01-01T00:00:00Z\"}\n",
            problem_text, context.gpu.name, context.gpu.sm_count, text,
            (unsigned long long)db_kernel_hash(&config, problem, 90));
    fclose(file);
}

static int pretuned_choices_for(const struct problem *problem, struct choice all[2 * CHOICES_MAX])
{
    struct winner_store store;
    const struct db_context context = store_context();
    int count, others;
    assert_ok(winner_store_open(&store, &context.gpu, store_path, store_folder, &quiet));
    assert_ok(lookup_exact(&store, problem, 16, all, &count));
    assert_ok(lookup_others(&store, problem, 16, all + count, &others));
    winner_store_close(&store);
    return count + others;
}

TEST(a_pretuned_winner_that_has_failed_since_is_not_taken)
{
    const struct problem problem = problem_make(1024, 1024, 1024), near = problem_make(1024, 1024, 1056);
    struct choice all[2 * CHOICES_MAX];
    ship(&problem, 1);
    pretuned_choices_for(&problem, all);
    assert_true(is(&all[0], 1) && all[0].pretuned);
    assert_int_equal(all[0].source, CHOICE_EXACT);
    try_again(&problem, 1, VERDICT_WRONG);
    int count = pretuned_choices_for(&problem, all);
    assert_false(any_is(all, count, 1));
    count = pretuned_choices_for(&near, all);
    assert_true(count > 0 && all[0].source != CHOICE_NEAREST);
    try_again(&problem, 1, VERDICT_MEASURED);
    pretuned_choices_for(&problem, all);
    assert_true(is(&all[0], 1));
}

/* pretuned_parse reads the lines that ship with json_pick.h, and others with jansson. */
TEST(both_readers_of_lines_find_the_same_in_what_ships)
{
    const struct db_context context = store_context();
    size_t length;
    char *text = file_read_bytes(GT_SOURCE_DIR "/configs/winners/h200.jsonl", &length), changed[8192];
    int lines = 0;
    text[length] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        struct db_brief x, y;
        snprintf(changed, sizeof changed, "{\"escape\": \"\\u0041\", %s", line + 1);
        assert_ok(pretuned_parse(line, strlen(line), &context.gpu, &x));
        assert_ok(pretuned_parse(changed, strlen(changed), &context.gpu, &y));
        assert_true(problem_equal(&x.base.problem, &y.base.problem) && config_equal(&x.config, &y.config));
        assert_true(x.base.time_us == y.base.time_us && x.base.anchor_us == y.base.anchor_us &&
                    x.base.ratio == y.base.ratio && x.base.ratio_low == y.base.ratio_low &&
                    x.base.ratio_high == y.base.ratio_high);
        assert_true(x.base.cold == y.base.cold && x.base.exact == y.base.exact &&
                    x.base.predicted == y.base.predicted && x.protocol == y.protocol);
        assert_true(x.other_gpu == y.other_gpu && x.changed == y.changed && x.unproven == y.unproven);
        assert_false(x.changed || x.unproven);
        assert_string_equal(x.driver, y.driver);
        assert_string_equal(x.base.when, y.base.when);
        assert_true(x.driver[0] && x.base.when[0] && x.base.anchor_us > 0 && x.base.ratio_high > 0);
    }
    free(text);
    assert_true(lines > 200);
}

/* What was read is kept in the process, and read again where the file or the GPU is another. */
TEST(winners_that_ship_are_those_of_the_file_as_it_is)
{
    const struct problem problem = problem_make(1024, 1024, 1024);
    struct choice all[2 * CHOICES_MAX];
    struct db_context other = store_context();
    struct winner_store store;
    for (int i = 1; i < 4; i++) {
        ship(&problem, i);
        for (int again = 0; again < 2; again++) {
            pretuned_choices_for(&problem, all);
            assert_true(is(&all[0], i) && all[0].source == CHOICE_EXACT);
        }
    }
    other.gpu.sm_count--;
    assert_ok(winner_store_open(&store, &other.gpu, "", store_folder, &quiet));
    assert_true(store.set.count == 1 && store.set.winners[0].other_gpu);
    winner_store_close(&store);
    pretuned_choices_for(&problem, all);
    assert_int_equal(all[0].source, CHOICE_EXACT);
    assert_ok(winner_store_open(&store, &other.gpu, "", "/nowhere", &quiet));
    assert_int_equal(store.set.count, 0);
    winner_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_has_failed_for_a_problem_is_not_taken_wherever_it_comes_from),
        STORE_TEST(a_winner_that_has_failed_is_nobodys_neighbour),
        STORE_TEST(a_pin_that_has_failed_is_not_taken),
        STORE_TEST(a_pretuned_winner_that_has_failed_since_is_not_taken),
        STORE_TEST(both_readers_of_lines_find_the_same_in_what_ships),
        STORE_TEST(winners_that_ship_are_those_of_the_file_as_it_is),
        STORE_TEST(a_measured_pin_is_the_exact_choice),
        STORE_TEST(a_pin_is_taken_whatever_its_ratio_and_only_while_it_holds),
        STORE_TEST(a_pin_that_was_only_predicted_goes_before_what_was_measured_nearby),
        STORE_TEST(what_is_excluded_is_not_taken_wherever_it_comes_from),
        STORE_TEST(a_winner_is_exact_for_every_alpha_and_every_beta_but_0),
        STORE_TEST(a_prediction_gives_way_to_a_winner_with_another_alpha),
        STORE_TEST(pins_and_exclusions_hold_for_every_alpha_and_every_beta_but_0),
        STORE_TEST(a_batch_that_shares_a_matrix_has_winners_of_its_own),
        STORE_TEST(a_pin_in_a_database_that_was_held_is_taken_later),
        STORE_TEST(preferences_that_cannot_be_read_leave_the_winners_in_use),
        STORE_TEST(a_pin_that_operands_do_not_allow_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
