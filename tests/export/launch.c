/* launch.c — the launcher of a header exported with kernels, on a driver that only notes what it is asked. */
#define GT_WINNERS_IMPLEMENTATION
#include "kernels.h"

#include "fake_driver.h"
#include "gemm_args.h"
#include "run_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, batches, slabs;

#define CHECK(holds)                                                                                         \
    do {                                                                                                     \
        if (!(holds)) {                                                                                      \
            if (failures < 10) fprintf(stderr, "launch.c:%d: %s\n", __LINE__, #holds);                       \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

#define A         0x100000000u
#define B         0x200000000u
#define C         0x300000000u
#define WORKSPACE 0x400000000u
#define BIAS      0x500000000u
#define SOURCE    0x600000000u

/* Of the winners that are looked at; NULL: none. */
static const struct gt_winner_epilogue *epilogue;

#define STRIDE_BIAS 7

static struct gt_winner_extra extra_of(void)
{
    struct gt_winner_extra extra = {0, 0, 0};
    if (epilogue->bias) extra.bias = BIAS, extra.stride_bias = STRIDE_BIAS;
    if (epilogue->out_of_place) extra.source = SOURCE;
    return extra;
}

static CUresult launch(const struct gt_winner_loaded *loaded, const struct gt_winner_plan *plan,
                       const struct gt_winner_shape *s, float alpha, CUdeviceptr a, float beta, CUdeviceptr c,
                       CUdeviceptr workspace)
{
    if (!epilogue) return gt_winner_launch(loaded, plan, s, alpha, a, B, beta, c, workspace, NULL);
    const struct gt_winner_extra extra = extra_of();
    return gt_winner_launch_extra(loaded, plan, s, alpha, a, B, beta, c, &extra, workspace, NULL);
}

/* One launch: kernel i of the plan for some items of the batch from `first` on, and k from `from` to `to`. */
static void check_launch(const struct fake_launch *l, int i, const struct gt_winner_plan *plan,
                         const struct gt_winner_shape *s, int64_t first, unsigned items, int64_t from,
                         int64_t to)
{
    struct gemm_args args = {0};
    const struct gt_kernel_launch *kernel = &plan->kernel[i];
    const int last = plan->k_slab && to == s->k;
    const int64_t a = first * s->stride_a + from * (s->trans_a ? s->lda : 1);
    const int64_t b = first * s->stride_b + from * (s->trans_b ? 1 : s->ldb);
    memcpy(&args, l->args, (size_t)plan->argument_bytes); /* what is behind them is not passed */
    CHECK(strcmp(fake_names[l->kernel], kernel->entry) == 0 && l->allowed && !l->extended);
    CHECK(l->grid[0] == (last ? kernel->last_slab : kernel->grid[0]) && l->grid[1] == kernel->grid[1] &&
          l->grid[2] == items);
    CHECK(l->threads == kernel->threads && l->smem_bytes == kernel->smem_bytes);
    CHECK((uintptr_t)args.a == A + (uint64_t)(4 * a) && (uintptr_t)args.b == B + (uint64_t)(4 * b));
    CHECK((uintptr_t)args.c == C + (uint64_t)(4 * first * s->stride_c));
    CHECK((uintptr_t)args.workspace == (plan->workspace_bytes ? WORKSPACE : 0));
    CHECK(!args.alpha_device && !args.beta_device);
    CHECK(args.m == s->m && args.n == s->n && args.k == to - from);
    CHECK(args.lda == s->lda && args.ldb == s->ldb && args.ldc == s->ldc);
    CHECK(args.stride_a == s->stride_a && args.stride_b == s->stride_b && args.stride_c == s->stride_c);
    CHECK(args.splits >= 1 && args.k_per_split >= 1 && args.group >= 1 && args.counters == plan->counters);
    CHECK(args.alpha == 1.5f && args.beta == (from ? 1.0f : 0.25f));
    const CUdeviceptr source = !epilogue ? 0 : epilogue->out_of_place ? SOURCE : C;
    CHECK((uintptr_t)args.source == (source ? source + (uint64_t)(4 * first * s->stride_c) : 0));
    const int biased = epilogue && epilogue->bias;
    CHECK((uintptr_t)args.bias == (biased ? BIAS + (uint64_t)(4 * first * STRIDE_BIAS) : 0));
    CHECK(args.stride_bias == (biased ? STRIDE_BIAS : 0));
}

/* Every launch of one call: the kernels in order, slab by slab of k, each piece of the batch in turn. */
static void check_launches(const struct gt_winner_plan *plan, const struct gt_winner_shape *s)
{
    int at = 0;
    for (int64_t first = 0; first < s->batch && plan->kernels; first += plan->batch_per_launch) {
        const int64_t left = s->batch - first, step = plan->k_slab ? plan->k_slab : s->k;
        const unsigned items = (unsigned)(left < plan->batch_per_launch ? left : plan->batch_per_launch);
        for (int64_t from = 0, to; from == 0 || from < s->k; from = to) {
            to = s->k - from < step ? s->k : from + step;
            for (int i = 0; i < plan->kernels; i++) {
                CHECK(at < fake.launch_count);
                if (at >= fake.launch_count) return;
                check_launch(&fake.launch[at++], i, plan, s, first, items, from, to);
            }
            if (to == s->k) break;
            slabs++;
        }
    }
    CHECK(at == fake.launch_count);
}

/* An epilogue is given what it takes, and no more. */
static void check_extra(const struct gt_winner_loaded *loaded, const struct gt_winner_plan *plan,
                        const struct gt_winner_shape *s, CUdeviceptr workspace)
{
    const struct gt_winner_extra right = extra_of();
    struct gt_winner_extra wrong[3] = {right, right, right};
    wrong[0].bias = epilogue->bias ? 0 : BIAS;
    wrong[1].bias = BIAS + 2;
    wrong[2].source = epilogue->out_of_place ? 0 : SOURCE;
    for (int i = 0; i < 3; i++)
        CHECK(gt_winner_launch_extra(loaded, plan, s, 1, A, B, 1, C, &wrong[i], workspace, NULL) ==
              CUDA_ERROR_INVALID_VALUE);
    CHECK(fake.launch_count == 0);
    if (!epilogue->bias && !epilogue->out_of_place)
        CHECK(gt_winner_launch_extra(loaded, plan, s, 1, A, B, 1, C, NULL, workspace, NULL) == CUDA_SUCCESS);
    /* With beta = 0 a source is not looked at. */
    wrong[2].source = epilogue->out_of_place ? 4 : C;
    CHECK(gt_winner_launch_extra(loaded, plan, s, 1, A, B, 0, C, &wrong[2], workspace, NULL) == CUDA_SUCCESS);
    fake.launch_count = 0;
}

/* A shape that the winner's plan is for, with its leading dimensions and strides. */
static void check_shape(const struct gt_winner_gpu *gpu, const struct gt_winner_loaded *loaded,
                        const struct gt_winner *w, const struct gt_winner_shape *s)
{
    struct gt_winner_plan plan, none;
    CHECK(gt_winner_plan_make(gpu, w, s, &plan) == 1);
    if (plan.kernels == 0) return;
    batches += s->batch > plan.batch_per_launch;
    const CUdeviceptr workspace = plan.workspace_bytes ? WORKSPACE : 0;
    fake.launch_count = 0;
    fake.cleared = 0;
    CHECK(gt_winner_clear(&plan, workspace, NULL) == CUDA_SUCCESS && fake.cleared == (size_t)plan.counters);
    CHECK(launch(loaded, &plan, s, 1.5f, A, 0.25f, C, workspace) == CUDA_SUCCESS);
    check_launches(&plan, s);
    fake.launch_count = 0;
    if (epilogue) check_extra(loaded, &plan, s, workspace);
    if (workspace) CHECK(launch(loaded, &plan, s, 1, A, 0, C, 0) == CUDA_ERROR_INVALID_VALUE);
    if ((w->needs & 15) > 1)
        CHECK(launch(loaded, &plan, s, 1, A + 4, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    if (w->needs >> 8 == 1) {
        CHECK(launch(loaded, &plan, s, 1, A, 0, C + 4, workspace) == CUDA_SUCCESS);
        fake.launch_count = 0;
    }
    memset(&none, 0, sizeof none);
    CHECK(launch(loaded, &none, s, 1, A, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(NULL, &plan, s, 1, A, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(loaded, NULL, s, 1, A, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(loaded, &plan, NULL, 1, A, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    if (plan.counters) CHECK(gt_winner_clear(&plan, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(fake.launch_count == 0);
}

/* Shapes that it was not measured for have no plan, whatever they fit. */
static void check_others(const struct gt_winner_gpu *gpu, const struct gt_winner *w)
{
    for (int i = 0; i < 4; i++) {
        struct gt_winner_shape s = own_shape(w, 0);
        struct gt_winner_plan plan;
        int64_t *const size = i == 0 ? &s.m : i == 1 ? &s.n : i == 2 ? &s.k : &s.batch;
        *size -= *size > 16 ? 16 : -16;
        s.lda += 64, s.ldb += 64, s.ldc += 64;
        s.stride_c += 64 * s.ldc;
        CHECK(gt_winner_plan_make(gpu, w, &s, &plan) == 0 && plan.kernels == 0);
    }
}

/* With what was never loaded, or is no more, nothing is computed, and the caller is told. */
static void check_unloaded(struct gt_winner_loaded *loaded)
{
    const struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 64, 64);
    struct gt_winner_plan none;
    memset(&none, 0, sizeof none);
    fake.launch_count = 0;
    CHECK(launch(loaded, &none, &s, 1, A, 0, C, 0) == CUDA_ERROR_NOT_FOUND);
    CHECK(gt_winner_unload(loaded) == CUDA_SUCCESS && gt_winner_unload(NULL) == CUDA_SUCCESS);
    CHECK(gt_winner_load(NULL, NULL, loaded) == CUDA_ERROR_INVALID_VALUE);
    CHECK(gt_winner_load(&gt_kernels_winners.gpus[0], NULL, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(gt_winner_clear(NULL, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(fake.launch_count == 0 && fake.modules == 0);
}

static void check_winner(const struct gt_winner_gpu *gpu, const struct gt_winner *w)
{
    struct gt_winner_loaded loaded;
    const struct gt_winner_kernel *kernel = w->kernel >= 0 ? gpu->plans[w->kernel].kernel : NULL;
    if (strcmp(w->config, "cublas") == 0) {
        CHECK(gt_winner_load(gpu, w, &loaded) == CUDA_ERROR_NOT_FOUND && fake.modules == 0);
        check_unloaded(&loaded);
        return;
    }
    CHECK(kernel != NULL);
    if (!kernel) return;
    const size_t bytes = epilogue ? sizeof(struct gemm_args) : offsetof(struct gemm_args, source);
    CHECK(gpu->plans[w->kernel].plan.argument_bytes == (int)bytes);
    CHECK(memcmp(kernel->cubin,
                 "\x7f"
                 "ELF",
                 4) == 0 &&
          kernel->cubin_bytes > 1000);
#ifdef WITH_PTX
    CHECK(kernel->ptx && strstr((const char *)kernel->ptx, ".version") &&
          strlen((const char *)kernel->ptx) + 1 == kernel->ptx_bytes);
#else
    CHECK(!kernel->ptx && kernel->ptx_bytes == 0);
#endif

    fake.major = 8; /* older */
    CHECK(gt_winner_load(gpu, w, &loaded) == CUDA_ERROR_NO_BINARY_FOR_GPU && fake.modules == 0);
    fake.major = 10; /* later */
    const CUresult later = gt_winner_load(gpu, w, &loaded);
    if (kernel->ptx) CHECK(later == CUDA_SUCCESS && fake.image == kernel->ptx);
    else CHECK(later == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(gt_winner_unload(&loaded) == CUDA_SUCCESS && fake.modules == 0);
    fake.major = 9;
    fake.refuse_load = 1;
    CHECK(gt_winner_load(gpu, w, &loaded) == CUDA_ERROR_INVALID_IMAGE);
    fake.refuse_load = 0;
    fake.modules = 0;
    CHECK(gt_winner_load(gpu, w, &loaded) == CUDA_SUCCESS && fake.image == kernel->cubin &&
          fake.modules == 1);

    for (int padding = 0; padding <= 64; padding += 32) {
        const struct gt_winner_shape s = own_shape(w, padding);
        check_shape(gpu, &loaded, w, &s);
    }
    check_others(gpu, w);
    CHECK(gt_winner_unload(&loaded) == CUDA_SUCCESS && fake.modules == 0);
    check_unloaded(&loaded);
}

/* Two winners of one shape: each is found by its type, and launched as its family does. */
static void check_types(const struct gt_winner_gpu *gpu)
{
    static const struct {
        enum gt_winner_type type;
        const char *family;
        unsigned grid[2], threads;
        int kernels;
    } cases[] = {{GT_WINNER_SGEMM, "simt ", {10 * 12, 1}, 128, 1},
                 {GT_WINNER_TF32GEMM, "mma ", {10 * 6, 2}, 128, 2}};
    for (int i = 0; i < 2; i++) {
        struct gt_winner_shape s = gt_winner_shape_make(0, 1, 640, 768, 512);
        struct gt_winner_match match;
        struct gt_winner_loaded loaded;
        s.type = (int)cases[i].type;
        CHECK(gt_winner_find(gpu, &s, &match) && match.exact);
        const struct gt_winner *w = match.winner;
        CHECK(w->type == (int)cases[i].type);
        CHECK(strncmp(w->config, cases[i].family, strlen(cases[i].family)) == 0);
        CHECK(gt_winner_load(gpu, w, &loaded) == CUDA_SUCCESS);
        check_shape(gpu, &loaded, w, &s);
        struct gt_winner_plan plan;
        CHECK(gt_winner_plan_make(gpu, w, &s, &plan) && plan.kernels == cases[i].kernels);
        fake.launch_count = 0;
        CHECK(launch(&loaded, &plan, &s, 1, A, 0, C, plan.workspace_bytes ? WORKSPACE : 0) == CUDA_SUCCESS);
        const struct fake_launch *l = &fake.launch[0];
        CHECK(fake.launch_count == cases[i].kernels && l->threads == cases[i].threads);
        CHECK(l->grid[0] == cases[i].grid[0] && l->grid[1] == cases[i].grid[1]);
        CHECK(gt_winner_unload(&loaded) == CUDA_SUCCESS);
    }
    /* What rounds its operands serves nobody who needs more. */
    struct gt_winner_shape s = gt_winner_shape_make(0, 1, 640, 768, 512);
    for (int32_t i = 0; i < gpu->count; i++) {
        struct gt_winner_plan plan;
        const struct gt_winner *w = &gpu->winners[i];
        if (strncmp(w->config, "mma ", 4) == 0)
            CHECK(!gt_winner_fits(w, &s) && !gt_winner_plan_make(gpu, w, &s, &plan));
    }
}

/* All sets of winners with an epilogue; how many of them have kernels. */
static int check_epilogues(void)
{
    int kernels = 0;
    for (int32_t i = 0; i < gt_kernels_winners_epilogues.count; i++) {
        epilogue = &gt_kernels_winners_epilogues.list[i];
        CHECK(gt_winner_epilogue_find(&gt_kernels_winners_epilogues, epilogue->bias, epilogue->activation,
                                      epilogue->out_of_place) == epilogue->set);
        const struct gt_winner_gpu *gpu = gt_winner_gpu_find(epilogue->set, "NVIDIA H200", 90, 132);
        CHECK(gpu && gpu->count);
        for (int32_t j = 0; gpu && j < gpu->count; j++) {
            check_winner(gpu, &gpu->winners[j]);
            kernels += gpu->winners[j].kernel >= 0;
        }
    }
    epilogue = NULL;
    return kernels;
}

/* A winner whose kernel reads A and writes C through tensor maps, in 16 bits: five items of 64 x 48 x 100,
 * two a launch, k in slabs of 40, in clusters of two blocks that may begin early. */
#define AT_MAP_A 64
#define AT_MAP_C 192

static const struct gt_winner_kernel mapped_kernel = {"\x7f"
                                                      "ELF",
                                                      NULL, 4, 0};
static const struct gt_winner_planned mapped = {
    &mapped_kernel,
    0x7,
    0x814,
    {{112, 48, 48, 64 * 112, 100 * 48, 64 * 48, 0},
     {GT_LAUNCH_FIXED, 24, GT_LAUNCH_FIXED, GT_LAUNCH_FIXED, GT_LAUNCH_UNTOLD, GT_LAUNCH_UNTOLD,
      GT_LAUNCH_FIXED},
     {2, 2, 2, 2, 2},
     0,
     0},
    {{{"gemm", {4, 1, 2}, 3, 128, 100000, {2, 1, 1}, true, false, true, 0}},
     1,
     0,
     0,
     0,
     5,
     100,
     2,
     40,
     {2 * 64 * 112, 2 * 100 * 48, 2 * 64 * 48, 2 * 64 * 48, 0, 0},
     {2, 2 * 48},
     {{0, 8, 16, GT_LAUNCH_NOWHERE, GT_LAUNCH_NOWHERE},
      GT_LAUNCH_NOWHERE,
      GT_LAUNCH_NOWHERE,
      GT_LAUNCH_NOWHERE,
      32,
      36,
      40,
      GT_LAUNCH_NOWHERE},
     2,
     AT_MAP_C + GT_LAUNCH_VIEW_BYTES,
     {{GT_LAUNCH_A,
       GT_ELEMENT_BF16,
       3,
       0,
       {100, 64, 5},
       {2, 2 * 112, 2 * 64 * 112},
       {64, 64, 1},
       128,
       0,
       2,
       AT_MAP_A},
      {GT_LAUNCH_C, GT_ELEMENT_BF16, 2, 16, {48, 64}, {2, 2 * 48}, {16, 8}, 0, -1, -1, AT_MAP_C}},
     {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 48}}};

static void check_mapped(void)
{
    const struct gt_winner winner = {.m = 64,
                                     .n = 48,
                                     .k = 100,
                                     .batch = 5,
                                     .type = GT_WINNER_BF16GEMM,
                                     .tight = 0,
                                     .align = 0x884,
                                     .needs = 0x818,
                                     .most = {INT32_MAX, INT32_MAX, INT32_MAX},
                                     .config = "mapped"};
    const struct gt_winner_gpu gpu = {
        .name = "NVIDIA H200", .arch = 90, .winners = &winner, .count = 1, .plans = &mapped};
    struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 48, 100);
    struct gt_winner_loaded loaded;
    struct gt_winner_plan plan;
    s.type = GT_WINNER_BF16GEMM;
    s.batch = 5;
    s.lda = 112;
    s.stride_a = 64 * 112;
    CHECK(gt_winner_plan_make(&gpu, &winner, &s, &plan) ==
          0); /* rows of 100 are aligned as four, not eight */
    const struct gt_winner taken = {.m = 64,
                                    .n = 48,
                                    .k = 100,
                                    .batch = 5,
                                    .type = GT_WINNER_BF16GEMM,
                                    .needs = 0x814,
                                    .most = {INT32_MAX, INT32_MAX, INT32_MAX},
                                    .config = "mapped"};
    const struct gt_winner *w = &taken;
    s.stride_b += 64;
    CHECK(gt_winner_plan_make(&gpu, w, &s, &plan) == 1);
    CHECK(gt_winner_load(&gpu, w, &loaded) == CUDA_SUCCESS);
    fake.launch_count = 0;
    CHECK(gt_winner_launch(&loaded, &plan, &s, 2, A, B, 0.5f, C, 0, NULL) == CUDA_SUCCESS);
    CHECK(fake.launch_count == 3 * 3); /* pieces of the batch, slabs of k */
    for (int i = 0; i < fake.launch_count; i++) {
        const struct fake_launch *l = &fake.launch[i];
        const unsigned item = (unsigned)i / 3 * 2, items = item < 4 ? 2 : 1, from = (unsigned)i % 3 * 40;
        const unsigned k = from < 80 ? 40 : 20;
        struct fake_map of_a, of_c;
        CUdeviceptr a, b;
        int64_t ldb;
        float scalars[2];
        int told_k;
        memcpy(&a, l->args, 8), memcpy(&b, l->args + 8, 8), memcpy(&ldb, l->args + 24, 8);
        memcpy(scalars, l->args + 32, 8), memcpy(&told_k, l->args + 40, 4);
        memcpy(&of_a, l->args + AT_MAP_A, sizeof of_a), memcpy(&of_c, l->args + AT_MAP_C, sizeof of_c);
        CHECK(l->extended && l->dependent && l->cluster[0] == 2 && l->cluster[1] == 1 && l->cluster[2] == 1);
        CHECK(l->grid[0] == (from == 80 ? 3 : 4) && l->grid[2] == items && l->allowed);
        CHECK(a == A + 2 * (item * 64 * 112 + from) && of_a.address == a);
        CHECK(b == B + 2 * (item * (100 * 48 + 64) + from * 48) && ldb == 48);
        CHECK(scalars[0] == 2 && scalars[1] == (from ? 1.0f : 0.5f) && told_k == (int)k);
        CHECK(of_a.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 && of_a.rank == 3 &&
              of_a.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
        CHECK(of_a.extent[0] == k && of_a.extent[1] == 64 && of_a.extent[2] == items);
        CHECK(of_a.stride[0] == 2 * 112 && of_a.stride[1] == 2 * 64 * 112 && of_a.box[0] == 64 &&
              of_a.box[1] == 64);
        CHECK(of_c.address == C + 2 * (item * 64 * 48) + 16 && of_c.rank == 2 && of_c.extent[0] == 48);
    }
    /* The bytes that are looked at are those of 16-bit elements: eight of C, four of A, one of B; maps
     * want 16. */
    CHECK(gt_winner_launch(&loaded, &plan, &s, 2, A, B, 1, C + 8, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(gt_winner_launch(&loaded, &plan, &s, 2, A, B + 1, 1, C, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    fake.launch_count = 0;
    CHECK(gt_winner_launch(&loaded, &plan, &s, 2, A + 8, B, 1, C, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(gt_winner_launch(&loaded, &plan, &s, 2, A, B, 1, C, 4, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(fake.launch_count == 0);
    CHECK(gt_winner_launch(&loaded, &plan, &s, 2, A, B + 2, 1, C, 0, NULL) == CUDA_SUCCESS);
    s.lda = 120; /* it is in the map */
    CHECK(gt_winner_plan_make(&gpu, w, &s, &plan) == 0 && plan.kernels == 0);
    CHECK(gt_winner_launch(&loaded, &plan, &s, 2, A, B, 1, C, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(gt_winner_unload(&loaded) == CUDA_SUCCESS);
}

/* The machine code of a GPU's winners, each as FOLDER/NUMBER. */
static void write_code(const struct gt_winner_gpu *gpu, const char *folder)
{
    for (int32_t i = 0; i < gpu->count; i++) {
        if (gpu->winners[i].kernel < 0) continue;
        const struct gt_winner_kernel *kernel = gpu->plans[gpu->winners[i].kernel].kernel;
        char path[4096];
        snprintf(path, sizeof path, "%s/%d", folder, (int)i);
        FILE *file = fopen(path, "wb");
        CHECK(file && fwrite(kernel->cubin, 1, kernel->cubin_bytes, file) == kernel->cubin_bytes);
        CHECK(file && fclose(file) == 0);
    }
}

int main(int argc, char **argv)
{
    int kernels = 0;
    const struct gt_winner_gpu *gpu = gt_winner_gpu_find(&gt_kernels_winners, "NVIDIA H200", 90, 132);
    if (!gpu) return 2;
    if (argc == 2) write_code(gpu, argv[1]);
    for (int32_t i = 0; i < gpu->count; i++) {
        check_winner(gpu, &gpu->winners[i]);
        kernels += gpu->winners[i].kernel >= 0;
    }
    check_types(gpu);
    check_mapped();
    const int others = check_epilogues();
    CHECK(kernels > 3 && others > 3 && batches > 0 && slabs > 0);
    printf("%d winners, %d with kernels, %d with kernels and an epilogue, %d wrong\n", (int)gpu->count,
           kernels, others, failures);
    return failures != 0;
}
