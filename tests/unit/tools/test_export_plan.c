/* What a header says of a winner, against its template: which shapes it fits, its plan, and which leading
 * dimensions and strides the plan may be changed to. */
#include "described_gpu.h"
#include "export_plan.h"
#include "family_texts.h"
#include "space.h"
#include "stats.h"
#include "unit.h"
#include "workspace.h"

#include <stddef.h>
#include <stdlib.h>

#define UNALIGNED                                                                                            \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K=1"

static const char *why_not(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    return config->template->check(config, p, gpu);
}

static void assert_same_plan(const struct launch_plan *x, const struct launch_plan *y, const char *config)
{
    char *text[2];
    for (int i = 0; i < 2; i++) {
        size_t length;
        FILE *stream = open_memstream(&text[i], &length);
        plan_write(i ? y : x, stream);
        fclose(stream);
    }
    if (strcmp(text[0], text[1]) != 0) fail_msg("%s:\n%s\nnot\n%s", config, text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

/* Sizes up to those of the winner fit, the next one does not; operands fit as they are aligned. */
static void assert_fits(const struct config *config, const struct problem *tuned, const struct gpu *gpu)
{
    const struct gt_winner w = plan_winner(config, tuned, gpu);
    const struct gt_winner_shape own = plan_shape(tuned);
    assert_int_equal(gt_winner_fits(&w, &own), 1);
    for (int i = 0; i < 3; i++) {
        struct problem most = *tuned;
        int64_t *const size[3] = {&most.m, &most.n, &most.k}, *const ld[3] = {&most.lda, &most.ldb,
                                                                              &most.ldc};
        const int64_t tuned_ld = *ld[i];
        *size[i] = w.most[i];
        assert_null(why_not(config, &most, gpu));
        *size[i] += 16; /* as aligned */
        if (*size[i] <= PROBLEM_DIM_MAX) assert_non_null(why_not(config, &most, gpu));
        most = *tuned;
        for (int width = 1; width <= 4; width *= 2) {
            *ld[i] = tuned_ld / 4 * 4 + 64 + width;
            most.stride_c = most.m * most.ldc; /* or the items overlap */
            const struct gt_winner_shape shape = plan_shape(&most);
            if (gt_winner_fits(&w, &shape)) assert_null(why_not(config, &most, gpu));
            else assert_non_null(why_not(config, &most, gpu));
        }
    }
}

/* The plan of one problem, changed to other lengths, is that of another problem. */
static void assert_relengthened(const struct config *config, const struct problem *tuned,
                                const struct gpu *gpu)
{
    struct planned planned, other;
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    assert_ok(plan_make(config, tuned, gpu, &planned));
    uint64_t random = config_hash(config);
    for (int i = 0; i < 8; i++) {
        struct problem p = *tuned;
        int64_t *const lengths[] = {&p.lda,      &p.ldb,      &p.ldc,        &p.stride_a,
                                    &p.stride_b, &p.stride_c, &p.stride_bias};
        int64_t wanted[LAUNCH_LENGTHS];
        struct launch_plan ours = planned.plan;
        for (int j = 0; j < LAUNCH_LENGTHS; j++) {
            const int64_t needs = j == LAUNCH_STRIDE_BIAS ? 1 : planned.aligned >> 4 * (j % 3) & 15;
            const bool changed = stats_random_below(&random, 2) && (j != LAUNCH_STRIDE_BIAS || p.epilogue);
            if (changed)
                *lengths[j] = (*lengths[j] / needs + 1 + (int64_t)stats_random_below(&random, 9999)) * needs;
            wanted[j] = *lengths[j];
        }
        if (why_not(config, &p, gpu)) continue; /* tall takes no other alignment */
        assert_true(launch_relength(&ours, &planned.lengths, wanted));
        assert_ok(plan_make(config, &p, gpu, &other));
        assert_same_plan(&ours, &other.plan, text);
    }
}

static void assert_exported(const char *spaces, const char *problem, const char *gpu_name, int count)
{
    const struct gpu gpu = gpu_of(gpu_name);
    const struct problem p = problem_of(problem);
    struct space *space;
    struct candidates c;
    uint64_t random = 1;
    if (strstr(spaces, ".conf")) assert_ok(space_load(spaces, &space));
    else assert_ok(space_load_all(spaces, &space));
    assert_ok(space_enumerate(space, &p, &gpu, WORKSPACE_DEFAULT, &c));
    for (int i = 0; i < count; i++) {
        const struct config *config = &c.config[stats_random_below(&random, c.count)];
        assert_fits(config, &p, &gpu);
        assert_relengthened(config, &p, &gpu);
    }
    candidates_free(&c);
    space_free(space);
}

TEST(what_is_worth_trying_fits_and_is_planned_as_its_template_says)
{
    static const char *const problems[] = {"sgemm:nn:512x512x512",
                                           "sgemm:nt:8x4096x4096",
                                           "sgemm:tn:4096x4x1000",
                                           "sgemm:tt:1023x1025x1027",
                                           "sgemm:nn:3x333x4095",
                                           "sgemm:nn:32x100000x27",
                                           "sgemm:tn:64x64x65536",
                                           "sgemm:nt:1000x1000x1000:epilogue=bias+gelu",
                                           "sgemm:nn:64x64x64:batch=100000",
                                           "sgemm:nt:64x64x64:batch=500:stride_a=0:epilogue=bias+out",
                                           "sgemm:nn:559104x64x147"};
    static const char *const others[] = {"l40s", "t4", "a100"};
    const size_t count = sizeof problems / sizeof *problems;
    for (size_t i = 0; i < count + 3; i++)
        assert_exported(GT_SOURCE_DIR "/configs/spaces", problems[i % count],
                        i < count ? "h200" : others[i - count], 12);
}

TEST(products_on_tensor_cores_fit_and_are_planned_as_their_template_says)
{
    static const char *const problems[] = {"tf32gemm:nn:512x512x512", "tf32gemm:tt:1023x1025x1027",
                                           "tf32gemm:tn:64x64x65536"};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        assert_exported(GT_SOURCE_DIR "/configs/spaces/mma.conf", problems[i], "h200", 12);
    static const char *const of_16_bits[] = {"bf16gemm:nn:512x512x512", "hgemm:tt:1023x1025x1027:c=f32",
                                             "hgemm:tn:64x64x65536:batch=3"};
    for (size_t i = 0; i < sizeof of_16_bits / sizeof *of_16_bits; i++)
        assert_exported(GT_SOURCE_DIR "/configs/spaces/mma16.conf", of_16_bits[i], "h200", 12);
    static const char *const thin[] = {"bf16gemm:nt:8x512x512", "hgemm:tt:1023x25x1027:c=f32:batch=3"};
    for (size_t i = 0; i < sizeof thin / sizeof *thin; i++)
        assert_exported(GT_SOURCE_DIR "/configs/spaces/gemv16.conf", thin[i], "h200", 12);
}

TEST(the_steps_of_a_plan_in_slabs_follow_its_leading_dimensions)
{
    static const char *const problems[] = {"sgemm:nn:8192x8192x8192", "sgemm:tt:8192x8192x8192",
                                           "sgemm:nt:64x20000x30000", "sgemm:tn:30000x40x20001:batch=3"};
    const struct gpu gpu = h200();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem p = problem_of(problems[i]);
        struct planned planned;
        struct config config;
        assert_ok(config_parse(UNALIGNED, &config));
        assert_true(config_set(&config, "PACK", 3));
        assert_null(why_not(&config, &p, &gpu));
        assert_ok(plan_make(&config, &p, &gpu, &planned));
        assert_true(planned.plan.k_slab > 0);
        assert_fits(&config, &p, &gpu);
        assert_relengthened(&config, &p, &gpu);
    }
}

/* ---- families with an argument of their own ---- */

struct own_args {
    const void *a, *b;
    void *c;
    int64_t ldc, lda;
    int32_t ldb, k; /* too narrow for what a header changes */
    float alpha, beta;
};

#define AT_MAP_A 64

/* A cluster of two blocks that reads A by a tensor map, and B and C by pointers. */
static void own_plan(const struct config *config, const struct problem *p, struct launch_plan *plan)
{
    const struct own_args args = {.lda = p->lda, .ldb = (int32_t)p->ldb, .ldc = p->ldc, .k = (int32_t)p->k};
    const int64_t bytes = 2;
    (void)config;
    launch_plan_clear(plan);
    plan->kernels = 1;
    plan->kernel[0] = (struct kernel_launch){.entry = "gemm",
                                             .grid = {4, 1, 1},
                                             .threads = 128,
                                             .smem_bytes = 1024,
                                             .cluster = {2, 1, 1},
                                             .cluster_at_launch = true};
    plan->batch = p->batch;
    plan->k = p->k;
    plan->batch_per_launch = 1;
    plan->batch_step_bytes[LAUNCH_A] = bytes * p->stride_a;
    plan->batch_step_bytes[LAUNCH_B] = bytes * p->stride_b;
    plan->batch_step_bytes[LAUNCH_C] = plan->batch_step_bytes[OPERAND_SOURCE] = bytes * p->stride_c;
    plan->slots = (struct launch_slots){.at = {offsetof(struct own_args, a), offsetof(struct own_args, b),
                                               offsetof(struct own_args, c), LAUNCH_NOWHERE, LAUNCH_NOWHERE},
                                        .workspace = LAUNCH_NOWHERE,
                                        .alpha_device = LAUNCH_NOWHERE,
                                        .beta_device = LAUNCH_NOWHERE,
                                        .alpha = offsetof(struct own_args, alpha),
                                        .beta = offsetof(struct own_args, beta),
                                        .k = LAUNCH_NOWHERE,
                                        .items = LAUNCH_NOWHERE};
    plan->views = 1;
    memset(&plan->view[0], 0, sizeof plan->view[0]);
    plan->view[0] = (struct tensor_view){.operand = LAUNCH_A,
                                         .element = ELEMENT_BF16,
                                         .rank = 2,
                                         .extent = {p->k, p->m},
                                         .stride_bytes = {bytes, bytes * p->lda},
                                         .box = {64, 64},
                                         .swizzle_bytes = 128,
                                         .k_axis = 0,
                                         .batch_axis = -1,
                                         .at = AT_MAP_A};
    plan->argument_bytes = AT_MAP_A + LAUNCH_VIEW_BYTES;
    memset(plan->argument, 0, (size_t)plan->argument_bytes);
    memcpy(plan->argument, &args, sizeof args);
}

static const char *own_check(const struct config *config, const struct problem *p, const struct gpu *gpu)
{
    (void)config, (void)gpu;
    if (problem_align_a(p) < 8) return "a tensor map needs rows of 16 bytes";
    return problem_align_c(p) < 2 ? "pairs of C are stored" : NULL;
}

TEST(a_tensor_map_fixes_the_lengths_in_it_and_pointers_leave_theirs_free)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_of("bf16gemm:nn:512x512x512:batch=3:lda=1024");
    struct config config;
    struct planned planned;
    assert_ok(config_parse(UNALIGNED, &config));
    struct template own = *config.template;
    own.plan = own_plan;
    own.check = own_check;
    config.template = &own;
    assert_ok(plan_make(&config, &p, &gpu, &planned));
    /* ldb is passed in 4 bytes; there is no bias. */
    static const int32_t at[LAUNCH_LENGTHS] = {[LAUNCH_LDA] = LAUNCH_FIXED,
                                               [LAUNCH_LDB] = LAUNCH_FIXED,
                                               [LAUNCH_LDC] = offsetof(struct own_args, ldc),
                                               [LAUNCH_STRIDE_A] = LAUNCH_UNTOLD,
                                               [LAUNCH_STRIDE_B] = LAUNCH_UNTOLD,
                                               [LAUNCH_STRIDE_C] = LAUNCH_UNTOLD,
                                               [LAUNCH_STRIDE_BIAS] = LAUNCH_FIXED};
    for (int i = 0; i < LAUNCH_LENGTHS; i++) assert_int_equal(planned.lengths.at[i], at[i]);
    for (int i = 0; i < 3; i++) assert_int_equal(planned.lengths.bytes[i], 2);
    const struct gt_winner w = plan_winner(&config, &p, &gpu);
    assert_int_equal(w.align, 0x888);
    assert_int_equal(w.needs, 0x218);
    struct launch_plan changed = planned.plan;
    int64_t wanted[LAUNCH_LENGTHS];
    memcpy(wanted, planned.lengths.planned, sizeof wanted);
    wanted[LAUNCH_STRIDE_A] += 8;
    assert_true(launch_relength(&changed, &planned.lengths, wanted));
    assert_int_equal(changed.batch_step_bytes[LAUNCH_A], planned.plan.batch_step_bytes[LAUNCH_A] + 16);
    wanted[LAUNCH_LDA] += 8;
    assert_false(launch_relength(&changed, &planned.lengths, wanted));
}

/* The rules of mma16 look at the distance of rows, not at their length. */
TEST(addresses_are_as_aligned_as_the_vectors_however_long_the_rows_are)
{
    const struct gpu gpu = gpu_of("h200");
    const struct problem p = problem_of("bf16gemm:nn:64x60x60:lda=64:ldb=64:ldc=64");
    struct config config;
    struct planned planned;
    assert_ok(config_parse(
        "mma16 BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=1 PACK=0 VA=8 VB=8 "
        "VC=8 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=1",
        &config));
    assert_null(why_not(&config, &p, &gpu));
    assert_ok(plan_make(&config, &p, &gpu, &planned));
    assert_int_equal(planned.aligned, 0x888);
}

TEST(what_serves_unaligned_rows_alone_is_planned_for_its_own_shape)
{
    const struct gpu gpu = h200();
    const struct problem p = problem_of("sgemm:nn:559104x64x147");
    struct config config;
    struct planned planned;
    assert_ok(config_parse(
        "tall SIDE=1 BM=256 BN=64 BK=21 TM=8 TN=8 STAGES=2 VC=4 UNROLL=10 MIN_BLOCKS=2 SMS=132", &config));
    assert_ok(plan_make(&config, &p, &gpu, &planned));
    assert_int_equal(planned.plan.kernel[0].grid[0], 264);
    assert_int_equal(plan_winner(&config, &p, &gpu).needs, 0x411); /* a row of C is read four at a time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_worth_trying_fits_and_is_planned_as_its_template_says),
        cmocka_unit_test(products_on_tensor_cores_fit_and_are_planned_as_their_template_says),
        cmocka_unit_test(the_steps_of_a_plan_in_slabs_follow_its_leading_dimensions),
        cmocka_unit_test(a_tensor_map_fixes_the_lengths_in_it_and_pointers_leave_theirs_free),
        cmocka_unit_test(addresses_are_as_aligned_as_the_vectors_however_long_the_rows_are),
        cmocka_unit_test(what_serves_unaligned_rows_alone_is_planned_for_its_own_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
