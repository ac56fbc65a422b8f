/* How a configuration is launched, as a header says it, against its template. */
#include "export_geometry.h"
#include "space.h"
#include "stats.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <stdio.h>
#include <string.h>

#define UNALIGNED                                                                                            \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=1"

static struct gpu h200(void)
{
    struct gpu gpu;
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", "h200", &gpu));
    return gpu;
}

static int in_slabs; /* shapes so far that go through k in slabs */

/* The formula against the template itself, on shapes that geometry_find has not seen. */
static void assert_like_template(const struct config *config, const struct problem *tuned,
                                 const struct gpu *gpu)
{
    struct gt_winner_geometry g;
    const char *entries[3], *names[3];
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    if (!geometry_find(config, tuned, gpu, &g, entries)) fail_msg("no formula for %s", text);
    assert_non_null(entries[1]);
    const int32_t needs = geometry_needs(config, tuned, gpu);
    uint64_t random = config_hash(config);
    int legal = 0;
    for (int i = 0; i < 200; i++) {
        struct problem p = *tuned;
        int64_t *const sizes[3] = {&p.m, &p.n, &p.k};
        for (int j = 0; j < 3; j++) {
            if (stats_random_below(&random, 4) == 0) continue;
            *sizes[j] =
                (int64_t)stats_random_below(&random, UINT64_C(1) << stats_random_below(&random, 15)) + 1;
            if (stats_random_below(&random, 4)) *sizes[j] = (*sizes[j] + 3) / 4 * 4;
        }
        p.batch = stats_random_below(&random, 3) ? 1 : 1 + (int64_t)stats_random_below(&random, 70000);
        const int64_t pad = stats_random_below(&random, 4) ? 4 : 1;
        p.lda = problem_cols_a(&p) + pad * (int64_t)stats_random_below(&random, 3);
        p.ldb = problem_cols_b(&p) + pad * (int64_t)stats_random_below(&random, 3);
        p.ldc = p.n + pad * (int64_t)stats_random_below(&random, 3);
        p.stride_a = problem_rows_a(&p) * p.lda;
        p.stride_b = problem_rows_b(&p) * p.ldb;
        p.stride_c = p.m * p.ldc;
        const struct gt_winner_shape shape = geometry_shape(&p);
        const bool refused = config->template->check(config, &p, gpu) != NULL;
        struct gt_winner_plan ours, theirs;
        const bool taken =
            gt_winner_aligned(gt_winner_align(&shape), needs) && gt_winner_plan_from(&g, &shape, &ours);
        char problem[PROBLEM_TEXT_MAX];
        problem_format(&p, problem);
        if (taken && refused) fail_msg("%s must not run %s", text, problem);
        struct problem item = p;
        item.batch = 1;
        const int64_t most = (int64_t)g.workspace_mib << 20;
        struct launch_plan plan;
        config->template->plan(config, &item, &plan);
        const bool fits = !refused && plan.workspace_bytes <= most;
        if (!taken && fits) fail_msg("%s may run %s", text, problem);
        if (!taken) continue;
        /* Counters are not counted. */
        if (!fits) assert_true(plan.workspace_bytes - 4 * ours.counters <= most);
        legal++;
        geometry_plan(config, &p, &theirs, names);
        /* The places of one or two kernels are told by their names alone. */
        for (int from = 0; from < 3; from++) {
            if (!theirs.grid[from][0]) continue;
            int to = 0;
            while (to < 3 && !(entries[to] && strcmp(entries[to], names[from]) == 0)) to++;
            assert_in_range(to, 0, 2);
            assert_memory_equal(ours.grid[to], theirs.grid[from], sizeof ours.grid[0]);
            assert_int_equal(ours.threads[to], theirs.threads[from]);
            assert_int_equal(ours.smem_bytes[to], theirs.smem_bytes[from]);
            assert_int_equal(ours.last_slab[to], theirs.last_slab[from]);
        }
        assert_int_equal(ours.kernels, theirs.kernels);
        assert_int_equal(ours.splits, theirs.splits);
        assert_int_equal(ours.k_per_split, theirs.k_per_split);
        assert_int_equal(ours.group, theirs.group);
        assert_int_equal(ours.counters, theirs.counters);
        assert_int_equal(ours.workspace_bytes, theirs.workspace_bytes);
        assert_int_equal(ours.batch_per_launch, theirs.batch_per_launch);
        assert_int_equal(ours.k_slab, theirs.k_slab);
        in_slabs += ours.k_slab > 0;
    }
    if (legal == 0) fail_msg("%s was never legal", text);
}

TEST(what_is_worth_trying_is_launched_for_any_shape_as_its_template_would)
{
    static const char *const problems[] = {
        "sgemm:nn:512x512x512", "sgemm:nt:8x4096x4096",  "sgemm:tn:4096x4x1000", "sgemm:tt:1023x1025x1027",
        "sgemm:nn:3x333x4095",  "sgemm:nn:32x100000x27", "sgemm:tn:64x64x65536"};
    const struct gpu gpu = h200();
    struct space *space;
    uint64_t random = 1;
    assert_ok(space_load(GT_SOURCE_DIR "/configs/spaces/simt.conf", &space));
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct problem p;
        struct candidates c;
        assert_ok(problem_parse(problems[i], &p));
        assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT_BYTES, &c));
        for (int j = 0; j < 60; j++)
            assert_like_template(&c.config[stats_random_below(&random, c.count)], &p, &gpu);
        candidates_free(&c);
    }
    space_free(space);
}

TEST(a_long_k_of_packed_operands_goes_in_slabs_as_its_template_would)
{
    static const char *const problems[] = {"sgemm:nn:8192x8192x8192", "sgemm:tt:8192x8192x8192",
                                           "sgemm:nt:64x20000x30000", "sgemm:tn:30000x40x20001"};
    const struct gpu gpu = h200();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct problem p;
        assert_ok(problem_parse(problems[i], &p));
        for (int pack = 0; pack <= 3; pack++)
            for (int bk = 16; bk <= 20; bk += 4) {
                struct config config;
                assert_ok(config_parse(UNALIGNED, &config));
                assert_true(config_set(&config, "PACK", pack) && config_set(&config, "BK", bk) &&
                            config_set(&config, "UNROLL", bk) && config_set(&config, "STORE_AT", bk / 2));
                if (config.template->check(&config, &p, &gpu))
                    fail_msg("%s", config.template->check(&config, &p, &gpu));
                const int before = in_slabs;
                assert_like_template(&config, &p, &gpu);
                assert_true(pack ? in_slabs > before + 3 : in_slabs == before);
            }
    }
}

static struct launch_plan odd_plan;

static void plan_odd(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    (void)config;
    *plan = odd_plan;
    plan->kernel[0].grid[0] = (unsigned)(p->m * p->m % 1009 + 1); /* no tiles */
}

TEST(a_template_that_does_otherwise_serves_the_shape_it_was_tuned_for)
{
    const struct gpu gpu = h200();
    struct config config;
    assert_ok(config_parse(UNALIGNED, &config));
    struct template odd = *config.template;
    struct problem p = problem_make(4096, 4096, 4096);
    struct gt_winner_geometry g;
    struct gt_winner_plan plan;
    const char *entries[3];
    config.template->plan(&config, &p, &odd_plan);
    odd.plan = plan_odd;
    config.template = &odd;
    assert_false(geometry_find(&config, &p, &gpu, &g, entries));
    geometry_plan(&config, &p, &plan, entries);
    assert_int_equal(plan.kernels, 1);
    struct gt_winner_gpu table = {.plans = &plan};
    struct gt_winner w = {
        .m = 4096, .n = 4096, .k = 4096, .batch = 1, .needs = 0x111, .geometry = -1, .plan = 0};
    struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 4096, 4096, 4096);
    struct gt_winner_plan found;
    assert_int_equal(gt_winner_plan_make(&table, &w, &shape, &found), 1);
    assert_memory_equal(&found, &plan, sizeof plan);
    shape = gt_winner_shape_make(0, 0, 4096, 4096, 4095);
    assert_int_equal(gt_winner_plan_make(&table, &w, &shape, &found), 0);
}

/* tall refuses rows that vectors fit, and a formula is probed with these alone. */
TEST(a_template_for_unaligned_rows_alone_serves_the_shape_it_was_tuned_for)
{
    const struct gpu gpu = h200();
    struct config config;
    struct problem p;
    struct gt_winner_geometry g;
    struct gt_winner_plan plan;
    struct launch_plan theirs;
    const char *entries[3];
    assert_ok(config_parse(
        "tall SIDE=1 BM=256 BN=64 BK=21 TM=8 TN=8 STAGES=2 VC=4 UNROLL=10 MIN_BLOCKS=2 SMS=132", &config));
    assert_ok(problem_parse("sgemm:nn:559104x64x147", &p));
    assert_null(config.template->check(&config, &p, &gpu));
    assert_false(geometry_find(&config, &p, &gpu, &g, entries));
    geometry_plan(&config, &p, &plan, entries);
    config.template->plan(&config, &p, &theirs);
    assert_int_equal(plan.kernels, 1);
    assert_int_equal(plan.grid[1][0], 264);
    assert_int_equal(plan.smem_bytes[1], theirs.kernel[0].smem_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_worth_trying_is_launched_for_any_shape_as_its_template_would),
        cmocka_unit_test(a_long_k_of_packed_operands_goes_in_slabs_as_its_template_would),
        cmocka_unit_test(a_template_that_does_otherwise_serves_the_shape_it_was_tuned_for),
        cmocka_unit_test(a_template_for_unaligned_rows_alone_serves_the_shape_it_was_tuned_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
