/* The runtime library on a real GPU: products of BF16 and FP16 elements. Skipped (77) without one. With
 * TYPES_DB=FILE the winners of that database are used, of problems tuned before; else cuBLAS computes.
 */
#include "../measure/rounds.h"
#include "whole_matrix.h"

#include "config.h"
#include "gemmtune.h"
#include "public_problem.h"

static void check_product(struct gt_handle *handle, const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    const struct gemm_type_row *type = gemm_type_row(p.type);
    struct matrix a = random_matrix(type->a, problem_span_a(&p), 1),
                  b = random_matrix(type->b, problem_span_b(&p), 2),
                  c = random_matrix(type->c, problem_span_c(&p), 3), bias = random_matrix(type->c, 0, 4);
    struct gt_problem said = public_problem(&p);
    if (p.beta != 0) said.flags |= GT_ADDS_TO_C; /* so that the plan described is the one that is launched */
    const float alpha = (float)p.alpha, beta = (float)p.beta;
    struct gt_call call = gt_call_make(&alpha, place(&a), place(&b), &beta, place(&c), NULL);
    struct gt_plan *plan;
    struct gt_plan_info info = gt_plan_info_make();
    if (gt_plan_open(handle, &said, &plan) || gt_launch(plan, &call))
        fail_msg("%s: %s", text, gt_error_text());
    assert_ok(device_check(cuda.CtxSynchronize(), text));
    if (gt_plan_describe(plan, &info)) fail_msg("%s: %s", text, gt_error_text());
    printf("%s: %.60s (%s)\n", text, info.config, info.why);
    if (getenv("TYPES_DB"))
        assert_int_equal(info.source, GT_EXACT); /* also after the launch: it was not refused */
    compute(&p, &a, &b, &bias, &c);
    matrix_check(&c, text);
    gt_plan_close(plan);
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
    matrix_free(&bias);
}

/* Sums of at most 128 products of 0 and 1 are exact in both types. */
TEST(products_of_16_bit_elements_are_right)
{
    static const char *const texts[] = {"bf16gemm:nn:256x256x64",
                                        "hgemm:nn:256x256x64",
                                        "bf16gemm:nt:33x65x127:beta=1",
                                        "hgemm:tn:40x24x128:batch=3",
                                        "hgemm:tt:17x9x33:lda=21:ldb=40:ldc=12",
                                        "bf16gemm:nt:64x48x32:c=f32",
                                        "hgemm:nn:33x17x65:c=f32:beta=1"};
    const struct gt_options options = {
        .size = sizeof options, .database = getenv("TYPES_DB"), .pretuned = ""};
    struct gt_handle *handle;
    if (gt_open(&handle, &options)) fail_msg("%s", gt_error_text());
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_product(handle, texts[i]);
    gt_close(handle);
}

/* A chain in which each product reads what the one before wrote: X of round i + 1 = A X of round i / 16,
 * added to what is there, with parts and counters, packed operands and clears of the result in between. The
 * result is the beginning of X, which may be larger; or X is the first operand, X A. */
struct chain {
    struct gt_handle *handle;
    struct gt_plan *plan;
    struct device_buffer a, x[3];
    size_t bytes, result_bytes; /* of X, and of what is written of it */
    bool x_is_first;
};

enum { CHAIN_LENGTH = 24 };

static void chain_run(const struct chain *chain, bool one_by_one)
{
    static const float alpha = 1.0f / 16, beta = 1;
    for (int i = 0; i < CHAIN_LENGTH; i++) {
        const CUdeviceptr from = chain->x[i % 3].address, to = chain->x[(i + 1) % 3].address;
        if (i % 5 == 4)
            assert_ok(device_check(cuda.MemsetD8Async(to, 0, chain->result_bytes, device.stream), "clear"));
        const CUdeviceptr first = chain->x_is_first ? from : chain->a.address,
                          second = chain->x_is_first ? chain->a.address : from;
        struct gt_call call = gt_call_make(&alpha, (void *)(uintptr_t)first,      /* NOLINT */
                                           (void *)(uintptr_t)second, &beta,      /* NOLINT */
                                           (void *)(uintptr_t)to, device.stream); /* NOLINT */
        call.flags = GT_AS_PLANNED;
        if (gt_launch(chain->plan, &call)) fail_msg("%s", gt_error_text());
        if (one_by_one) assert_ok(device_check(cuda.StreamSynchronize(device.stream), "wait"));
    }
}

static void chain_graph(const struct chain *chain)
{
    CUgraph graph;
    CUgraphExec exec;
    assert_ok(
        device_check(cuda.StreamBeginCapture(device.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture"));
    chain_run(chain, false);
    assert_ok(device_check(cuda.StreamEndCapture(device.stream, &graph), "capture"));
    assert_ok(device_check(cuda.GraphInstantiate(&exec, graph, 0), "make a graph"));
    assert_ok(device_check(cuda.GraphLaunch(exec, device.stream), "run"));
    assert_ok(device_check(cuda.StreamSynchronize(device.stream), "run"));
    cuda.GraphExecDestroy(exec);
    cuda.GraphDestroy(graph);
}

/* From the same beginning; out: what is in all of X in the end. */
static void chain_result(const struct chain *chain, int how, unsigned char *out)
{
    for (int i = 0; i < 3; i++)
        assert_ok(device_check(cuda.MemsetD32Async(chain->x[i].address, 0x3c003c00u + (unsigned)i,
                                                   chain->bytes / 4, device.stream),
                               "begin"));
    assert_ok(device_check(cuda.StreamSynchronize(device.stream), "begin"));
    if (how == 2) chain_graph(chain);
    else chain_run(chain, how == 0);
    assert_ok(device_check(cuda.StreamSynchronize(device.stream), "run"));
    for (int i = 0; i < 3; i++)
        assert_ok(device_check(
            cuda.MemcpyDtoH(out + (size_t)i * chain->bytes, chain->x[i].address, chain->bytes), "read"));
}

static void check_chain_of(const char *problem, const char *config_text, bool x_is_first)
{
    struct problem p;
    struct config config;
    struct chain chain;
    char path[300];
    assert_ok(problem_parse(problem, &p));
    assert_ok(config_parse(config_text, &config));
    if (config.template->check(&config, &p, &device.gpu)) return; /* not on this GPU */
    snprintf(path, sizeof path, "%s/winners.jsonl", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    round_winner(file, &device, problem, &config);
    assert_int_equal(fclose(file), 0);
    const struct gt_options options = {
        .size = sizeof options, .database = "", .pretuned = folder, .flags = GT_QUIET};
    struct gt_problem said = public_problem(&p);
    said.flags |= GT_ADDS_TO_C;
    struct gt_plan_info info = gt_plan_info_make();
    if (gt_open(&chain.handle, &options) || gt_plan_open(chain.handle, &said, &chain.plan) ||
        gt_plan_describe(chain.plan, &info))
        fail_msg("%s: %s", config_text, gt_error_text());
    if (!strstr(info.config, "PDL=")) fail_msg("%s: the library takes %s", config_text, info.config);
    const int64_t span_a = problem_span_a(&p), span_b = problem_span_b(&p), span_c = problem_span_c(&p);
    const int64_t span_x = x_is_first ? span_a : span_b;
    struct matrix a = random_matrix(gemm_type_row(p.type)->a, x_is_first ? span_b : span_a, 5);
    chain.a = a.there;
    chain.x_is_first = x_is_first;
    chain.result_bytes = (size_t)(span_c * 2);
    chain.bytes = (size_t)(((span_x > span_c ? span_x : span_c) * 2 + 15) / 16 * 16);
    for (int i = 0; i < 3; i++) assert_ok(device_allocate(&chain.x[i], chain.bytes));
    unsigned char *const alone = malloc(6 * chain.bytes), *const together = alone + 3 * chain.bytes;
    assert_non_null(alone);
    chain_result(&chain, 0, alone);
    for (int round = 0; round < 20; round++)
        for (int how = 1; how < 3; how++) {
            chain_result(&chain, how, together);
            if (memcmp(alone, together, 3 * chain.bytes) != 0)
                fail_msg("%s: other bits %s", config_text, how == 2 ? "in a graph" : "in a stream");
        }
    free(alone);
    for (int i = 0; i < 3; i++) device_free(&chain.x[i]);
    matrix_free(&a);
    gt_plan_close(chain.plan);
    gt_close(chain.handle);
}

static void check_chain(const char *problem, const char *config_text)
{
    check_chain_of(problem, config_text, false);
}

TEST(dependent_launches_see_what_the_kernels_before_wrote)
{
    check_chain(
        "bf16gemm:nn:256x256x256:beta=1",
        "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=0 "
        "STORE=2 GROUP=1 SPLIT_K=4 SMS=1 PDL=1");
    check_chain(
        "bf16gemm:nn:255x255x255:beta=1",
        "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=3 VC=1 MIN_BLOCKS=1 REDUCE=1 WALK=0 "
        "STORE=0 GROUP=1 SPLIT_K=2 SMS=1 PDL=1");
    check_chain(
        "bf16gemm:nn:1024x1024x1024:beta=1",
        "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=2 STAGES=6 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=2 "
        "STORE=2 GROUP=4 SPLIT_K=1 SMS=64 PDL=2");
    check_chain(
        "bf16gemm:nn:512x512x512:beta=1",
        "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=2 PACK=0 VC=8 MIN_BLOCKS=2 REDUCE=4 WALK=0 "
        "STORE=0 GROUP=1 SPLIT_K=4 SMS=1 PDL=1");
}

/* With ASK a block asks L2 for an operand that the kernel before is still writing. */
TEST(what_was_asked_for_early_is_what_the_kernel_before_wrote)
{
    check_chain("bf16gemm:nn:256x256x256:beta=1",
                "mma16 BM=64 BN=64 BK=32 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=1 PACK=0 VA=8 VB=8 "
                "VC=8 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=2 PDL=1 ASK=2");
    check_chain("bf16gemm:nn:255x255x255:beta=1",
                "mma16 BM=64 BN=64 BK=32 WM=32 WN=32 SWAP=0 WARPS_K=1 STAGES=3 PRELOAD=1 PACK=3 VA=8 VB=8 "
                "VC=1 MIN_BLOCKS=1 REDUCE=1 GROUP=1 SPLIT_K=2 PDL=2 ASK=4");
    check_chain("bf16gemm:nt:64x1024x2048:beta=1",
                "mma16 BM=16 BN=32 BK=128 WM=16 WN=32 SWAP=0 WARPS_K=4 STAGES=3 PRELOAD=0 PACK=0 VA=8 VB=8 "
                "VC=8 MIN_BLOCKS=1 REDUCE=4 GROUP=1 SPLIT_K=4 PDL=1 ASK=16");
    /* X is the operand that is streamed. */
    check_chain("bf16gemm:nn:16x1024x256:beta=1",
                "gemv16 SIDE=0 FEW=16 TX=8 VX=8 VS=2 VC=4 WARPS_X=2 WARPS_K=4 SPAN=2 DEPTH=1 MIN_BLOCKS=1 "
                "REDUCE=1 SPLIT_K=3 PDL=1 ASK=16 PAD=0");
    check_chain("bf16gemm:nt:16x4096x2048:beta=1",
                "gemv16 SIDE=0 FEW=16 TX=2 VX=8 VS=8 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=2 MIN_BLOCKS=1 "
                "REDUCE=4 SPLIT_K=4 PDL=2 ASK=16 PAD=0");
    check_chain_of("bf16gemm:nn:4096x8x2048:beta=1",
                   "gemv16 SIDE=1 FEW=8 TX=2 VX=8 VS=1 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=2 MIN_BLOCKS=1 "
                   "REDUCE=4 SPLIT_K=4 PDL=1 ASK=16 PAD=0",
                   true);
    /* And the few rows are what was written, the weights stay. */
    check_chain("bf16gemm:nn:1024x8x1024:beta=1",
                "gemv16 SIDE=1 FEW=8 TX=2 VX=8 VS=1 VC=8 WARPS_X=1 WARPS_K=8 SPAN=2 DEPTH=2 MIN_BLOCKS=1 "
                "REDUCE=4 SPLIT_K=4 PDL=1 ASK=16 PAD=0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_16_bit_elements_are_right),
        cmocka_unit_test(dependent_launches_see_what_the_kernels_before_wrote),
        cmocka_unit_test(what_was_asked_for_early_is_what_the_kernel_before_wrote)};
    return no_gpu() ? SKIPPED : cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
