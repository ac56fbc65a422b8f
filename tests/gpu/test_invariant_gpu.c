/* Invariant problems on a real GPU: the bits of a row of C for several M, with the configurations of both
 * families that are legal, as winners and as what answers other M, or stands in. Skipped (77) without one,
 * and before sm_80.
 */
#include "runtime_gpu.h"

#include "h200.h"
#include "invariant.h"
#include "problem_texts.h"

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
    WGMMA("BM=128 BN=128 BK=64 SWAP=0 CONSUMERS=2 STAGES=3", "WALK=1 STORE=2 SMS=100"),
};

struct layer {
    const char *like; /* a problem but for M */
    int n, k, parts;
};
/* The strides of the batch are those of ROWS_MAX. Alpha, beta and biases round, and more than once. */
static const struct layer layers[] = {
    {"bf16gemm:nt:%dx512x2048:c=f32%s", 512, 2048, 2},
    {"hgemm:nt:%dx6144x1024:c=f32%s", 6144, 1024, 1},
    {"bf16gemm:nn:%dx1000x4200:c=f32%s", 1000, 4200, 2}, /* the last is short */
    {"bf16gemm:nt:%dx512x2048:alpha=0.3:beta=0.7:epilogue=bias+gelu%s", 512, 2048, 2},
    {"hgemm:nt:%dx128x8192:c=f32:alpha=0.3:beta=0.7%s", 128, 8192, 8},
    {"bf16gemm:nn:%dx256x4096:batch=2:stride_a=1363968:stride_c=85248:c=f32:alpha=0.3:epilogue=bias%s", 256,
     4096, 4}};
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
    struct problem largest; /* of ROWS_MAX rows */
    size_t element, bytes;  /* of C; its rows are at the same places for all M */
    struct device_buffer a, longer, b, c, bias;
    unsigned char *before, *want, *got; /* C */
};

/* Elements of magnitudes that make each order of additions another sum. Malloc'ed. */
static void *random_elements(enum element element, int64_t count, unsigned seed)
{
    const size_t size = (size_t)element_bytes(element);
    unsigned char *const out = malloc((size_t)count * size + 1);
    assert_non_null(out);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        const unsigned fraction = seed >> 8 & 0x7f, exponent = seed >> 16 & 7, sign = seed >> 31;
        const uint32_t f32 = sign << 31 | (121 + exponent) << 23 | (seed & 0x7fffff);
        const uint16_t bits =
            (uint16_t)(element == ELEMENT_BF16 ? sign << 15 | (121 + exponent) << 7 | fraction
                                               : sign << 15 | (9 + exponent) << 10 | fraction << 3);
        memcpy(out + (size_t)i * size, element == ELEMENT_F32 ? (const void *)&f32 : (const void *)&bits,
               size);
    }
    return out;
}

static void put_on_device(struct device_buffer *buffer, const void *host, size_t bytes)
{
    assert_ok(device_allocate(buffer, bytes + 1));
    if (bytes > 0) assert_ok(device_check(cuda.MemcpyHtoD(buffer->address, host, bytes), "copy in"));
}

static struct product product_make(const struct layer *layer)
{
    struct product x = {.layer = layer, .largest = problem_for(layer, ROWS_MAX, ":invariant")};
    const struct problem *const p = &x.largest;
    const struct gemm_type_row *const type = gemm_type_row(p->type);
    const size_t row = (size_t)p->k * (size_t)element_bytes(type->a);
    const size_t longer = row + (size_t)element_bytes(type->a);
    unsigned char *const a = random_elements(type->a, problem_span_a(p), 1);
    unsigned char *const b = random_elements(type->b, problem_span_b(p), 2);
    unsigned char *const bias = random_elements(type->c, problem_span_bias(p), 3);
    unsigned char *const a_longer = calloc(ROWS_MAX, longer);
    x.element = (size_t)element_bytes(type->c);
    x.bytes = x.element * (size_t)problem_span_c(p);
    x.before = random_elements(type->c, problem_span_c(p), 4);
    x.want = malloc(x.bytes);
    x.got = malloc(x.bytes);
    assert_true(a_longer && x.want && x.got);
    for (size_t i = 0; i < ROWS_MAX; i++) memcpy(a_longer + i * longer, a + i * row, row);
    put_on_device(&x.a, a, (size_t)problem_span_a(p) * (size_t)element_bytes(type->a));
    put_on_device(&x.longer, a_longer, ROWS_MAX * longer);
    put_on_device(&x.b, b, (size_t)problem_span_b(p) * (size_t)element_bytes(type->b));
    put_on_device(&x.bias, bias, (size_t)problem_span_bias(p) * x.element);
    assert_ok(device_allocate(&x.c, x.bytes));
    if (p->beta == 0) memset(x.before, 0xff, x.bytes); /* NaN */
    free(a);
    free(b);
    free(bias);
    free(a_longer);
    return x;
}

static void product_free(struct product *x)
{
    device_free(&x->a);
    device_free(&x->longer);
    device_free(&x->b);
    device_free(&x->c);
    device_free(&x->bias);
    free(x->before);
    free(x->want);
    free(x->got);
}

/* C, in `to`. config NULL: whichever it is; else the plan must have it. With odd rows A is the one of longer
 * rows. */
static void multiply(struct gt_handle *handle, struct product *x, int m, const char *more,
                     const struct config *config, unsigned char *to)
{
    const struct problem p = problem_for(x->layer, m, more);
    struct gt_problem said = public_problem(&p);
    const float alpha = (float)p.alpha, beta = (float)p.beta;
    const CUdeviceptr a = p.lda > p.k ? x->longer.address : x->a.address;
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    struct gt_call with = gt_call_make(&alpha, (void *)(uintptr_t)a, (void *)(uintptr_t)x->b.address, &beta,
                                       (void *)(uintptr_t)x->c.address, device.stream);
    if (p.beta != 0) said.flags |= GT_ADDS_TO_C;
    if (epilogue_bias(p.epilogue)) with.bias = (void *)(uintptr_t)x->bias.address;
    assert_ok(device_check(cuda.MemcpyHtoD(x->c.address, x->before, x->bytes), "copy in"));
    assert_ok(device_check(cuda.CtxSynchronize(), "wait")); /* a copy from the host may end after its call */
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
    assert_ok(device_check(cuda.MemcpyDtoH(to, x->c.address, x->bytes), "copy out"));
}

/* Elements of the first m rows of each item that differ. If more than a few are as they were before, these
 * were not written, and count, too. */
static int other_bits(const struct product *x, int m)
{
    const struct problem *const p = &x->largest;
    int others = 0, untouched = 0;
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < m * p->n; i++) {
            const size_t at = (size_t)(item * p->stride_c + i) * x->element;
            others += memcmp(x->got + at, x->want + at, x->element) != 0;
            untouched += memcmp(x->got + at, x->before + at, x->element) == 0;
        }
    return others + (untouched > m * p->n * p->batch / 100 ? untouched : 0);
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
        if (of_m)
            print_message("  M %d: %d of %d elements differ\n", rows[r], of_m,
                          rows[r] * x->layer->n * (int)x->largest.batch);
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
        print_message("%s, %d parts\n", layers[l].like, layers[l].parts);
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

/* A winner for one M alone; none; A in rows of another length, which no copy of 16 bytes can read. */
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
        if (x.largest.batch == 1) others += count_others(handle, &x, more, NULL, "rows of odd length");
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
        printf("%s: %d configurations of mma16 and %d of wgmma\n", layers[l].like, mma16, count - mma16);
        if (mma16 < 6 || count - mma16 < 4 || invariant_parts(layers[l].n, layers[l].k) != layers[l].parts)
            return false;
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
