/* Under which text a problem is kept, and which others are found with it. */
#include "store.h"

struct listed {
    int count;
    double alpha; /* of the last */
};

static bool note(void *self, const struct db_winner *winner)
{
    struct listed *listed = self;
    listed->alpha = winner->base.problem.alpha;
    listed->count++;
    return true;
}

static struct listed list(struct db *db, const struct problem *problem, bool alike)
{
    struct listed listed = {0};
    const struct db_filter filter = {.problem = problem, .alike = alike};
    assert_ok(db_winners(db, &filter, NULL, note, &listed));
    return listed;
}

static struct problem stored(struct db *db, int64_t run, const char *text)
{
    struct problem problem;
    assert_ok(problem_parse(text, &problem));
    const struct config config = store_legal_config();
    const struct db_winner w = store_winner(&problem, &config);
    assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    return problem;
}

static int64_t stored_under(struct db *db, const char *key)
{
    sqlite3_stmt *stmt;
    assert_int_equal(
        sqlite3_prepare_v2(db->handle, "SELECT count(*) FROM problems WHERE text = ?1", -1, &stmt, NULL),
        SQLITE_OK);
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const int64_t count = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return count;
}

/* As every version has written them. */
TEST(keys_have_nine_digits_and_are_found_by_any_text_of_the_number)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    const struct problem old = stored(db, run, "64x64x64:beta=0.100000001");
    stored(db, run, "64x64x64:beta=0.1");
    stored(db, run, "64x64x64:batch=2:alpha=0.333333343");
    assert_int_equal(stored_under(db, "sgemm:nn:64x64x64:beta=0.100000001"), 1);
    assert_int_equal(stored_under(db, "sgemm:nn:64x64x64:beta=0.1"), 0);
    assert_int_equal(stored_under(db, "sgemm:nn:64x64x64:batch=2:alpha=0.333333343"), 1);
    struct problem asked;
    struct db_brief brief;
    char text[4096], problem[PROBLEM_TEXT_MAX];
    bool clean;
    assert_ok(problem_parse("64x64x64:beta=0.1", &asked));
    assert_true(problem_equal(&asked, &old));
    assert_ok(db_brief_find(db, &context.gpu, &asked, &brief));
    problem_format(&brief.base.problem, problem);
    assert_string_equal(problem, "sgemm:nn:64x64x64:beta=0.1");
    assert_int_equal(list(db, &asked, false).count, 1);
    assert_ok(db_check(db, text, sizeof text, &clean));
    assert_true(clean);
    db_close(db);
}

/* Through the index: no statement steps through a table. */
TEST(like_problems_are_found_without_reading_all)
{
    static const struct {
        const char *asked;
        int count;
        const char *newest;
    } cases[] = {
        {"64x64x64", 2, "sgemm:nn:64x64x64:alpha=-1"},
        {"64x64x64:alpha=2", 2, "sgemm:nn:64x64x64:alpha=-1"},
        {"64x64x64:alpha=5", 3, "sgemm:nn:64x64x64:alpha=-1"},
        {"64x64x64:beta=1", 2, "sgemm:nn:64x64x64:alpha=3:beta=4"},
        {"64x64x64:epilogue=bias", 1, "sgemm:nn:64x64x64:alpha=2:epilogue=bias"},
        {"64x64x64:lda=65", 0, NULL},
        {"64x64x64:batch=2:pointers", 1, "sgemm:nn:64x64x64:batch=2:pointers:alpha=2"},
    };
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    assert_int_equal(sqlite3_exec(db->handle, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < 300; i++) {
        char text[64];
        snprintf(text, sizeof text, "64x64x%d:alpha=%d", 65 + i, i + 2);
        stored(db, run, text);
    }
    static const char *const texts[] = {"64x64x64",
                                        "64x64x64:alpha=2",
                                        "64x64x64:beta=0.5",
                                        "64x64x64:alpha=3:beta=4",
                                        "64x64x64:alpha=2:epilogue=bias",
                                        "64x64x64:beta=3:epilogue=bias",
                                        "64x64x64:batch=2:pointers:alpha=2",
                                        "64x64x64:batch=2:alpha=7",
                                        "64x64x64:alpha=-1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) stored(db, run, texts[i]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct problem asked, alike[DB_ALIKE_MAX];
        char text[PROBLEM_TEXT_MAX];
        int count;
        assert_ok(problem_parse(cases[i].asked, &asked));
        assert_ok(db_problems_alike(db, &asked, alike, &count));
        assert_int_equal(count, cases[i].count);
        for (int j = 0; j < count; j++) assert_true(problem_alike(&alike[j], &asked));
        if (count == 0) continue;
        problem_format(&alike[0], text);
        assert_string_equal(text, cases[i].newest);
    }
    int asked = 0;
    for (sqlite3_stmt *s = sqlite3_next_stmt(db->handle, NULL); s; s = sqlite3_next_stmt(db->handle, s)) {
        if (!strstr(sqlite3_sql(s), ":alpha>")) continue;
        asked++;
        /* Of gpus one row a problem. */
        assert_true(sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 0) < 4000);
    }
    assert_int_equal(asked, 1);
    db_close(db);
}

TEST(where_nothing_was_measured_for_a_problem_like_ones_are_listed)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    const int64_t run = store_run(db, &context);
    stored(db, run, "64x64x64:alpha=2");
    struct problem asked = problem_make(64, 64, 64);
    assert_int_equal(list(db, &asked, false).count, 0);
    struct listed listed = list(db, &asked, true);
    assert_int_equal(listed.count, 1);
    assert_true(listed.alpha == 2);
    stored(db, run, "64x64x64");
    listed = list(db, &asked, true);
    assert_int_equal(listed.count, 1);
    assert_true(listed.alpha == 1);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(keys_have_nine_digits_and_are_found_by_any_text_of_the_number),
        STORE_TEST(like_problems_are_found_without_reading_all),
        STORE_TEST(where_nothing_was_measured_for_a_problem_like_ones_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
