/* Prepared operands on a real GPU: the bits of the product without, also in a graph, for another M, and after
 * the matrix was changed; and how much faster they are. Skipped (77) without one, and but on sm_90.
 */
#include "runtime_gpu.h"

#define CONFIG "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define OTHER  "bf16x6 BM=128 BN=64 BK=64 STAGES=6 FUSE=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define HALF   "bf16x6 BM=128 BN=128 BK=64 STAGES=6 FUSE=2 SWAP=0 VA=1 VB=1 VC=2 GROUP=8 SPLIT_K=1 SMS=132"
#define ERRORS "{\"componentwise\": 1e-7, \"rms\": 1e-7, \"max\": 1e-7}"
#define ROUNDS 9

#define OF_ITS_OWN "sgemm_accurate:nt:384x1024x2048" /* has a winner for each kind of call */

/* Their block splits A itself, so that calls with a prepared B are one kernel. */
#define HALF_LARGE "sgemm_accurate:nt:1280x2048x4096"
#define HALF_SMALL "sgemm_accurate:nt:256x2048x4096"

static const struct {
    const char *problem;
    enum gt_operand operand; /* which one is prepared */
} cases[] = {{"sgemm_accurate:nt:4096x4096x4096", GT_OPERAND_B},
             {"sgemm_accurate:nt:512x4096x4096", GT_OPERAND_B},
             {"sgemm_accurate:nn:256x11008x4096", GT_OPERAND_B},
             {"sgemm_accurate:nn:1024x1024x1024", GT_OPERAND_A},
             {"sgemm_accurate:tn:333x1022x777:batch=4", GT_OPERAND_B}};
enum { CASES = sizeof cases / sizeof *cases };

struct product {
    struct problem problem;
    struct gt_problem said;
    struct device_buffer operand[3];
    size_t c_bytes;
    float *c[2]; /* results on the host */
};

static void fill(const struct device_buffer *buffer, size_t bytes, unsigned seed)
{
    float *host = malloc(bytes);
    assert_non_null(host);
    for (size_t i = 0; i < bytes / sizeof *host; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (float)(int)seed * 0x1p-31F;
    }
    assert_ok(device_check(cuda.MemcpyHtoD(buffer->address, host, bytes), "copy in"));
    free(host);
}

static struct product product_make(const char *text)
{
    struct product x = {.c_bytes = 0};
    assert_ok(problem_parse(text, &x.problem));
    x.said = public_problem(&x.problem);
    const int64_t spans[] = {problem_span_a(&x.problem), problem_span_b(&x.problem),
                             problem_span_c(&x.problem)};
    for (int i = 0; i < 3; i++) {
        const size_t bytes = (size_t)spans[i] * sizeof(float);
        assert_ok(device_allocate(&x.operand[i], bytes));
        fill(&x.operand[i], bytes, (unsigned)i + 1);
    }
    x.c_bytes = (size_t)spans[2] * sizeof(float);
    for (int i = 0; i < 2; i++) assert_non_null(x.c[i] = malloc(x.c_bytes));
    return x;
}

static void product_free(struct product *x)
{
    for (int i = 0; i < 3; i++) device_free(&x->operand[i]);
    for (int i = 0; i < 2; i++) free(x->c[i]);
}

static void call(struct gt_handle *handle, const struct product *x, const struct gt_prepared *prepared)
{
    const float one = 1, zero = 0;
    struct gt_call with =
        gt_call_make(&one, (void *)(uintptr_t)x->operand[0].address, (void *)(uintptr_t)x->operand[1].address,
                     &zero, (void *)(uintptr_t)x->operand[2].address, device.stream);
    with.prepared = prepared;
    assert_gt(gt_gemm(handle, &x->said, &with), "gt_gemm");
}

static void read_c(struct product *x, int which)
{
    assert_ok(device_check(cuda.CtxSynchronize(), "wait"));
    assert_ok(device_check(cuda.MemcpyDtoH(x->c[which], x->operand[2].address, x->c_bytes), "copy out"));
    assert_ok(device_check(cuda.MemsetD8Async(x->operand[2].address, 0xff, x->c_bytes, device.stream),
                           "overwrite C"));
}

static void assert_same(struct product *x, const char *when)
{
    read_c(x, 1);
    for (size_t i = 0; i < x->c_bytes / sizeof(float); i++)
        if (memcmp(&x->c[0][i], &x->c[1][i], sizeof(float)) != 0)
            fail_msg("%s: C[%zu] is %a, without %a", when, i, (double)x->c[1][i], (double)x->c[0][i]);
}

static struct gt_prepared *prepare(struct gt_handle *handle, const struct product *x, enum gt_operand operand)
{
    struct gt_prepared *prepared;
    assert_gt(gt_prepare(handle, &x->said, operand, (void *)(uintptr_t)x->operand[operand].address,
                         device.stream, &prepared),
              "gt_prepare");
    return prepared;
}

/* Microseconds of a call, of as many as take some 10 ms. */
static double time_calls(struct gt_handle *handle, const struct product *x,
                         const struct gt_prepared *prepared)
{
    CUevent begin, end;
    float ms;
    const int count = 1 + (int)(2e11 / problem_flop(&x->problem));
    assert_ok(device_check(cuda.EventCreate(&begin, 0), "event"));
    assert_ok(device_check(cuda.EventCreate(&end, 0), "event"));
    cuda.EventRecord(begin, device.stream);
    for (int i = 0; i < count; i++) call(handle, x, prepared);
    cuda.EventRecord(end, device.stream);
    assert_ok(device_check(cuda.EventSynchronize(end), "wait"));
    assert_ok(device_check(cuda.EventElapsedTime(&ms, begin, end), "time"));
    cuda.EventDestroy(begin);
    cuda.EventDestroy(end);
    return 1e3 * (double)ms / count;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Interleaved rounds; medians. Returns plain over prepared. */
static double compare(struct gt_handle *handle, struct gt_handle *cublas, struct product *x,
                      const struct gt_prepared *prepared, const char *text)
{
    double plain[ROUNDS], with[ROUNDS], strict[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        plain[i] = time_calls(handle, x, NULL);
        with[i] = time_calls(handle, x, prepared);
        x->said.type = GT_SGEMM;
        strict[i] = time_calls(cublas, x, NULL);
        x->said.type = GT_SGEMM_ACCURATE;
    }
    qsort(plain, ROUNDS, sizeof *plain, ascending);
    qsort(with, ROUNDS, sizeof *with, ascending);
    qsort(strict, ROUNDS, sizeof *strict, ascending);
    const double p = plain[ROUNDS / 2], w = with[ROUNDS / 2], s = strict[ROUNDS / 2];
    print_message("%-42s plain %8.1f us, prepared %8.1f us: %.3f times as fast; cublasSgemm %8.1f us: %.2f, "
                  "prepared %.2f\n",
                  text, p, w, p / w, s, s / p, s / w);
    return p / w;
}

TEST(products_have_the_same_bits_and_take_less_time)
{
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS), *cublas = open_handle(GT_NO_COMPILER);
    for (int i = 0; i < CASES; i++) {
        struct product x = product_make(cases[i].problem);
        struct gt_prepared *prepared = prepare(handle, &x, cases[i].operand);
        call(handle, &x, NULL);
        read_c(&x, 0);
        call(handle, &x, prepared);
        assert_same(&x, cases[i].problem);
        const double ratio = compare(handle, cublas, &x, prepared, cases[i].problem);
        if (ratio < 0.99) fail_msg("%s: slower with a prepared operand", cases[i].problem);
        gt_prepared_free(prepared);
        product_free(&x);
    }
    gt_close(cublas);
    gt_close(handle);
}

/* The rows of A of one problem are the first ones of another; so are those of C. */
TEST(one_weight_serves_every_m_and_graphs_and_keeps_its_old_values)
{
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct product large = product_make(cases[0].problem);
    struct gt_prepared *prepared = prepare(handle, &large, GT_OPERAND_B);
    CUgraph graph;
    CUgraphExec executable;
    large.said.m = 512;
    large.c_bytes = (size_t)512 * 4096 * sizeof(float);
    call(handle, &large, NULL);
    read_c(&large, 0);
    call(handle, &large, prepared);
    assert_same(&large, "M = 512");
    assert_ok(device_check(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin"));
    call(handle, &large, prepared);
    assert_ok(device_check(cuda.StreamEndCapture(device.stream, &graph), "end"));
    assert_ok(device_check(cuda.GraphInstantiate(&executable, graph, 0), "instantiate"));
    fill(&large.operand[1], (size_t)4096 * 4096 * sizeof(float), 77); /* the weight is changed */
    assert_ok(device_check(cuda.GraphLaunch(executable, device.stream), "launch"));
    assert_same(&large, "a graph");
    call(handle, &large, NULL);
    read_c(&large, 1);
    assert_true(memcmp(large.c[0], large.c[1], large.c_bytes) != 0);
    cuda.GraphExecDestroy(executable);
    cuda.GraphDestroy(graph);
    product_free(&large);
    gt_close(handle);
}

static CUgraphExec captured(struct gt_handle *handle, const struct product *x,
                            const struct gt_prepared *prepared)
{
    CUgraph graph;
    CUgraphExec executable;
    assert_ok(device_check(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin"));
    for (int i = 0; i < 3; i++) call(handle, x, prepared);
    assert_ok(device_check(cuda.StreamEndCapture(device.stream, &graph), "end"));
    assert_ok(device_check(cuda.GraphInstantiate(&executable, graph, 0), "instantiate"));
    cuda.GraphDestroy(graph);
    return executable;
}

static void assert_planned_half(struct gt_handle *handle, const struct gt_problem *problem)
{
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    assert_gt(gt_plan_open(handle, problem, &plan), "gt_plan_open");
    assert_gt(gt_plan_describe(plan, &info), "gt_plan_describe");
    assert_non_null(strstr(info.config, "FUSE=2"));
    gt_plan_close(plan);
}

/* With FUSE 2 the kernel that multiplies is the only one: nothing precedes it that its launch may depend on
 * but the calls before, which wrote the C that it writes. */
TEST(where_the_block_splits_the_other_operand_it_takes_the_prepared_one)
{
    static const int m[] = {1280, 256};
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct product x = product_make(HALF_LARGE);
    struct gt_prepared *prepared = prepare(handle, &x, GT_OPERAND_B);
    float *before = malloc(x.c_bytes);
    assert_non_null(before);
    assert_true(gt_prepared_bytes(prepared) == (size_t)3 * 2 * 2048 * 4096);
    for (int i = 0; i < 2; i++) {
        x.said.m = m[i];
        x.c_bytes = (size_t)m[i] * 2048 * sizeof(float);
        assert_planned_half(handle, &x.said);
        call(handle, &x, NULL);
        read_c(&x, 0);
        for (int j = 0; j < 5; j++) call(handle, &x, prepared);
        assert_same(&x, "FUSE=2 in a stream");
        CUgraphExec executable = captured(handle, &x, prepared);
        for (int j = 0; j < 3; j++)
            assert_ok(device_check(cuda.GraphLaunch(executable, device.stream), "launch"));
        assert_same(&x, "FUSE=2 in a graph");
        cuda.GraphExecDestroy(executable);
    }
    /* Of a changed weight the old values are used until it is prepared again. */
    memcpy(before, x.c[0], x.c_bytes);
    fill(&x.operand[1], (size_t)2048 * 4096 * sizeof(float), 77);
    call(handle, &x, prepared);
    assert_same(&x, "FUSE=2, a changed weight");
    gt_prepared_free(prepared);
    prepared = prepare(handle, &x, GT_OPERAND_B);
    call(handle, &x, NULL);
    read_c(&x, 0);
    assert_true(memcmp(before, x.c[0], x.c_bytes) != 0);
    call(handle, &x, prepared);
    assert_same(&x, "FUSE=2, prepared again");
    print_message("%-42s FUSE=2: the same bits in a stream, in a graph, for another M, prepared again\n",
                  HALF_LARGE);
    free(before);
    product_free(&x);
    gt_close(handle);
}

/* Tiles of another size add the same products in the same order. */
TEST(a_winner_of_calls_with_a_prepared_operand_takes_it_and_has_the_same_bits)
{
    struct gt_handle *handle = open_handle(GT_NO_CUBLAS);
    struct product x = product_make(OF_ITS_OWN);
    struct gt_prepared *prepared = prepare(handle, &x, GT_OPERAND_B);
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    const float one = 1, zero = 0;
    struct gt_call with =
        gt_call_make(&one, (void *)(uintptr_t)x.operand[0].address, (void *)(uintptr_t)x.operand[1].address,
                     &zero, (void *)(uintptr_t)x.operand[2].address, device.stream);
    call(handle, &x, NULL);
    read_c(&x, 0);
    call(handle, &x, prepared);
    assert_same(&x, "gt_gemm");
    x.said.flags = GT_PREPARED_B;
    with.prepared = prepared;
    assert_gt(gt_plan_open(handle, &x.said, &plan), "gt_plan_open");
    assert_gt(gt_plan_describe(plan, &info), "gt_plan_describe");
    assert_string_equal(info.config, OTHER);
    assert_string_equal(info.tuned_for, OF_ITS_OWN ":prepared=b");
    assert_gt(gt_launch(plan, &with), "gt_launch");
    assert_same(&x, "gt_launch");
    product_free(&x);
    gt_close(handle);
}

static void write_accurate(FILE *file, const char *text, const char *config_text)
{
    struct problem of;
    struct config config;
    assert_ok(problem_parse(text, &of));
    assert_ok(config_parse(config_text, &config));
    fprintf(file,
            "{\"problem\": \"%s\", \"gpu\": \"%s\", \"arch\": %d, \"sm_count\": %d, \"config\": \"%s\", "
            "\"template_hash\": \"%016" PRIx64 "\", \"time_us\": 10, \"exact\": true, \"errors\": %s, "
            "\"rival_errors\": %s}\n",
            text, device.gpu.name, device.gpu.arch, device.gpu.sm_count, config_text,
            kernel_hash_of(&config, &of, device.gpu.arch), ERRORS, ERRORS);
}

static int open_with_winners(void **state)
{
    if (open_gpu(state)) return -1;
    FILE *file = fopen(in_folder("test.jsonl"), "w");
    if (!file) return -1;
    for (int i = 0; i < CASES; i++) write_accurate(file, cases[i].problem, CONFIG);
    write_accurate(file, "sgemm_accurate:nt:1024x4096x4096", CONFIG);
    write_accurate(file, HALF_LARGE, HALF);
    write_accurate(file, HALF_SMALL, HALF);
    write_accurate(file, OF_ITS_OWN, CONFIG);
    write_accurate(file, OF_ITS_OWN ":prepared=b", OTHER);
    return fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_the_same_bits_and_take_less_time),
        cmocka_unit_test(one_weight_serves_every_m_and_graphs_and_keeps_its_old_values),
        cmocka_unit_test(where_the_block_splits_the_other_operand_it_takes_the_prepared_one),
        cmocka_unit_test(a_winner_of_calls_with_a_prepared_operand_takes_it_and_has_the_same_bits)};
    if (no_gpu()) return SKIPPED;
    if (device_open(0, &device)) return 1;
    const bool hopper = device.gpu.arch == 90;
    device_close(&device);
    if (!hopper) return SKIPPED;
    return cmocka_run_group_tests(tests, open_with_winners, close_gpu);
}
