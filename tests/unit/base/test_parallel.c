/* Pieces of a calculation on all cores. */
#include "parallel.h"
#include "status.h"
#include "unit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PIECES = 1000 };

struct done {
    atomic_int times[PIECES + 1];
};

static void do_piece(void *self, size_t i)
{
    struct done *done = self;
    atomic_fetch_add(&done->times[i], 1);
}

TEST(every_piece_is_done_once_before_it_returns)
{
    static const size_t counts[] = {0, 1, 2, 15, PIECES};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        static struct done done;
        memset(&done, 0, sizeof done);
        parallel_for(counts[c], do_piece, &done);
        for (size_t i = 0; i <= PIECES; i++) assert_int_equal(atomic_load(&done.times[i]), i < counts[c]);
    }
}

/* The statuses of the threads are their own: what a piece says must not be heard elsewhere. */
static void say(void *self, size_t i)
{
    atomic_int *wrong = self;
    char text[32];
    snprintf(text, sizeof text, "piece %zu", i);
    fail(E_INPUT, "%s", text);
    if (strcmp(status_text(), text) != 0) atomic_fetch_add(wrong, 1);
}

TEST(each_thread_has_its_own_sentence)
{
    atomic_int wrong = 0;
    parallel_for(PIECES, say, &wrong);
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once_before_it_returns),
        cmocka_unit_test(each_thread_has_its_own_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
