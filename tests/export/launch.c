/* launch.c — the launcher of a header exported with kernels, on a driver that only notes what it is asked. */
#define GT_WINNERS_IMPLEMENTATION
#include "kernels.h"

#include "fake_driver.h"
#include "gemm_args.h"

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

static int kernel_of(const struct gt_winner *w)
{
    return epilogue && w->kernel < -1 ? -2 - w->kernel : w->kernel;
}

static CUresult load(const struct gt_winner_gpu *gpu, const struct gt_winner *w,
                     struct gt_winner_epilogue_loaded *loaded)
{
    if (epilogue) return gt_winner_epilogue_load(gpu, w, loaded);
    return gt_winner_load(gpu, w, loaded ? &loaded->loaded : NULL);
}

static struct gt_winner_extra extra_of(void)
{
    struct gt_winner_extra extra = {0, 0, 0};
    if (epilogue->bias) extra.bias = BIAS, extra.stride_bias = STRIDE_BIAS;
    if (epilogue->out_of_place) extra.source = SOURCE;
    return extra;
}

static CUresult launch(const struct gt_winner_epilogue_loaded *loaded, const struct gt_winner_plan *plan,
                       const struct gt_winner_shape *s, float alpha, CUdeviceptr a, float beta, CUdeviceptr c,
                       CUdeviceptr workspace)
{
    if (!epilogue)
        return gt_winner_launch(loaded ? &loaded->loaded : NULL, plan, s, alpha, a, B, beta, c, workspace,
                                NULL);
    const struct gt_winner_extra extra = extra_of();
    return gt_winner_epilogue_launch(loaded, plan, s, alpha, a, B, beta, c, &extra, workspace, NULL);
}

/* One launch: kernel i for some items of the batch from `first` on, and k from `from` to `to`. */
static void check_launch(const struct fake_launch *l, int i, const struct gt_winner_plan *plan,
                         const struct gt_winner_shape *s, int64_t first, unsigned items, int64_t from,
                         int64_t to)
{
    struct gemm_args args = {0};
    const int last = plan->k_slab && to == s->k;
    const int64_t a = first * s->stride_a + from * (s->trans_a ? s->lda : 1);
    const int64_t b = first * s->stride_b + from * (s->trans_b ? 1 : s->ldb);
    memcpy(&args, l->args, sizeof l->args);
    CHECK(l->kernel == i && l->allowed);
    CHECK(l->grid[0] == (last ? plan->last_slab[i] : plan->grid[i][0]) && l->grid[1] == plan->grid[i][1] &&
          l->grid[2] == items);
    CHECK(l->threads == plan->threads[i] && l->smem_bytes == plan->smem_bytes[i]);
    CHECK((uintptr_t)args.a == A + (uint64_t)(4 * a) && (uintptr_t)args.b == B + (uint64_t)(4 * b));
    CHECK((uintptr_t)args.c == C + (uint64_t)(4 * first * s->stride_c));
    CHECK((uintptr_t)args.workspace == (plan->workspace_bytes ? WORKSPACE : 0));
    CHECK(!args.alpha_device && !args.beta_device);
    CHECK(args.m == s->m && args.n == s->n && args.k == to - from);
    CHECK(args.lda == s->lda && args.ldb == s->ldb && args.ldc == s->ldc);
    CHECK(args.stride_a == s->stride_a && args.stride_b == s->stride_b && args.stride_c == s->stride_c);
    CHECK(args.splits == plan->splits && args.k_per_split == plan->k_per_split);
    CHECK(args.group == plan->group && args.counters == plan->counters);
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
            for (int i = 0; i < 3; i++) {
                if (!plan->grid[i][0]) continue;
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
static void check_extra(const struct gt_winner_epilogue_loaded *loaded, const struct gt_winner_plan *plan,
                        const struct gt_winner_shape *s, CUdeviceptr workspace)
{
    const struct gt_winner_extra right = extra_of();
    struct gt_winner_extra wrong[3] = {right, right, right};
    wrong[0].bias = epilogue->bias ? 0 : BIAS;
    wrong[1].bias = BIAS + 2;
    wrong[2].source = epilogue->out_of_place ? 0 : SOURCE;
    for (int i = 0; i < 3; i++)
        CHECK(gt_winner_epilogue_launch(loaded, plan, s, 1, A, B, 1, C, &wrong[i], workspace, NULL) ==
              CUDA_ERROR_INVALID_VALUE);
    CHECK(fake.launch_count == 0);
    if (!epilogue->bias && !epilogue->out_of_place)
        CHECK(gt_winner_epilogue_launch(loaded, plan, s, 1, A, B, 1, C, NULL, workspace, NULL) ==
              CUDA_SUCCESS);
    /* With beta = 0 a source is not looked at. */
    wrong[2].source = epilogue->out_of_place ? 4 : C;
    CHECK(gt_winner_epilogue_launch(loaded, plan, s, 1, A, B, 0, C, &wrong[2], workspace, NULL) ==
          CUDA_SUCCESS);
    fake.launch_count = 0;
}

static void check_shape(const struct gt_winner_gpu *gpu, const struct gt_winner_epilogue_loaded *loaded,
                        const struct gt_winner *w, const struct gt_winner_shape *s)
{
    struct gt_winner_plan plan;
    if (!gt_winner_plan_make(gpu, w, s, &plan)) return;
    const int64_t slabs_each = plan.k_slab ? (s->k - 1) / plan.k_slab + 1 : 1;
    if (plan.kernels && s->batch / plan.batch_per_launch * slabs_each > FAKE_LAUNCHES_MAX / 4) return;
    batches += s->batch > 1 && plan.kernels && s->batch > plan.batch_per_launch;
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
    CHECK(launch(NULL, &plan, s, 1, A, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(loaded, NULL, s, 1, A, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(loaded, &plan, NULL, 1, A, 0, C, workspace) == CUDA_ERROR_INVALID_VALUE);
    if (plan.counters) CHECK(gt_winner_clear(&plan, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(fake.launch_count == 0);
}

/* With what was never loaded, or is no more, nothing is computed, and the caller is told. */
static void check_unloaded(struct gt_winner_epilogue_loaded *loaded)
{
    const struct gt_winner_shape s = gt_winner_shape_make(0, 0, 64, 64, 64);
    struct gt_winner_plan none;
    memset(&none, 0, sizeof none);
    fake.launch_count = 0;
    CHECK(launch(loaded, &none, &s, 1, A, 0, C, 0) == CUDA_ERROR_NOT_FOUND);
    CHECK(gt_winner_unload(&loaded->loaded) == CUDA_SUCCESS && gt_winner_unload(NULL) == CUDA_SUCCESS);
    CHECK(load(NULL, NULL, loaded) == CUDA_ERROR_INVALID_VALUE);
    CHECK(load(&gt_kernels_winners.gpus[0], NULL, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(gt_winner_clear(NULL, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(fake.launch_count == 0 && fake.modules == 0);
}

static void check_winner(const struct gt_winner_gpu *gpu, const struct gt_winner *w)
{
    struct gt_winner_epilogue_loaded loaded;
    const struct gt_winner_kernel *kernel = kernel_of(w) >= 0 ? &gpu->kernels[kernel_of(w)] : NULL;
    if (strcmp(w->config, "cublas") == 0) {
        CHECK(load(gpu, w, &loaded) == CUDA_ERROR_NOT_FOUND && fake.modules == 0);
        check_unloaded(&loaded);
        return;
    }
    CHECK(kernel != NULL);
    if (!kernel) return;
    const size_t bytes = epilogue ? sizeof(struct gemm_args) : offsetof(struct gemm_args, source);
    CHECK(kernel->block->bytes == (int32_t)bytes);
    /* Neither loader takes what is the other's. */
    if (epilogue) CHECK(gt_winner_load(gpu, w, &loaded.loaded) == CUDA_ERROR_NOT_FOUND);
    else CHECK(gt_winner_epilogue_load(gpu, w, &loaded) == CUDA_ERROR_NOT_FOUND);
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
    CHECK(load(gpu, w, &loaded) == CUDA_ERROR_NO_BINARY_FOR_GPU && fake.modules == 0);
    fake.major = 10; /* later */
    const CUresult later = load(gpu, w, &loaded);
    if (kernel->ptx) CHECK(later == CUDA_SUCCESS && fake.image == kernel->ptx);
    else CHECK(later == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(gt_winner_unload(&loaded.loaded) == CUDA_SUCCESS && fake.modules == 0);
    fake.major = 9;
    fake.refuse_load = 1;
    CHECK(load(gpu, w, &loaded) == CUDA_ERROR_INVALID_IMAGE);
    fake.refuse_load = 0;
    fake.modules = 0;
    CHECK(load(gpu, w, &loaded) == CUDA_SUCCESS && fake.image == kernel->cubin && fake.modules == 1);

    const int64_t sizes[] = {0, 1, 4, 17, 64, 1000, 4096, 40000};
    for (int i = 0; i < 8 * 8 * 8; i++) {
        struct gt_winner_shape s =
            gt_winner_shape_make(w->op / 2, w->op % 2, sizes[i % 8], sizes[i / 8 % 8], sizes[i / 64]);
        s.type = w->type;
        check_shape(gpu, &loaded, w, &s);
        if (i % 10) continue;
        s.batch = 100000;
        check_shape(gpu, &loaded, w, &s);
    }
    CHECK(gt_winner_unload(&loaded.loaded) == CUDA_SUCCESS && fake.modules == 0);
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
        struct gt_winner_epilogue_loaded loaded;
        s.type = (int)cases[i].type;
        CHECK(gt_winner_find(gpu, &s, &match) && match.exact);
        const struct gt_winner *w = match.winner;
        CHECK(w->type == (int)cases[i].type);
        CHECK(strncmp(w->config, cases[i].family, strlen(cases[i].family)) == 0);
        CHECK(load(gpu, w, &loaded) == CUDA_SUCCESS);
        check_shape(gpu, &loaded, w, &s);
        struct gt_winner_plan plan;
        CHECK(gt_winner_plan_make(gpu, w, &s, &plan) && plan.kernels == cases[i].kernels);
        fake.launch_count = 0;
        CHECK(launch(&loaded, &plan, &s, 1, A, 0, C, plan.workspace_bytes ? WORKSPACE : 0) == CUDA_SUCCESS);
        const struct fake_launch *l = &fake.launch[0];
        CHECK(fake.launch_count == cases[i].kernels && l->threads == cases[i].threads);
        CHECK(l->grid[0] == cases[i].grid[0] && l->grid[1] == cases[i].grid[1]);
        CHECK(gt_winner_unload(&loaded.loaded) == CUDA_SUCCESS);
    }
    /* What rounds its operands serves nobody who needs more. */
    struct gt_winner_shape s = gt_winner_shape_make(0, 1, 640, 768, 512);
    for (int32_t i = 0; i < gpu->count; i++) {
        struct gt_winner_plan plan;
        const struct gt_winner *w = &gpu->winners[i];
        if (strncmp(w->config, "mma ", 4) == 0) CHECK(!gt_winner_plan_make(gpu, w, &s, &plan));
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
            kernels += kernel_of(&gpu->winners[j]) >= 0;
        }
    }
    epilogue = NULL;
    return kernels;
}

int main(void)
{
    int kernels = 0;
    const struct gt_winner_gpu *gpu = gt_winner_gpu_find(&gt_kernels_winners, "NVIDIA H200", 90, 132);
    if (!gpu) return 2;
    CHECK(sizeof(struct gemm_args) == sizeof fake.launch[0].args);
    for (int32_t i = 0; i < gpu->count; i++) {
        check_winner(gpu, &gpu->winners[i]);
        kernels += gpu->winners[i].kernel >= 0;
    }
    check_types(gpu);
    const int others = check_epilogues();
    CHECK(kernels > 3 && others > 3 && batches > 3 && slabs > 3);
    printf("%d winners, %d with kernels, %d with kernels and an epilogue, %d wrong\n", (int)gpu->count,
           kernels, others, failures);
    return failures != 0;
}
