/* A surrogate that cannot be fitted: this program has one of its own, in the place of surrogate.c. */
#include "search.h"
#include "surrogate.h"
#include "template.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct surrogate {
    size_t rows;
};

struct surrogate *surrogate_build(int groups, size_t rows_max, size_t slots_max, double slope,
                                  double deviation)
{
    (void)groups, (void)rows_max, (void)slots_max, (void)slope, (void)deviation;
    return calloc(1, sizeof(struct surrogate));
}

void surrogate_free(struct surrogate *s)
{
    free(s);
}

size_t surrogate_rows(const struct surrogate *s)
{
    return s->rows;
}

bool surrogate_add(struct surrogate *s, const struct surrogate_point *point)
{
    (void)point;
    s->rows++;
    return true;
}

void surrogate_clear(struct surrogate *s)
{
    s->rows = 0;
}

void surrogate_place(struct surrogate *s, const size_t *slot, const struct surrogate_point *point,
                     size_t count)
{
    (void)s, (void)slot, (void)point, (void)count;
}

bool surrogate_fit(struct surrogate *s, const double *value)
{
    (void)value;
    s->rows = 0;
    return false;
}

bool surrogate_expect(struct surrogate *s, const double *value, float *mean, float *deviation)
{
    (void)s, (void)value;
    memset(mean, 0, 1024 * sizeof *mean); /* the slots of search_gp.c */
    for (int i = 0; i < 1024; i++) deviation[i] = 1;
    return true;
}

#define COUNT 400

TEST(a_search_whose_surrogate_cannot_be_fitted_goes_on_and_says_so)
{
    static const struct param params[] = {{"X", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""},
                                          {"Y", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""}};
    static const struct template plane = {.name = "plane", .params = params, .param_count = 2};
    struct config c[COUNT];
    bool given[COUNT] = {false};
    size_t queue[COUNT], asked = 0, told = 0;
    struct search *search;
    for (int i = 0; i < COUNT; i++) c[i] = (struct config){.template = &plane, .value = {i / 20, i % 20}};
    assert_ok(search_start("gp", c, COUNT, NULL, NULL, 1, &search));
    while (told < COUNT) {
        while (asked < COUNT && asked - told < 5 && search_next(search, &queue[asked]) == SEARCH_TRY) {
            assert_false(given[queue[asked]]);
            given[queue[asked++]] = true;
        }
        assert_true(told < asked);
        search_tell(search, queue[told],
                    10 + abs(c[queue[told]].value[0] - 7) + abs(c[queue[told]].value[1] - 3));
        if (++told == 8) assert_null(search_note(search));
    }
    assert_non_null(strstr(search_note(search), "no surrogate fits the 9 trials"));
    search_stop(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_whose_surrogate_cannot_be_fitted_goes_on_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
