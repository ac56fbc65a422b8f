/* What is read of a large database for one question is what would have been found had all been read. */
#include "lookup.h"
#include "nearest.h"
#include "store.h"

enum { WINNERS = 3000 };

static struct notices quiet = {.quiet = true};

static int64_t below(int64_t n)
{
    return rand() % n;
}

/* Everywhere, and crowded in one place, where the nearest are hidden behind others that do not count. */
static struct problem some_problem(bool crowded)
{
    int64_t size[3];
    for (int i = 0; i < 3; i++)
        size[i] = crowded ? 500 + below(40) : (int64_t)exp2(2 + 0.01 * (double)below(1100));
    for (int i = 0; i < 3; i++)
        if (below(4)) size[i] = (size[i] + 3) / 4 * 4;
    char text[PROBLEM_TEXT_MAX];
    static const char *const ops[] = {"nn", "nt", "tn", "tt"}, *const ends[] = {"", ":beta=1", ":batch=4",
                                                                                ""};
    snprintf(text, sizeof text, "sgemm:%s:%dx%dx%d%s", ops[crowded ? 0 : below(4)], (int)size[0],
             (int)size[1], (int)size[2], ends[below(4)]);
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return p;
}

static struct config some_config(void)
{
    struct config config = {.template = template_find("simt")};
    for (int i = 0; i < config.template->param_count; i++) config.value[i] = config.template->params[i].least;
    static const char *const names[] = {"BM", "BN", "BK",     "WM",     "WN",
                                        "TM", "TN", "STAGES", "UNROLL", "STORE_AT"};
    static const int values[] = {64, 64, 16, 32, 32, 4, 8, 2, 16, 8};
    for (int i = 0; i < 10; i++) assert_true(config_set(&config, names[i], values[i]));
    const int wide = below(2) ? 4 : 1;
    assert_true(config_set(&config, "VA", wide) && config_set(&config, "VB", wide) &&
                config_set(&config, "VC", wide));
    assert_true(config_set(&config, "GROUP", 1 + (int)below(8)));
    return config;
}

static void put_many(void)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context(), other = context, hot = context;
    snprintf(other.gpu.name, sizeof other.gpu.name, "NVIDIA H100 PCIe");
    other.gpu.sm_count = 114;
    hot.cold = false;
    const int64_t runs[] = {store_run(db, &context), store_run(db, &hot), store_run(db, &other)};
    assert_int_equal(sqlite3_exec(db->handle, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < WINNERS; i++) {
        const int kind = below(8) ? 0 : 1 + (int)below(2);
        struct db_winner w = {.base.problem = some_problem(i % 3 == 0),
                              .base.time_us = 10 + (double)below(1000),
                              .base.cold = kind != 1,
                              .base.exact = below(9) != 0,
                              .rounds = 8};
        if (below(12)) w.config = some_config();
        w.base.predicted = w.config.template && below(10) == 0;
        if (!w.base.predicted) w.base.anchor_us = w.base.time_us * 1.1, w.base.ratio = 1.1;
        assert_ok(db_set_winner(db, runs[kind], &w, NULL, 0, NULL, 0));
    }
    db_close(db);
}

static void open_store(struct winner_store *store)
{
    struct db_context context = store_context();
    assert_ok(winner_store_open(store, &context.gpu, store_path, "", &quiet));
    assert_ok(winner_store_load(store));
}

TEST(what_is_read_is_what_is_near)
{
    struct winner_store all, some;
    srand(5);
    put_many();
    open_store(&all);
    for (bool more = true; more;) {
        const struct shape shapes[4] = {{.op = 0}, {.op = 1}, {.op = 2}, {.op = 3}};
        more = false;
        for (int i = 0; i < 4; i++) {
            bool again;
            assert_ok(winner_store_read_near(&all, &shapes[i], 1e9, &again));
            more |= again;
        }
    }
    for (size_t i = 0; i < all.problem_count; i++) assert_true(all.problems[i].read);
    assert_true(all.set.count > all.problem_count / 2);

    int found = 0;
    size_t most = 0;
    for (int question = 0; question < 300; question++) {
        /* Each starts anew now and then, so that what earlier questions read does not help. */
        if (question % 20 == 0) open_store(&some);
        const struct problem p = some_problem(question % 2 == 0);
        const int alignment = 4 << below(3);
        struct neighbour right[NEAREST_MAX], list[NEAREST_MAX];
        int right_count, count;
        assert_ok(nearest_find(&all, &p, alignment, true, right, &right_count));
        assert_ok(nearest_find(&some, &p, alignment, true, list, &count));
        assert_int_equal(count, right_count);
        for (int i = 0; i < count; i++) {
            assert_true(list[i].distance == right[i].distance);
            found += !problem_equal(&list[i].winner->base.problem, &p);
        }
        most = some.set.count > most ? some.set.count : most;
        if (question % 20 == 19) winner_store_close(&some);
    }
    assert_true(found > 1000);
    assert_true(most < all.set.count);
    winner_store_close(&all);
}

static void put_crowd(bool predicted)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    assert_int_equal(sqlite3_exec(db->handle, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < WINNERS; i++) {
        const struct db_winner w = {.base.problem = problem_make(1000 + i / 60, 1000 + i % 60, 1000),
                                    .config = some_config(),
                                    .base.time_us = 10,
                                    .base.predicted = predicted,
                                    .base.exact = true,
                                    .base.cold = true};
        assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    }
    db_close(db);
}

/* What one question finds in the middle of the crowd, and how many winners were read for it. */
static int ask_crowd(size_t *read)
{
    struct winner_store store;
    struct neighbour list[NEAREST_MAX];
    const struct problem p = problem_make(1025, 1029, 1001);
    int count;
    open_store(&store);
    assert_ok(nearest_find(&store, &p, 4, true, list, &count));
    *read = store.set.count;
    winner_store_close(&store);
    return count;
}

TEST(of_a_crowd_the_nearest_are_read_and_not_many_more)
{
    size_t read;
    put_crowd(false);
    assert_int_equal(ask_crowd(&read), NEAREST_MAX);
    assert_true(read > WINNERS_SPREAD && read <= WINNERS_SPREAD + 256);
}

TEST(a_crowd_that_is_of_no_use_is_not_read_to_its_end)
{
    size_t read;
    put_crowd(true);
    assert_int_equal(ask_crowd(&read), 0);
    assert_true(read > WINNERS_SPREAD && read < WINNERS / 2);
}

/* What was stored for a problem of an accuracy class, with such errors. */
static struct problem put_accurate(struct db *db, int64_t run, int size, struct db_errors own,
                                   struct db_errors rival)
{
    struct db_winner w = {.base = {.time_us = 9, .anchor_us = 10, .ratio = 1.1, .cold = true, .exact = true},
                          .config = some_config(),
                          .rounds = 8,
                          .errors = own,
                          .rival_errors = rival};
    w.base.problem = problem_make(size, 64, 64);
    w.base.problem.type = GEMM_SGEMM_ACCURATE;
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    return w.base.problem;
}

TEST(of_an_accuracy_class_only_what_was_measured_against_a_rival_is_a_winner)
{
    const struct db_errors none = {0}, small = {true, 1e-7, 1e-7, 1e-7}, large = {true, 1e-5, 1e-5, 1e-5};
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    const struct problem problems[] = {
        put_accurate(db, run, 64, small, small), put_accurate(db, run, 128, small, none),
        put_accurate(db, run, 256, none, small), put_accurate(db, run, 512, large, small)};
    db_close(db);
    struct winner_store store;
    struct choice choices[CHOICES_MAX];
    int count;
    open_store(&store);
    for (int i = 0; i < 4; i++) {
        assert_ok(lookup_exact(&store, &problems[i], 16, choices, &count));
        assert_int_equal(count, i == 0);
    }
    assert_ok(lookup_others(&store, &problems[3], 16, choices, &count));
    for (int i = 0; i < count; i++)
        assert_true(choices[i].cublas || choices[i].source == CHOICE_FALLBACK ||
                    strstr(choices[i].tuned_for, "64x64x64"));
    winner_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_read_is_what_is_near, store_setup, store_teardown),
        cmocka_unit_test_setup_teardown(of_a_crowd_the_nearest_are_read_and_not_many_more, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(
            of_an_accuracy_class_only_what_was_measured_against_a_rival_is_a_winner, store_setup,
            store_teardown),
        cmocka_unit_test_setup_teardown(a_crowd_that_is_of_no_use_is_not_read_to_its_end, store_setup,
                                        store_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
