/* How long the runtime takes to open and to plan over 100,000 winners, or over a database of
 * tests/store_many.c that GT_MANY names. */
#include "many_winners.h"
#include "runtime_fakes.h"

#include <time.h>

enum { WINNERS = 100000, TRIES = 5 };

#define OPEN_MS_MAX  20
#define EXACT_MS_MAX 20  /* with a kernel from the cache */
#define FIRST_MS_MAX 300 /* reads where they lie */
#define NEXT_MS_MAX  20

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void put_many(void)
{
    struct db *db = store_open(DB_WRITE);
    struct db_context context = store_context();
    int64_t run = store_run(db, &context);
    struct config configs[50];
    for (int i = 0; i < 50; i++) {
        char changes[64];
        snprintf(changes, sizeof changes, "%sSPLIT_K=%d", i % 2 ? "BM=128 WM=64 TM=8 " : "", 1 + i / 2);
        assert_ok(config_parse(config_text(3, changes), &configs[i]));
    }
    assert_int_equal(
        sqlite3_exec(db->handle, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY", NULL, NULL, NULL),
        SQLITE_OK);
    for (int i = 0; i < WINNERS; i++) {
        const struct db_winner w = many_winner(i, &configs[i % 50]);
        assert_ok(db_set_winner(db, run, &w, NULL, 0, NULL, 0));
    }
    db_close(db);
}

TEST(opening_and_planning_over_100000_winners_is_quick)
{
    double open_ms = 1e9, exact_ms = 1e9, first_ms = 1e9, next_ms = 1e9;
    const char *given = getenv("GT_MANY");
    if (given) setenv("GEMMTUNE_DB", given, 1);
    else put_many();
    for (int i = 0; i < TRIES; i++) {
        double start = now_ms();
        struct gt_handle *handle = open_handle(NULL);
        double opened = now_ms();
        assert_int_equal(info_of(make_plan(handle, "sgemm:nn:64x64x256")).source, GT_EXACT);
        double exact = now_ms();
        assert_int_equal(info_of(make_plan(handle, "sgemm:nn:1002x72x500")).source, GT_NEAREST);
        double first = now_ms();
        assert_int_equal(info_of(make_plan(handle, "sgemm:nn:1002x76x500")).source, GT_NEAREST);
        double next = now_ms();
        gt_close(handle);
        open_ms = fmin(open_ms, opened - start);
        exact_ms = fmin(exact_ms, exact - opened);
        first_ms = fmin(first_ms, first - exact);
        next_ms = fmin(next_ms, next - first);
    }
    print_message("%s: open %.2f ms, exact plan %.2f ms, first nearest %.0f ms, next %.2f ms\n",
                  given ? given : "100000 winners", open_ms, exact_ms, first_ms, next_ms);
    assert_true(open_ms <= OPEN_MS_MAX * SHARED_MACHINE);
    assert_true(exact_ms <= EXACT_MS_MAX * SHARED_MACHINE);
    assert_true(first_ms <= FIRST_MS_MAX * SHARED_MACHINE);
    assert_true(next_ms <= NEXT_MS_MAX * SHARED_MACHINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(opening_and_planning_over_100000_winners_is_quick, fakes_setup,
                                        fakes_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
