/* What a run knows of compiled kernels: each has an entry of its own, whatever else is there. */
#include "builds.h"
#include "unit.h"

#include <string.h>

#define SIMT                                                                                                 \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K=1"

static struct kernel_key simt(void)
{
    struct config config;
    const struct problem problem = problem_make(64, 64, 64);
    assert_ok(config_parse(SIMT, &config));
    return kernel_key_of(&config, &problem, 90);
}

TEST(two_types_never_share_a_kernel)
{
    struct builds *builds;
    struct kernel_key key = simt();
    struct built *of_type[GEMM_TYPE_COUNT];
    assert_ok(builds_open(&builds));
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        key.type = (enum gemm_type)i;
        of_type[i] = builds_get(builds, &key);
        assert_non_null(of_type[i]);
        assert_int_equal(of_type[i]->kernel.type, i);
        for (int j = 0; j < i; j++) assert_ptr_not_equal(of_type[i], of_type[j]);
    }
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        key.type = (enum gemm_type)i;
        assert_ptr_equal(builds_get(builds, &key), of_type[i]);
    }
    builds_close(builds);
}

/* Beyond the size at which the table grows. */
TEST(every_kernel_is_found_again_among_many)
{
    enum { MANY = 4096 };
    static struct built *all[MANY];
    struct builds *builds;
    struct kernel_key key = simt();
    assert_ok(builds_open(&builds));
    for (int i = 0; i < MANY; i++) {
        key.arch = i;
        all[i] = builds_get(builds, &key);
        assert_non_null(all[i]);
        assert_int_equal(all[i]->state, BUILD_WANTED);
    }
    for (int i = 0; i < MANY; i++) {
        key.arch = i;
        assert_ptr_equal(builds_get(builds, &key), all[i]);
    }
    builds_close(builds);
}

static void compile(struct builds *builds, int number, double seconds, bool cached)
{
    struct kernel_key key = simt();
    key.arch = number;
    struct built *built = builds_get(builds, &key);
    assert_non_null(built);
    builds_ask(built);
    assert_int_equal(built->state, BUILD_ASKED);
    built->asked_s -= seconds;
    const struct build build = {.built = true, .cached = cached};
    assert_ok(builds_tell(builds, built, &build));
}

TEST(the_usual_compilation_is_the_median_of_the_last_ones_not_from_the_cache)
{
    struct builds *builds;
    assert_ok(builds_open(&builds));
    for (int i = 0; i < 10; i++) compile(builds, i, 0, true);
    for (int i = 10; i < 13; i++) compile(builds, i, 2, false);
    assert_true(builds_usual_s(builds) == 0); /* of three nobody can tell */
    compile(builds, 13, 60, false);
    const double usual_s = builds_usual_s(builds);
    assert_true(usual_s >= 2 && usual_s < 3);
    for (int i = 14; i < 60; i++) compile(builds, i, 8, false);
    assert_true(builds_usual_s(builds) >= 8);
    builds_close(builds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_types_never_share_a_kernel),
        cmocka_unit_test(every_kernel_is_found_again_among_many),
        cmocka_unit_test(the_usual_compilation_is_the_median_of_the_last_ones_not_from_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
