/* How a configuration is launched, as a header says it, against its template. */
#include "described_gpu.h"
#include "export_geometry.h"
#include "family_texts.h"
#include "space.h"
#include "stats.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define UNALIGNED                                                                                            \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=1"

static int in_slabs; /* shapes so far that go through k in slabs */

/* Around a power of two, a limit, or a multiple of a tile, and more or less aligned. */
static int64_t some_size(uint64_t *random, int64_t tile, int64_t limit)
{
    int64_t size = (int64_t)stats_random_below(random, UINT64_C(1) << stats_random_below(random, 22));
    if (tile < 1 << 20 && stats_random_below(random, 3) == 0)
        size = size % 64 * tile + (int64_t)stats_random_below(random, 3) - 1;
    if (limit < 1 << 21 && stats_random_below(random, 3) == 0)
        size = limit - 5 + (int64_t)stats_random_below(random, 8);
    if (stats_random_below(random, 4)) size = (size + 3) / 4 * 4;
    return size < 0 ? 0 : size;
}

/* The formula against the template itself. */
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
    for (int i = 0; i < 300; i++) {
        struct problem p = *tuned;
        if (stats_random_below(&random, 4)) p.m = some_size(&random, g.bm, g.m_max);
        if (stats_random_below(&random, 4)) p.n = some_size(&random, g.bn, g.n_max);
        if (stats_random_below(&random, 4)) p.k = some_size(&random, g.bk, g.k_max);
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
        if (taken && ours.kernels == 0) continue; /* nothing to launch: no rule is broken */
        if (taken && refused) fail_msg("%s must not run %s", text, problem);
        struct problem item = p;
        item.batch = 1;
        const int64_t most = (int64_t)g.workspace_mib << 20;
        struct launch_plan plan;
        config->template->plan(config, &item, &plan);
        const bool fits = !refused && plan.workspace_bytes <= most;
        if (p.m == 0 || p.n == 0 || (p.k == 0 && g.k_min > 0)) continue; /* needs no tuned kernel */
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
        "sgemm:nn:512x512x512", "sgemm:nt:8x4096x4096",
        "sgemm:tn:4096x4x1000", "sgemm:tt:1023x1025x1027",
        "sgemm:nn:3x333x4095",  "sgemm:nn:32x100000x27",
        "sgemm:tn:64x64x65536", "sgemm:nt:1000x1000x1000:epilogue=bias+gelu"};
    static const char *const others[] = {"l40s", "t4", "a100"};
    const size_t count = sizeof problems / sizeof *problems;
    struct space *space;
    uint64_t random = 1;
    int resident = 0, skinny = 0;
    assert_ok(space_load_all(GT_SOURCE_DIR "/configs/spaces", &space));
    for (size_t i = 0; i < count + 3; i++) {
        const struct gpu gpu = gpu_of(i < count ? "h200" : others[i - count]);
        struct problem p;
        struct candidates c;
        assert_ok(problem_parse(problems[i % count], &p));
        assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT_BYTES, &c));
        for (int drawn = 0; drawn < 60;) {
            const struct config *config = &c.config[stats_random_below(&random, c.count)];
            if (strcmp(config->template->name, "tall") == 0 || strcmp(config->template->name, "streamk") == 0)
                continue; /* see below */
            drawn++;
            assert_like_template(config, &p, &gpu);
            resident += strcmp(config->template->name, "resident") == 0;
            skinny += strcmp(config->template->name, "skinny") == 0;
        }
        candidates_free(&c);
    }
    assert_true(resident > 5 && skinny > 20);
    space_free(space);
}

TEST(products_on_tensor_cores_are_launched_for_any_shape_as_their_template_would)
{
    static const char *const problems[] = {"tf32gemm:nn:512x512x512", "tf32gemm:tt:1023x1025x1027",
                                           "tf32gemm:tn:64x64x65536"};
    struct space *space;
    uint64_t random = 1;
    assert_ok(space_load(GT_SOURCE_DIR "/configs/spaces/mma.conf", &space));
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct gpu gpu = h200();
        struct problem p;
        struct candidates c;
        assert_ok(problem_parse(problems[i], &p));
        assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT_BYTES, &c));
        assert_in_range(c.count, 300, 5000);
        for (int j = 0; j < 40; j++)
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

TEST(an_epilogue_refuses_what_would_go_in_slabs)
{
    const struct gpu gpu = h200();
    struct config config;
    struct problem p;
    assert_ok(problem_parse("sgemm:nn:512x512x512:epilogue=relu", &p));
    assert_ok(config_parse(UNALIGNED, &config));
    assert_true(config_set(&config, "PACK", 3));
    const int before = in_slabs;
    assert_like_template(&config, &p, &gpu);
    assert_int_equal(in_slabs, before);
}

/* A legal configuration has no formula: the plan of the problem that it was tuned for, of one kernel. */
static struct gt_winner_plan plan_without_formula(const struct config *config, const struct problem *p,
                                                  const struct gpu *gpu)
{
    struct gt_winner_geometry g;
    struct gt_winner_plan plan;
    const char *entries[3];
    assert_null(config->template->check(config, p, gpu));
    assert_false(geometry_find(config, p, gpu, &g, entries));
    geometry_plan(config, p, &plan, entries);
    assert_int_equal(plan.kernels, 1);
    return plan;
}

TEST(a_template_that_declares_nothing_serves_the_shape_it_was_tuned_for)
{
    const struct gpu gpu = h200();
    struct config config;
    struct template odd;
    const struct problem p = problem_make(4096, 4096, 4096);
    assert_ok(config_parse(UNALIGNED, &config));
    odd = *config.template;
    odd.geometry = NULL;
    config.template = &odd;
    const struct gt_winner_plan plan = plan_without_formula(&config, &p, &gpu);
    assert_int_equal(geometry_needs(&config, &p, &gpu), 0x444); /* as aligned as its own problem */
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

/* tall refuses rows that vectors fit, which no formula says. */
TEST(a_template_for_unaligned_rows_alone_serves_the_shape_it_was_tuned_for)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_of("sgemm:nn:559104x64x147");
    struct config config;
    struct launch_plan theirs;
    assert_ok(config_parse(
        "tall SIDE=1 BM=256 BN=64 BK=21 TM=8 TN=8 STAGES=2 VC=4 UNROLL=10 MIN_BLOCKS=2 SMS=132", &config));
    const struct gt_winner_plan plan = plan_without_formula(&config, &p, &gpu);
    config.template->plan(&config, &p, &theirs);
    assert_int_equal(plan.grid[1][0], 264);
    assert_int_equal(plan.smem_bytes[1], theirs.kernel[0].smem_bytes);
    assert_int_equal(geometry_needs(&config, &p, &gpu), 0x411); /* a row of C is read four at a time */
}

/* streamk has as many blocks as the GPU holds, whatever the shape; no formula says how they share a batch. */
TEST(a_template_whose_blocks_share_all_tiles_serves_the_shape_it_was_tuned_for)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_of("sgemm:nt:2048x6144x4096");
    struct config config;
    struct launch_plan theirs;
    assert_ok(config_parse(STREAMK_BASE, &config));
    const struct gt_winner_plan plan = plan_without_formula(&config, &p, &gpu);
    config.template->plan(&config, &p, &theirs);
    assert_int_equal(plan.grid[1][0], 264);
    assert_int_equal(plan.splits, 264);
    assert_int_equal(plan.counters, theirs.counters);
    assert_int_equal(plan.workspace_bytes, theirs.workspace_bytes);
    assert_int_equal(geometry_needs(&config, &p, &gpu), 0x444);
}

/* ---- a family with an argument of its own ---- */

struct own_args {
    const float *a;
    float *c;
    int32_t group;
    int64_t k_per_split;
    int32_t splits;
};

#define OWN(member)                                                                                          \
    {                                                                                                        \
        offsetof(struct own_args, member), sizeof((struct own_args *)0)->member                              \
    }
static const struct launch_block own_block = {.bytes = sizeof(struct own_args),
                                              .field = {[VALUE_A] = OWN(a),
                                                        [VALUE_C] = OWN(c),
                                                        [VALUE_SPLITS] = OWN(splits),
                                                        [VALUE_GROUP] = OWN(group),
                                                        [VALUE_K_PER_SPLIT] = OWN(k_per_split)}};
static const struct launch_block no_split_block = {.bytes = sizeof(struct own_args),
                                                   .field = {[VALUE_A] = OWN(a), [VALUE_C] = OWN(c)}};

/* Kernels and grids of simt. */
static void own_plan(const struct config *config, const struct problem *problem, struct launch_plan *plan)
{
    const struct own_args args = {.group = 3, .k_per_split = 512, .splits = 8};
    template_find("simt")->plan(config, problem, plan);
    plan->argument_bytes = sizeof args;
    memcpy(plan->argument, &args, sizeof args);
}

TEST(a_plan_is_told_from_an_argument_of_any_layout)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_make(4096, 4096, 4096);
    struct config config;
    struct gt_winner_plan plan;
    const char *entries[3];
    assert_ok(config_parse(UNALIGNED, &config));
    struct template odd = *config.template;
    odd.geometry = NULL;
    odd.plan = own_plan;
    odd.block = &own_block;
    config.template = &odd;
    assert_true(geometry_is_told(&config, &p, &gpu));
    geometry_plan(&config, &p, &plan, entries);
    assert_int_equal(plan.splits, 8);
    assert_int_equal(plan.k_per_split, 512);
    assert_int_equal(plan.group, 3);
    odd.block = &no_split_block; /* kernels that are not told do not cut k */
    geometry_plan(&config, &p, &plan, entries);
    assert_int_equal(plan.splits, 1);
    assert_int_equal(plan.k_per_split, 4096);
    assert_int_equal(plan.group, 1);
}

TEST(a_template_that_tells_nothing_of_its_argument_is_not_told)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_make(4096, 4096, 4096);
    struct config config;
    assert_ok(config_parse(UNALIGNED, &config));
    struct template odd = *config.template;
    odd.block = NULL;
    config.template = &odd;
    assert_true(geometry_is_told(&config, &p, &gpu)); /* by its geometry */
    odd.geometry = NULL;
    assert_false(geometry_is_told(&config, &p, &gpu));
    for (size_t i = 0; i < template_count; i++)
        assert_true(templates[i]->geometry || templates[i]->block || template_is_library(templates[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_told_from_an_argument_of_any_layout),
        cmocka_unit_test(a_template_that_tells_nothing_of_its_argument_is_not_told),
        cmocka_unit_test(what_is_worth_trying_is_launched_for_any_shape_as_its_template_would),
        cmocka_unit_test(products_on_tensor_cores_are_launched_for_any_shape_as_their_template_would),
        cmocka_unit_test(a_long_k_of_packed_operands_goes_in_slabs_as_its_template_would),
        cmocka_unit_test(an_epilogue_refuses_what_would_go_in_slabs),
        cmocka_unit_test(a_template_that_declares_nothing_serves_the_shape_it_was_tuned_for),
        cmocka_unit_test(a_template_for_unaligned_rows_alone_serves_the_shape_it_was_tuned_for),
        cmocka_unit_test(a_template_whose_blocks_share_all_tiles_serves_the_shape_it_was_tuned_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
