/* Records of programs whose problems never end: what they cost is counted in questions to the winners, each
 * of which is a query of the database under a lock. The linker sends lookup_exact here first. */
#include "dropin_handle.h"
#include "record.h"
#include "runtime_fakes.h"

#include <malloc.h>
#include <pthread.h>

static atomic_int lookups;

enum status __wrap_lookup_exact(struct winner_store *store, const struct problem *problem, int alignment,
                                struct choice choices[CHOICES_MAX], int *count);
enum status __real_lookup_exact(struct winner_store *store, const struct problem *problem, int alignment,
                                struct choice choices[CHOICES_MAX], int *count);
enum status __wrap_lookup_exact(struct winner_store *store, const struct problem *problem, int alignment,
                                struct choice choices[CHOICES_MAX], int *count)
{
    atomic_fetch_add(&lookups, 1);
    return __real_lookup_exact(store, problem, alignment, choices, count);
}

static float memory[4] __attribute__((aligned(16)));

/* Row-major 16 x n x 32, as cuBLAS is asked. */
static struct record *ask(int n)
{
    const struct blas_request asked = {.function = "cublasSgemm",
                                       .m = n,
                                       .n = 16,
                                       .k = 32,
                                       .lda = n,
                                       .ldb = 32,
                                       .ldc = n,
                                       .batch = 1,
                                       .a = memory,
                                       .b = memory,
                                       .c = memory};
    return record_of(&asked, dropin_handle_context(), false);
}

static bool is_tuned(const struct record *r)
{
    return instead_is_kernel(&r->instead);
}

static void *ask_elsewhere(void *n)
{
    use_primary_context();
    return ask(*(int *)n);
}

static int count_records(void)
{
    int count = 0;
    for (const struct record *r = record_newest(); r; r = r->older) count++;
    return count;
}

/* The tests share one process and the table in it, and run in this order. */
enum { PROBLEMS = 70000, LATE = 400000, RECORDS_MAX = 256, STORED = 100, STORED_FIRST = 500000 };

static int group_setup(void **state)
{
    char text[64];
    if (fakes_setup(state)) return -1;
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "sgemm:nn:16x%dx32", 24 + i * LATE);
        put_winner(text, SIMT, 5, false);
    }
    for (int i = 0; i < STORED; i++) { /* the database has them, and cuBLAS was faster */
        snprintf(text, sizeof text, "sgemm:nn:16x%dx32", STORED_FIRST + i);
        put_winner(text, NULL, 5, false);
    }
    use_primary_context();
    assert_non_null(dropin_handle_context());
    atomic_load(&dropin_handle)->plans.most = RECORDS_MAX;
    return 0;
}

TEST(problems_without_a_winner_are_no_question_and_take_no_memory)
{
    assert_true(ask(24) && is_tuned(ask(24)));
    const int before = atomic_load(&lookups);
    const size_t bytes = mallinfo2().uordblks;
    for (int round = 0; round < 2; round++)
        for (int n = 100; n < 100 + PROBLEMS; n++) {
            const struct record *r = ask(n);
            assert_true(!r || !is_tuned(r));
        }
    assert_int_equal(atomic_load(&lookups), before);
    assert_int_equal(count_records(), 1);
    assert_true(mallinfo2().uordblks <= bytes + 4096);
    assert_true(ask(24 + LATE) && is_tuned(ask(24 + LATE))); /* however late */
}

/* Somebody writes a log: problems without a winner have records, as long as there is room. */
TEST(a_full_table_asks_no_more_and_still_takes_a_winner)
{
    record_all = true;
    for (int n = 100; n < 100 + PROBLEMS; n++) ask(n);
    const int before = atomic_load(&lookups), records = count_records();
    assert_in_range(records, RECORDS_MAX / 2, RECORDS_MAX);
    assert_in_range(before, records - 2, RECORDS_MAX + 2);
    for (int n = 100; n < 100 + PROBLEMS; n++) ask(n);
    assert_int_equal(atomic_load(&lookups), before);
    assert_true(ask(100) && !is_tuned(ask(100)));
    assert_null(ask(100 + PROBLEMS - 1));
    assert_true(ask(24 + 2 * LATE) && is_tuned(ask(24 + 2 * LATE)));
    assert_int_equal(count_records(), records + 1);
}

/* The set cannot tell them from problems with a winner. */
TEST(stored_problems_without_a_winner_are_asked_about_once)
{
    for (int i = 0; i < STORED; i++) assert_null(ask(STORED_FIRST + i));
    const int before = atomic_load(&lookups);
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < STORED; i++) assert_null(ask(STORED_FIRST + i));
    assert_in_range(atomic_load(&lookups) - before, 0, STORED); /* a few may have lost their place */
}

/* The lock of decisions is held elsewhere: by a thread that asks for the same winner. */
TEST(threads_find_what_another_one_has_decided)
{
    pthread_t thread;
    int n = 24 + 3 * LATE;
    void *theirs = NULL;
    assert_int_equal(pthread_create(&thread, NULL, ask_elsewhere, &n), 0);
    const struct record *ours = ask(n);
    pthread_join(thread, &theirs);
    assert_ptr_equal(theirs, ours);
    assert_true(ours && is_tuned(ours));
}

/* A launch may fail after new winners have replaced its kernel. */
TEST(only_the_kernel_that_computes_is_given_up)
{
    static const struct executable other;
    struct record *r = ask(24);
    instead_rules.wait = true;
    const struct executable *kernel = instead_kernel(&r->instead, false, stream);
    assert_non_null(kernel);
    instead_give_up(&r->instead, &other, FAILS, "another one failed");
    assert_true(is_tuned(r) && instead_is_due(&r->instead));
    instead_give_up(&r->instead, kernel, FAILS_FOR_NOW, "it failed");
    assert_true(is_tuned(r) && !instead_is_due(&r->instead));
    instead_give_up(&r->instead, kernel, FAILS, "it failed");
    assert_false(is_tuned(r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_without_a_winner_are_no_question_and_take_no_memory),
        cmocka_unit_test(a_full_table_asks_no_more_and_still_takes_a_winner),
        cmocka_unit_test(stored_problems_without_a_winner_are_asked_about_once),
        cmocka_unit_test(threads_find_what_another_one_has_decided),
        cmocka_unit_test(only_the_kernel_that_computes_is_given_up),
    };
    return cmocka_run_group_tests(tests, group_setup, store_teardown);
}
