/* Fields that hold a sample of their space: a search over them finds what is not in the sample. */
#include "described_gpu.h"
#include "field.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM "2048x2048x2048"
#define HIDDEN                                                                                               \
    "simt BM=112 BN=72 BK=32 WM=56 WN=72 TM=14 TN=9 WARPS_K=1 STAGES=5 LOADER=1 PACK=0 VA=4 VB=4 VC=1 "      \
    "UNROLL=8 STORE_AT=4 ORDER=1 MIN_BLOCKS=1 REDUCE=0 GROUP=8 SPLIT_K=1"

static struct space *space;

static int open_space(void **state)
{
    (void)state;
    return field_space("wide", &space) ? -1 : 0;
}

static int close_space(void **state)
{
    (void)state;
    space_free(space);
    return 0;
}

static struct field open_field(const char *shape)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_of(shape);
    struct field field;
    assert_ok(field_open(space, &p, &gpu, WORKSPACE_DEFAULT, false, &field));
    assert_non_null(field.sample);
    return field;
}

static struct config config_of(const char *text)
{
    struct config config;
    assert_ok(config_parse(text, &config));
    return config;
}

static size_t find(const struct field *field, const struct config *config)
{
    size_t i = 0;
    while (i < field->count && !config_equal(&field->config[i], config)) i++;
    return i;
}

/* A valley around the hidden configuration, which takes HIDDEN_US. */
#define HIDDEN_US 100

static double time_of(const struct config *c, const struct config *hidden)
{
    double away = 0;
    if (c->template != hidden->template) return 4 * HIDDEN_US;
    for (int p = 0; p < c->template->param_count; p++)
        away += (p < 9 ? 0.1 : 0.02) * fabs(log2((1.0 + c->value[p]) / (1.0 + hidden->value[p])));
    return HIDDEN_US * exp(fmin(away, 1.5));
}

/* The best of so many trials. */
static double search(struct field *field, const char *strategy, const struct growth *growth, int trials)
{
    const struct config hidden = config_of(HIDDEN);
    struct search *s;
    double best = INFINITY;
    assert_ok(search_start(strategy, field->config, field->count, field->predicted_us, growth, 1, &s));
    for (int i = 0; i < trials; i++) {
        size_t at;
        if (search_next(s, &at) != SEARCH_TRY) break;
        const double time_us = time_of(&field->config[at], &hidden);
        best = fmin(best, time_us);
        search_tell(s, at, time_us);
    }
    search_stop(s);
    return best;
}

/* What gp learns from its first trials leads it into a side valley, with some seeds. */
TEST(gp_descends_to_a_candidate_that_is_not_in_the_sample)
{
    struct field field = open_field(PROBLEM);
    const struct config hidden = config_of(HIDDEN);
    const size_t sampled = field.count;
    assert_int_equal(find(&field, &hidden), field.count);
    const double sample_us = search(&field, "gp", NULL, 400);
    assert_int_equal(field.count, sampled);
    const double grown_us = search(&field, "gp", field_growth(&field), 400);
    print_message("%g us, without growth %g; %zu candidates, then %zu\n", grown_us, sample_us, sampled,
                  field.count);
    assert_true(sample_us > 1.2 * HIDDEN_US);
    assert_true(grown_us <= 1.25 * HIDDEN_US);
    assert_true(field.count > sampled && field.count < sampled + 100000);
    for (size_t i = sampled; i < field.count; i += 97) {
        const struct problem p = problem_of(PROBLEM);
        const struct gpu gpu = h200();
        assert_null(field.config[i].template->check(&field.config[i], &p, &gpu));
        assert_true(field.predicted_us[i] > 0);
        assert_int_equal(find(&field, &field.config[i]), i);
    }
    field_close(&field);
}

TEST(random_and_exhaustive_search_take_a_sample_as_it_is)
{
    static const char *const strategies[] = {"random", "exhaustive"};
    struct field field = open_field(PROBLEM);
    const size_t sampled = field.count;
    for (size_t i = 0; i < 2; i++)
        assert_true(isfinite(search(&field, strategies[i], field_growth(&field), 500)));
    assert_int_equal(field.count, sampled);
    field_close(&field);
}

/* Only the neighbours of the best are worth listing. */
TEST(a_trial_alone_lists_no_other_launches)
{
    struct field field = open_field(PROBLEM);
    const size_t sampled = field.count;
    struct search *s;
    assert_ok(search_start("gp", field.config, field.count, field.predicted_us, field_growth(&field), 1, &s));
    for (size_t i = 0; i < 200; i++) search_tell(s, 100 * i, (double)INFINITY);
    assert_int_equal(field.count, sampled);
    search_stop(s);
    field_close(&field);
}

TEST(candidates_are_ranked_and_one_that_comes_later_has_its_place)
{
    struct field field = open_field(PROBLEM);
    const struct config hidden = config_of(HIDDEN);
    for (size_t i = 1; i < field.count; i++) assert_true(field.predicted_us[i - 1] <= field.predicted_us[i]);
    assert_int_equal(field_rank(&field, 17), 18);
    const size_t at = field_reach(&field, &hidden), rank = field_rank(&field, at);
    assert_int_equal(at, field.count - 1);
    assert_int_equal(field_reach(&field, &hidden), at);
    assert_true(rank > 1 && field.predicted_us[rank - 2] <= field.predicted_us[at]);
    assert_true(field.predicted_us[rank - 1] > field.predicted_us[at]);
    field_close(&field);
}

TEST(what_is_excluded_is_neither_listed_nor_reached)
{
    struct field field = open_field(PROBLEM);
    const struct config hidden = config_of(HIDDEN), favourite = field.config[0];
    assert_ok(field_drop(&field, &hidden));
    assert_ok(field_drop(&field, &favourite));
    assert_int_equal(find(&field, &favourite), field.count);
    assert_true(field_reach(&field, &favourite) == NEIGHBOURS_NONE);
    assert_true(field_reach(&field, &hidden) == NEIGHBOURS_NONE);
    field_close(&field);
}

TEST(what_is_pinned_is_left_alone_and_does_not_grow)
{
    struct field field = open_field(PROBLEM);
    const struct config hidden = config_of(HIDDEN);
    const struct problem p = problem_of(PROBLEM);
    const struct gpu gpu = h200();
    field_leave(&field, &hidden, &p, &gpu);
    assert_int_equal(field.count, 1);
    assert_true(config_equal(&field.config[0], &hidden));
    assert_null(field_growth(&field));
    field_close(&field);
}

TEST(all_launches_of_a_winner_elsewhere_become_candidates)
{
    struct field field = open_field("128x128x16384");
    const struct config winner = config_of(HIDDEN);
    const size_t before = field.count;
    assert_ok(field_reach_launches(&field, &winner));
    assert_true(field.count > before + 20);
    for (size_t i = before; i < field.count; i++) assert_true(config_same_kernel(&field.config[i], &winner));
    field_close(&field);
}

TEST(a_space_that_can_be_listed_is_no_sample)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_of(PROBLEM);
    struct space *curated;
    struct field field;
    const struct config config = config_of(HIDDEN);
    assert_ok(field_space("curated", &curated));
    assert_ok(field_open(curated, &p, &gpu, WORKSPACE_DEFAULT, false, &field));
    assert_null(field.sample);
    assert_null(field_growth(&field));
    assert_true(field.legal == (double)field.count);
    assert_true(field_reach(&field, &config) == NEIGHBOURS_NONE);
    field_close(&field);
    space_free(curated);
}

/* Of a family; INFINITY: it has none. */
static double best_of_family(const struct field *field, const struct template *family)
{
    double best = (double)INFINITY;
    for (size_t i = 0; i < field->count; i++)
        if (field->config[i].template == family) best = fmin(best, field->predicted_us[i]);
    return best;
}

TEST(a_sample_holds_what_the_model_likes_best_of_each_family_and_not_only_of_the_first)
{
    static const char *const shapes[] = {"16x4096x7168", "700x35x2048", "8x6144x4096"};
    const struct gpu gpu = h200();
    struct space *curated;
    assert_ok(field_space("curated", &curated));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct problem p = problem_of(shapes[i]);
        struct field wide = open_field(shapes[i]), narrow;
        assert_ok(field_open(curated, &p, &gpu, WORKSPACE_DEFAULT, false, &narrow));
        for (size_t t = 0; t < template_count; t++) {
            const double best = best_of_family(&narrow, templates[t]),
                         found = best_of_family(&wide, templates[t]);
            if (best > 1.2 * narrow.predicted_us[0]) continue;
            print_message("%s %s: %.2f us, curated %.2f us\n", shapes[i], templates[t]->name, found, best);
            assert_true(found <= 1.012 * best);
        }
        field_close(&narrow);
        field_close(&wide);
    }
    space_free(curated);
}

TEST(an_unknown_space_names_those_that_there_are)
{
    struct space *none;
    assert_fails(field_space("nosuch", &none), E_INPUT, "spaces: curated wide");
    assert_fails(field_space("./nosuch", &none), E_IO, "./nosuch");
    assert_ok(field_space(GT_SOURCE_DIR "/configs/spaces/wide", &none));
    space_free(none);
    assert_ok(field_space(GT_SOURCE_DIR "/configs/spaces/mma.conf", &none));
    space_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gp_descends_to_a_candidate_that_is_not_in_the_sample),
        cmocka_unit_test(random_and_exhaustive_search_take_a_sample_as_it_is),
        cmocka_unit_test(a_trial_alone_lists_no_other_launches),
        cmocka_unit_test(candidates_are_ranked_and_one_that_comes_later_has_its_place),
        cmocka_unit_test(what_is_excluded_is_neither_listed_nor_reached),
        cmocka_unit_test(what_is_pinned_is_left_alone_and_does_not_grow),
        cmocka_unit_test(all_launches_of_a_winner_elsewhere_become_candidates),
        cmocka_unit_test(a_space_that_can_be_listed_is_no_sample),
        cmocka_unit_test(a_sample_holds_what_the_model_likes_best_of_each_family_and_not_only_of_the_first),
        cmocka_unit_test(an_unknown_space_names_those_that_there_are),
    };
    return cmocka_run_group_tests(tests, open_space, close_space);
}
