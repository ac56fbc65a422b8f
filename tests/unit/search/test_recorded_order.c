/* The model's order of the spaces that were recorded on an H200 (tests/data/README.md). Its constants were
 * fitted to these and to others, so this finds what breaks the order, not how good it is elsewhere. */
#include "replay_order.h"
#include "unit.h"

#include <stdlib.h>

TEST(the_first_candidates_are_near_the_best_and_the_order_follows_the_times)
{
    static const struct {
        const char *file;
        double correlation, first, best_of_8, best_of_64; /* at least */
    } rows[] = {{"h200_square.json.gz", 0.85, 0.95, 0.97, 0.98},
                {"h200_nt.json.gz", 0.72, 0.97, 0.97, 0.99},
                {"h200_skinny.json.gz", 0.95, 0.97, 0.98, 0.99}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct replay_spaces spaces = {.count = 0};
        struct replay_order order;
        char path[300];
        snprintf(path, sizeof path, GT_SOURCE_DIR "/tests/data/%s", rows[i].file);
        assert_ok(replay_read(path, &spaces));
        assert_int_equal(spaces.count, 1);
        assert_ok(replay_order(&spaces.space[0], &order));
        print_message("%s: %.3f; %.3f %.3f %.3f\n", rows[i].file, order.correlation, order.reached[0],
                      order.reached[1], order.reached[2]);
        assert_true(order.correlation >= rows[i].correlation);
        assert_true(order.reached[0] >= rows[i].first);
        assert_true(order.reached[1] >= rows[i].best_of_8);
        assert_true(order.reached[2] >= rows[i].best_of_64);
        replay_free(&spaces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_candidates_are_near_the_best_and_the_order_follows_the_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
