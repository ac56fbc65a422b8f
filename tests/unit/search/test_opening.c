/* What a search proposes before it knows anything. */
#include "opening.h"
#include "stats.h"
#include "template.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { DIMS = 10, VALUES = 6, EACH = 3000, COUNT = 2 * EACH };

#define PARAM(name)                                                                                          \
    {                                                                                                        \
        name, PARAM_COMPILE, ROLE_NAMED, 0, VALUES, ""                                                       \
    }
static const struct param params[DIMS] = {PARAM("A"), PARAM("B"), PARAM("C"), PARAM("D"), PARAM("E"),
                                          PARAM("F"), PARAM("G"), PARAM("H"), PARAM("I"), PARAM("J")};
static const struct template first = {.name = "first", .params = params, .param_count = DIMS};
static const struct template second = {.name = "second", .params = params, .param_count = DIMS};

/* All of one family, predicted up to a hundredth slower than its best, and then all of another, which begins
 * `later` behind the best. */
static void fill(struct config *c, double *predicted_us, double later)
{
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        c[i] = (struct config){.template = i < EACH ? &first : &second};
        for (int d = 0; d < DIMS; d++) c[i].value[d] = (int32_t)stats_random_below(&random, VALUES);
        predicted_us[i] = (i < EACH ? 100 : 100 + later) + 1.0 / EACH * (i % EACH);
    }
}

/* How many of the second family there are among the favourites. */
static int of_second(const struct config *c, const double *predicted_us,
                     size_t favourites[OPENING_FAVOURITES])
{
    struct opening o;
    uint64_t random = 3;
    int count = 0;
    size_t index, given = 0;
    opening_choose(&o, c, COUNT, predicted_us, &random);
    while (opening_start(&o, &index)) continue;
    for (; opening_favourite(&o, &index); given++) {
        count += c[index].template == &second;
        for (size_t i = 0; i < given; i++) assert_true(favourites[i] != index);
        favourites[given] = index;
    }
    assert_int_equal(given, OPENING_FAVOURITES);
    return count;
}

TEST(a_family_that_may_be_the_fastest_has_its_favourites_however_many_of_another_come_before)
{
    struct config *c = calloc(COUNT, sizeof *c);
    double *predicted_us = calloc(COUNT, sizeof *predicted_us);
    size_t favourites[OPENING_FAVOURITES];
    fill(c, predicted_us, 8);
    const int count = of_second(c, predicted_us, favourites);
    assert_in_range(count, OPENING_FAVOURITES / 4, 3 * OPENING_FAVOURITES / 4);
    fill(c, predicted_us, 20);
    assert_int_equal(of_second(c, predicted_us, favourites), 0);
    free(predicted_us);
    free(c);
}

TEST(without_a_model_there_are_starts_and_no_favourites)
{
    struct config *c = calloc(COUNT, sizeof *c);
    double *predicted_us = calloc(COUNT, sizeof *predicted_us);
    struct opening o;
    uint64_t random = 3;
    size_t index, starts = 0;
    fill(c, predicted_us, 8);
    opening_choose(&o, c, COUNT, NULL, &random);
    while (opening_start(&o, &index)) starts++;
    assert_int_equal(starts, OPENING_STARTS);
    assert_false(opening_favourite(&o, &index));
    opening_choose(&o, c, 0, NULL, &random);
    assert_false(opening_start(&o, &index) || opening_favourite(&o, &index));
    free(predicted_us);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_family_that_may_be_the_fastest_has_its_favourites_however_many_of_another_come_before),
        cmocka_unit_test(without_a_model_there_are_starts_and_no_favourites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
