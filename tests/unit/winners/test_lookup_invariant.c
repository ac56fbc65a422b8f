/* Which winners answer an invariant problem, whose rows have the same bits for every M: never cuBLAS, never
 * what adds in another order. */
#include "db_files.h"
#include "lookup.h"
#include "store_choices.h"

#include "invariant.h"
#include "template.h"

#define LAYER     "512x14336" /* two parts of k */
#define PLAIN     "bf16gemm:nt:64x" LAYER
#define INVARIANT PLAIN ":invariant"

/* Legal for the problems below, also the plain one; all different. */
static struct config numbered(int number)
{
    char text[CONFIG_TEXT_MAX];
    struct config config;
    snprintf(text, sizeof text,
             "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=1 MIN_BLOCKS=1 REDUCE=2 WALK=0 "
             "GROUP=%d SPLIT_K=2 SMS=1",
             number);
    assert_ok(config_parse(text, &config));
    return config;
}

/* config NULL: cuBLAS won. */
static void decide_for(const char *text, const struct config *config, double ratio)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    struct db_winner w = {.base.time_us = 100,
                          .base.cold = true,
                          .base.exact = true,
                          .base.ratio = ratio,
                          .base.anchor_us = 100 * ratio,
                          .rounds = 8};
    if (config) w.config = *config;
    assert_ok(problem_parse(text, &w.base.problem));
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

/* number 0: cuBLAS won. */
static void decide(const char *text, int number, double ratio)
{
    const struct config config = numbered(number ? number : 1);
    decide_for(text, number ? &config : NULL, ratio);
}

static bool is(const struct choice *choice, int number)
{
    const struct config config = numbered(number);
    return !choice->cublas && config_equal(&choice->config, &config);
}

static void assert_never_cublas(const struct choice *all, int count)
{
    assert_true(count > 0);
    for (int i = 0; i < count; i++) assert_false(all[i].cublas);
}

TEST(its_own_winner_answers_also_where_cublas_is_faster)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PLAIN, 1, 0.8);
    decide(INVARIANT, 2, 0.8);
    int count = choices_for(INVARIANT, all);
    assert_true(is(&all[0], 2) && all[0].source == CHOICE_EXACT && all[0].time_us == 100);
    assert_string_equal(all[0].tuned_for, INVARIANT);
    assert_string_equal(all[0].why, "measured for this problem on this GPU");
    assert_never_cublas(all, count);
    count = choices_for(PLAIN, all);
    assert_true(all[0].cublas && is(&all[1], 1));
}

/* As a neighbour or a known configuration it is a matter of time alone, but not as a measured one. */
TEST(neither_answers_the_other_as_measured)
{
    struct choice all[2 * CHOICES_MAX];
    decide(PLAIN, 1, 2);
    int count = choices_for(INVARIANT, all);
    assert_never_cublas(all, count);
    for (int i = 0; i < count; i++)
        assert_true(all[i].source == CHOICE_PREDICTED || all[i].source == CHOICE_FALLBACK);
    decide("bf16gemm:nt:65x" LAYER ":invariant", 3, 2);
    count = choices_for(PLAIN, all);
    assert_true(is(&all[0], 1) && all[0].source == CHOICE_EXACT);
    for (int i = 1; i < count; i++) assert_true(all[i].source != CHOICE_NEAREST || !is(&all[i], 3));
}

TEST(a_winner_of_another_division_of_k_answers_no_more)
{
    struct choice all[2 * CHOICES_MAX];
    struct config old = numbered(1);
    config_set(&old, "REDUCE", 4);
    config_set(&old, "SPLIT_K", 4);
    decide_for(INVARIANT, &old, 2);
    decide_for("bf16gemm:nt:65x" LAYER ":invariant", &old, 2);
    const int count = choices_for(INVARIANT, all);
    assert_never_cublas(all, count);
    for (int i = 0; i < count; i++) {
        assert_false(config_equal(&all[i].config, &old));
        assert_true(all[i].source != CHOICE_EXACT && all[i].source != CHOICE_NEAREST);
    }
}

TEST(the_next_larger_m_answers_then_the_nearest)
{
    struct choice all[2 * CHOICES_MAX];
    decide("bf16gemm:nt:8x" LAYER ":invariant", 1, 0.7);
    decide("bf16gemm:nt:64x" LAYER ":invariant", 2, 0.7);
    int count = choices_for("bf16gemm:nt:33x" LAYER ":invariant", all);
    assert_true(is(&all[0], 2) && all[0].source == CHOICE_NEAREST);
    assert_never_cublas(all, count);
    count = choices_for("bf16gemm:nt:9x" LAYER ":invariant", all);
    assert_true(is(&all[0], 1) && all[0].source == CHOICE_NEAREST);
    assert_never_cublas(all, count);
    count = choices_for("bf16gemm:nt:2048x" LAYER ":invariant", all); /* far from both: what is known */
    assert_true(all[0].source == CHOICE_PREDICTED && (is(&all[0], 1) || is(&all[0], 2)));
    assert_never_cublas(all, count);
}

/* Nothing was tuned: a plain configuration of mma16, for any alignment. */
TEST(without_winners_a_plain_configuration_in_the_order_of_n_and_k_answers)
{
    static const char *const texts[] = {
        "bf16gemm:nt:1x" LAYER ":invariant", "hgemm:nn:2048x6144x4096:invariant",
        "hgemm:tn:333x1023x4097:c=f32:invariant", "bf16gemm:nt:65536x512x14336:invariant"};
    struct choice all[2 * CHOICES_MAX];
    db_close(store_open(DB_WRITE));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct problem p;
        const int count = choices_for(texts[i], all);
        assert_ok(problem_parse(texts[i], &p));
        assert_never_cublas(all, count);
        for (int c = 0; c < count; c++) {
            assert_int_equal(all[c].source, CHOICE_FALLBACK);
            assert_string_equal(all[c].config.template->name, "mma16");
            assert_int_equal(config_get(&all[c].config, "SPLIT_K"), invariant_parts(p.n, p.k));
        }
        assert_string_equal(all[0].why, "no usable winner is known for this GPU: a plain configuration");
    }
    assert_true(choices_for(PLAIN, all) == 1 && all[0].cublas); /* as before: cuBLAS, or nothing */
}

TEST(that_cublas_won_is_no_answer)
{
    struct choice all[2 * CHOICES_MAX];
    decide(INVARIANT, 0, 0);
    const int count = choices_for(INVARIANT, all);
    assert_never_cublas(all, count);
    assert_int_equal(all[0].source, CHOICE_FALLBACK);
}

TEST(like_problems_share_their_winners)
{
    struct choice all[2 * CHOICES_MAX];
    decide(INVARIANT ":beta=1", 2, 0.7);
    choices_for(INVARIANT ":alpha=3:beta=-1", all);
    assert_true(is(&all[0], 2) && all[0].source == CHOICE_EXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(its_own_winner_answers_also_where_cublas_is_faster),
        STORE_TEST(neither_answers_the_other_as_measured),
        STORE_TEST(a_winner_of_another_division_of_k_answers_no_more),
        STORE_TEST(the_next_larger_m_answers_then_the_nearest),
        STORE_TEST(without_winners_a_plain_configuration_in_the_order_of_n_and_k_answers),
        STORE_TEST(that_cublas_won_is_no_answer),
        STORE_TEST(like_problems_share_their_winners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
