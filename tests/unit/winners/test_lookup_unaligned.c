/* What answers 16-bit problems that are like none that was tuned, where cuBLAS is slow: operands whose lines
 * no copy of 16 bytes can read. */
#include "db_files.h"
#include "lookup.h"
#include "store_choices.h"

#include "template.h"

#define PACKED                                                                                               \
    "wgmma BM=128 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "        \
    "STORE=0 GROUP=1 SPLIT_K=1 SMS=1 PDL=0"

/* A winner far from all problems below. */
static void a_winner_is_known(void)
{
    struct db *db = store_open(DB_WRITE);
    const struct db_context context = store_context();
    struct db_winner w = {
        .base.time_us = 100, .base.cold = true, .base.exact = true, .base.ratio = 2, .rounds = 8};
    w.base.anchor_us = 200;
    assert_ok(config_parse(PACKED, &w.config));
    assert_ok(problem_parse("bf16gemm:nn:16000x16001x16003", &w.base.problem));
    assert_ok(db_set_winner(db, store_run(db, &context), &w, NULL, 0, NULL, 0));
    db_close(db);
}

static bool cublas_is_first(const char *text)
{
    struct choice all[2 * CHOICES_MAX];
    assert_true(choices_for(text, all) > 0);
    if (!all[0].cublas) assert_true(all[0].source == CHOICE_PREDICTED);
    return all[0].cublas;
}

TEST(the_models_choice_goes_before_cublas)
{
    a_winner_is_known();
    assert_false(cublas_is_first("bf16gemm:nn:333x777x555"));
    assert_false(cublas_is_first("bf16gemm:nt:333x776x588"));         /* A and B by 8 bytes */
    assert_false(cublas_is_first("bf16gemm:nn:336x776x552:ldb=777")); /* B alone */
}

TEST(elsewhere_it_must_promise_more)
{
    a_winner_is_known();
    assert_true(cublas_is_first("bf16gemm:nn:336x776x552"));
    assert_true(cublas_is_first("bf16gemm:nn:336x776x552:ldc=777")); /* C alone */
    assert_true(cublas_is_first("bf16gemm:nn:8x777x555"));           /* thin */
}

TEST(without_known_configurations_cublas_answers)
{
    assert_true(cublas_is_first("bf16gemm:nn:333x777x555"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {STORE_TEST(the_models_choice_goes_before_cublas),
                                       STORE_TEST(elsewhere_it_must_promise_more),
                                       STORE_TEST(without_known_configurations_cublas_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
