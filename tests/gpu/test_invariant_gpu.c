/* Invariant problems on a real GPU: the bits of a row of C for several M, with the configurations of both
 * families that are legal, as winners and as what answers other M, or stands in. Skipped (77) without one,
 * and before sm_80.
 */
#include "runtime_gpu.h"

#include "h200.h"
#include "invariant.h"
#include "problem_texts.h"

#include <math.h>

static const struct gpu h200 = {H200_LIMITS};

enum { ROWS_MAX = 333, CONFIGS_MAX = 24 };

static const int rows[] = {1, 8, 64, ROWS_MAX};
enum { ROWS = sizeof rows / sizeof *rows };

/* %d: the parts of k, and who adds them. */
#define MMA16(tile, more)                                                                                    \
    "mma16 " tile " WARPS_K=1 MIN_BLOCKS=1 GROUP=1 PDL=0 ASK=0 " more " REDUCE=%d SPLIT_K=%d"
#define WGMMA(tile, more)                                                                                    \
    "wgmma " tile " PACK=0 VC=4 MIN_BLOCKS=1 GROUP=1 PDL=0 " more " REDUCE=%d SPLIT_K=%d"
#define WIDE "VA=8 VB=8 VC=4 PACK=0"

static const char *const layouts[] = {
    MMA16("BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 STAGES=4 PRELOAD=1", WIDE),
    MMA16("BM=128 BN=128 BK=64 WM=64 WN=32 SWAP=0 STAGES=3 PRELOAD=1", WIDE),
    MMA16("BM=16 BN=64 BK=64 WM=16 WN=16 SWAP=0 STAGES=4 PRELOAD=0", WIDE),
    MMA16("BM=8 BN=64 BK=128 WM=8 WN=16 SWAP=1 STAGES=4 PRELOAD=1", WIDE),
    MMA16("BM=64 BN=64 BK=32 WM=32 WN=32 SWAP=0 STAGES=4 PRELOAD=0", "VA=1 VB=2 VC=1 PACK=0"),
    MMA16("BM=64 BN=64 BK=64 WM=32 WN=32 SWAP=0 STAGES=4 PRELOAD=1", "VA=8 VB=8 VC=4 PACK=3"),
    WGMMA("BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4", "WALK=0 STORE=0 SMS=1"),
    WGMMA("BM=128 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=4", "WALK=0 STORE=0 SMS=1"),
    WGMMA("BM=8 BN=128 BK=64 SWAP=1 CONSUMERS=2 STAGES=4", "WALK=0 STORE=0 SMS=1"),
    WGMMA("BM=64 BN=48 BK=128 SWAP=0 CONSUMERS=1 STAGES=4", "WALK=0 STORE=0 SMS=1"),
    WGMMA("BM=128 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=3", "WALK=1 STORE=0 SMS=100"),
    WGMMA("BM=128 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4", "WALK=0 STORE=4 SMS=1"),
};

struct layer {
    const char *like; /* a problem but for M */
    int n, k;
};
static const struct layer layers[] = {
    {"bf16gemm:nt:%dx512x2048:c=f32%s", 512, 2048},    /* 2 parts */
    {"hgemm:nt:%dx6144x1024:c=f32%s", 6144, 1024},     /* 1 */
    {"bf16gemm:nn:%dx1000x4200:c=f32%s", 1000, 4200}}; /* 2, the last short */
enum { LAYERS = sizeof layers / sizeof *layers };

static struct problem problem_for(const struct layer *layer, int m, const char *more)
{
    char text[PROBLEM_TEXT_MAX];
    snprintf(text, sizeof text, layer->like, m, more);
    return problem_of(text);
}

/* Those that are legal for all M, of as many families as the GPU has. */
static int legal_for(const struct layer *layer, const struct gpu *gpu, struct config list[CONFIGS_MAX])
{
    const int parts = invariant_parts(layer->n, layer->k);
    int count = 0;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (int reduce = 1; reduce <= parts; reduce += parts > 1 ? parts - 1 : 1) {
            char text[CONFIG_TEXT_MAX];
            const char *why = NULL;
            snprintf(text, sizeof text, layouts[i], reduce,
                     parts); // NOLINT(clang-diagnostic-format-nonliteral)
            assert_ok(config_parse(text, &list[count]));
            for (int r = 0; r < ROWS && !why; r++) {
                const struct problem p = problem_for(layer, rows[r], ":invariant");
                why = list[count].template->check(&list[count], &p, gpu);
            }
            if (!why) count++;
        }
    return count;
}

/* ---- on the GPU ---- */

struct product {
    const struct layer *layer;
    struct device_buffer a, b, c;
    float *want, *got;
};

/* FP16 and BF16 alike have 8 bits of fraction; of magnitudes that make each order of additions another sum.
 */
static void fill(struct device_buffer *buffer, size_t count, bool bf16, unsigned seed)
{
    uint16_t *const host = malloc(2 * count);
    assert_non_null(host);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        const unsigned fraction = seed >> 8 & 0x7f, exponent = seed >> 16 & 7, sign = seed >> 31;
        host[i] = (uint16_t)(bf16 ? sign << 15 | (121 + exponent) << 7 | fraction
                                  : sign << 15 | (9 + exponent) << 10 | fraction << 3);
    }
    assert_ok(device_allocate(buffer, 2 * count));
    assert_ok(device_check(cuda.MemcpyHtoD(buffer->address, host, 2 * count), "copy in"));
    free(host);
}

static struct product product_make(const struct layer *layer)
{
    struct product x = {.layer = layer};
    const bool bf16 = layer->like[0] == 'b';
    const size_t bytes = sizeof(float) * ROWS_MAX * (size_t)layer->n;
    fill(&x.a, ROWS_MAX * ((size_t)layer->k + 8), bf16, 1); /* room for longer rows */
    fill(&x.b, (size_t)layer->n * (size_t)layer->k, bf16, 2);
    assert_ok(device_allocate(&x.c, bytes));
    x.want = malloc(bytes);
    x.got = malloc(bytes);
    assert_true(x.want && x.got);
    return x;
}

static void product_free(struct product *x)
{
    device_free(&x->a);
    device_free(&x->b);
    device_free(&x->c);
    free(x->want);
    free(x->got);
}

/* Rows of C, in `to`. config NULL: whichever it is; else the plan must have it. */
static void multiply(struct gt_handle *handle, struct product *x, int m, const char *more,
                     const struct config *config, float *to)
{
    const struct problem p = problem_for(x->layer, m, more);
    const struct gt_problem said = public_problem(&p);
    const float one = 1, zero = 0;
    const size_t bytes = sizeof(float) * (size_t)m * (size_t)x->layer->n;
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    struct gt_call with = gt_call_make(&one, (void *)(uintptr_t)x->a.address, (void *)(uintptr_t)x->b.address,
                                       &zero, (void *)(uintptr_t)x->c.address, device.stream);
    assert_ok(device_check(cuda.MemsetD8Async(x->c.address, 0xff, bytes, device.stream), "overwrite C"));
    assert_gt(gt_plan_open(handle, &said, &plan), "gt_plan_open");
    assert_gt(gt_launch(plan, &with), "gt_launch");
    assert_gt(gt_plan_describe(plan, &info), "gt_plan_describe");
    assert_ok(device_check(cuda.CtxSynchronize(), "wait"));
    if (p.invariant && info.uses_cublas) fail_msg("M %d: cuBLAS computed it", m);
    if (config) {
        char text[CONFIG_TEXT_MAX];
        config_format(config, text);
        if (info.source != GT_EXACT || strcmp(info.config, text) != 0)
            fail_msg("M %d: %s instead of %s: %s", m, info.config, text, info.why);
    }
    gt_plan_close(plan);
    assert_ok(device_check(cuda.MemcpyDtoH(to, x->c.address, bytes), "copy out"));
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        if (isnan(to[i])) fail_msg("M %d: element %zu of C was not written", m, i);
}

static int other_bits(const struct product *x, int m)
{
    int others = 0;
    for (int i = 0; i < m * x->layer->n; i++) others += memcmp(&x->got[i], &x->want[i], sizeof *x->got) != 0;
    return others;
}

/* Winners for these M, in place of those that were there. */
static void write_winners(const struct layer *layer, const struct config *config, const int *ms, int count)
{
    char text[PROBLEM_TEXT_MAX], config_text[CONFIG_TEXT_MAX];
    FILE *file = fopen(in_folder("test.jsonl"), "w");
    assert_non_null(file);
    config_format(config, config_text);
    for (int i = 0; i < count; i++) {
        const struct problem p = problem_for(layer, ms[i], ":invariant");
        problem_format(&p, text);
        fprintf(file,
                "{\"problem\": \"%s\", \"gpu\": \"%s\", \"arch\": %d, \"sm_count\": %d, \"config\": \"%s\", "
                "\"template_hash\": \"%016" PRIx64 "\", \"time_us\": 10, \"cublas_us\": 5, \"ratio\": 0.5, "
                "\"exact\": true}\n",
                text, device.gpu.name, device.gpu.arch, device.gpu.sm_count, config_text,
                kernel_hash_of(config, &p, device.gpu.arch));
    }
    assert_int_equal(fclose(file), 0);
}

/* All are tried before the test fails, so that one run says which are alike. */
static int count_others(struct gt_handle *handle, struct product *x, const char *more,
                        const struct config *config, const char *who)
{
    int others = 0;
    for (int r = 0; r < ROWS; r++) {
        multiply(handle, x, rows[r], more, config, x->got);
        const int of_m = other_bits(x, rows[r]);
        if (of_m) print_message("  M %d: %d of %d elements differ\n", rows[r], of_m, rows[r] * x->layer->n);
        others += of_m;
    }
    print_message("%s %.100s\n", others ? "OTHER BITS" : "same bits ", who);
    return others;
}

TEST(a_row_has_the_same_bits_for_every_m_and_every_legal_configuration)
{
    int others = 0;
    for (int l = 0; l < LAYERS; l++) {
        struct config list[CONFIGS_MAX];
        struct product x = product_make(&layers[l]);
        const int count = legal_for(&layers[l], &device.gpu, list);
        print_message("N %d, K %d, %d parts\n", layers[l].n, layers[l].k,
                      invariant_parts(layers[l].n, layers[l].k));
        for (int i = 0; i < count; i++) {
            char text[CONFIG_TEXT_MAX];
            config_format(&list[i], text);
            write_winners(&layers[l], &list[i], rows, ROWS);
            struct gt_handle *handle = open_handle(0);
            if (i == 0) multiply(handle, &x, ROWS_MAX, ":invariant", &list[i], x.want);
            others += count_others(handle, &x, ":invariant", &list[i], text);
            gt_close(handle);
        }
        product_free(&x);
    }
    assert_int_equal(others, 0);
}

/* A winner for one M alone; none; rows of another length, which no copy of 16 bytes can read. */
TEST(what_answers_without_a_winner_has_the_bits_of_the_winner)
{
    int others = 0;
    for (int l = 0; l < LAYERS; l++) {
        struct config list[CONFIGS_MAX];
        struct product x = product_make(&layers[l]);
        const int count = legal_for(&layers[l], &device.gpu, list), only = 64;
        write_winners(&layers[l], &list[count - 1], &only, 1);
        struct gt_handle *handle = open_handle(0);
        multiply(handle, &x, ROWS_MAX, ":invariant", NULL, x.want);
        others += count_others(handle, &x, ":invariant", NULL, "answers of other M");
        gt_close(handle);
        assert_int_equal(unlink(in_folder("test.jsonl")), 0);
        handle = open_handle(0);
        others += count_others(handle, &x, ":invariant", NULL, "nothing was tuned");
        count_others(handle, &x, "", NULL, "(not invariant, for comparison)");
        char more[64];
        snprintf(more, sizeof more, ":lda=%d:invariant", layers[l].k + 1);
        multiply(handle, &x, ROWS_MAX, more, NULL, x.want);
        others += count_others(handle, &x, more, NULL, "rows of odd length");
        gt_close(handle);
        product_free(&x);
    }
    assert_int_equal(others, 0);
}

/* On any machine: the lists above hold something for an H200. */
static bool lists_are_legal(void)
{
    for (int l = 0; l < LAYERS; l++) {
        struct config list[CONFIGS_MAX];
        int mma16 = 0;
        const int count = legal_for(&layers[l], &h200, list);
        for (int i = 0; i < count; i++) mma16 += strcmp(list[i].template->name, "mma16") == 0;
        printf("N %d, K %d: %d configurations of mma16 and %d of wgmma\n", layers[l].n, layers[l].k, mma16,
               count - mma16);
        if (mma16 < 6 || count - mma16 < 4) return false;
    }
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_the_same_bits_for_every_m_and_every_legal_configuration),
        cmocka_unit_test(what_answers_without_a_winner_has_the_bits_of_the_winner)};
    if (!lists_are_legal()) return 1;
    if (no_gpu()) return SKIPPED;
    if (device_open(0, &device)) return 1;
    const bool old = device.gpu.arch < 80;
    device_close(&device);
    if (old) return SKIPPED;
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
