/* Clusters, dependent launches and tensor maps with the launcher and the real driver: a toy of two kernels
 * whose result depends on each of them. Skipped (77) without a GPU of sm_90; `--compile` only builds the toy.
 *
 * C[i] = alpha factor[i] (sum over k of A[i, k]) + beta C[i], for each item of a batch. The first kernel
 * writes the factors, late; the second may begin before it has ended and waits for it on the device. A is
 * read through a tensor map in tiles of 32 x 32, which are distributed over the two blocks of a cluster; the
 * first block reads the sums of the other. Elements of a tile beyond m, or beyond the slab of k, must be read
 * as 0, although the memory there is not 0.
 */
#include "compile.h"
#include "cost_parts.h"
#include "kernel.h"
#include "launcher.h"
#include "nvrtc.h"
#include "scratch_folder.h"
#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE 32

extern const char text_launcher_toy_cu[];

/* The kernels' argument, as seen by the host. */
struct toy {
    unsigned char a[LAUNCH_VIEW_BYTES];
    uint64_t c, workspace;
    long long stride_c;
    int m, k;
    float alpha, beta;
};

struct toy_problem {
    int64_t m, k, lda, batch, batch_per_launch, k_slab;
};

static struct device device;
static CUmodule module;

static enum status compile_toy(int arch, struct compiled *built)
{
    const struct source_text source = {"launcher_toy.cu", text_launcher_toy_cu};
    enum status st = compile_sources(&source, 1, NULL, 0, arch, folder, built);
    return !st && !built->built ? fail(E_INPUT, "the compiler refuses the toy: %s", built->log) : st;
}

static struct launch_plan plan_of(const struct toy_problem *p)
{
    struct launch_plan plan;
    const struct toy toy = {.stride_c = p->m, .m = (int)p->m, .k = (int)p->k};
    const unsigned tiles = (unsigned)((p->m + TILE - 1) / TILE);
    launch_plan_clear(&plan);
    plan.kernels = 2;
    plan.kernel[0] =
        (struct kernel_launch){.entry = "toy_factors", .grid = {1, 1, 1}, .last_slab = 1, .threads = 128};
    plan.kernel[1] = (struct kernel_launch){.entry = "toy_sums",
                                            .grid = {2 * tiles, 1, 1},
                                            .last_slab = 2 * tiles,
                                            .threads = TILE,
                                            .cluster = {2, 1, 1},
                                            .cluster_at_launch = true,
                                            .dependent = true};
    plan.workspace_bytes = 4 * ((p->m + 1) / 2 * 2) + 16;
    plan.batch = p->batch;
    plan.k = p->k;
    plan.batch_per_launch = p->batch_per_launch;
    plan.k_slab = p->k_slab;
    plan.batch_step_bytes[LAUNCH_A] = 4 * p->m * p->lda;
    plan.batch_step_bytes[LAUNCH_C] = 4 * p->m;
    plan.k_step_bytes[LAUNCH_A] = 4;
    plan.slots = (struct launch_slots){
        .at = {LAUNCH_NOWHERE, LAUNCH_NOWHERE, offsetof(struct toy, c), LAUNCH_NOWHERE, LAUNCH_NOWHERE},
        .workspace = offsetof(struct toy, workspace),
        .alpha_device = LAUNCH_NOWHERE,
        .beta_device = LAUNCH_NOWHERE,
        .alpha = offsetof(struct toy, alpha),
        .beta = offsetof(struct toy, beta),
        .k = offsetof(struct toy, k)};
    plan.views = 1;
    plan.view[0] = (struct tensor_view){.operand = LAUNCH_A,
                                        .element = ELEMENT_F32,
                                        .rank = 3,
                                        .extent = {p->k, p->m, p->batch},
                                        .stride_bytes = {4, 4 * p->lda, 4 * p->m * p->lda},
                                        .box = {TILE, TILE, 1},
                                        .k_axis = 0,
                                        .batch_axis = 2,
                                        .at = offsetof(struct toy, a)};
    plan.argument_bytes = sizeof toy;
    memcpy(plan.argument, &toy, sizeof toy);
    return plan;
}

static float a_of(int64_t i)
{
    return (float)(i % 7 - 3);
}

static void check_toy_with(const struct toy_problem *p, bool ahead)
{
    struct launch_plan plan = plan_of(p);
    const int64_t spans[2] = {p->batch * p->m * p->lda, p->batch * p->m};
    struct device_buffer buffer[3];
    float *host[2];
    CUfunction function[LAUNCH_KERNELS_MAX];
    unsigned long long times[2];
    bool touched;
    assert_ok(kernel_bind(module, &device.gpu, &plan, function));
    if (ahead) launcher_encode_ahead(&plan);
    for (int i = 0; i < 2; i++) {
        host[i] = malloc(sizeof(float) * (size_t)spans[i]);
        assert_non_null(host[i]);
        for (int64_t j = 0; j < spans[i]; j++) host[i][j] = a_of(i + j);
        assert_ok(device_allocate(&buffer[i], sizeof(float) * (size_t)spans[i]));
        assert_ok(device_check(cuda.MemcpyHtoD(buffer[i].address, host[i], sizeof(float) * (size_t)spans[i]),
                               "copy in"));
    }
    assert_ok(device_allocate(&buffer[2], (size_t)plan.workspace_bytes));
    /* NaN: a kernel that does not wait for the factors is detected. */
    assert_ok(device_check(
        cuda.MemsetD32Async(buffer[2].address, 0x7fc00000, (size_t)plan.workspace_bytes / 4, device.stream),
        "fill"));
    const struct launch_call call = {.operand = {[OPERAND_A] = buffer[0].address,
                                                 [OPERAND_C] = buffer[1].address,
                                                 [LAUNCH_WORKSPACE] = buffer[2].address},
                                     .alpha = 2,
                                     .beta = -3};
    assert_ok(device_check(launcher_enqueue(&plan, function, &call, device.stream, &touched), "launch"));
    assert_ok(device_check(cuda.StreamSynchronize(device.stream), "run"));
    float *got = malloc(sizeof(float) * (size_t)spans[1]);
    assert_non_null(got);
    assert_ok(
        device_check(cuda.MemcpyDtoH(got, buffer[1].address, sizeof(float) * (size_t)spans[1]), "copy out"));
    for (int64_t i = 0; i < spans[1]; i++) {
        double sum = 0;
        for (int64_t k = 0; k < p->k; k++) sum += (double)host[0][i * p->lda + k];
        const float want = (float)(2 * (double)(i % p->m % 5 - 2) * sum - 3 * (double)host[1][i]);
        if (got[i] != want)
            fail_msg("C[%lld] of %lldx%lld is %g, expected %g", (long long)i, (long long)p->m,
                     (long long)p->k, (double)got[i], (double)want);
    }
    assert_ok(device_check(
        cuda.MemcpyDtoH(times, buffer[2].address + (CUdeviceptr)plan.workspace_bytes - 16, sizeof times),
        "copy out"));
    print_message("%lldx%lld: the dependent kernel began %lld us before the end of the one before\n",
                  (long long)p->m, (long long)p->k, ((long long)times[0] - (long long)times[1]) / 1000);
    for (int i = 0; i < 2; i++) free(host[i]);
    for (int i = 0; i < 3; i++) device_free(&buffer[i]);
    free(got);
}

static void check_toy(const struct toy_problem *p)
{
    check_toy_with(p, false);
    check_toy_with(p, true);
}

TEST(a_cluster_reads_tiles_through_a_map_and_waits_for_the_kernel_before)
{
    check_toy(&(struct toy_problem){.m = 32, .k = 64, .lda = 64, .batch = 1, .batch_per_launch = 1});
    check_toy(&(struct toy_problem){.m = 1000, .k = 517, .lda = 520, .batch = 1, .batch_per_launch = 1});
}

TEST(maps_follow_the_pieces_of_a_batch_and_the_slabs_of_k)
{
    check_toy(&(struct toy_problem){.m = 45, .k = 100, .lda = 104, .batch = 5, .batch_per_launch = 2});
    check_toy(&(struct toy_problem){
        .m = 45, .k = 100, .lda = 104, .batch = 1, .batch_per_launch = 1, .k_slab = 48});
    check_toy(&(struct toy_problem){
        .m = 77, .k = 200, .lda = 212, .batch = 3, .batch_per_launch = 2, .k_slab = 36});
}

TEST(a_view_that_the_hardware_does_not_have_is_refused)
{
    const struct toy_problem p = {.m = 32, .k = 64, .lda = 65, .batch = 1, .batch_per_launch = 1};
    const struct launch_plan plan = plan_of(&p);
    CUfunction function[LAUNCH_KERNELS_MAX];
    struct device_buffer a;
    bool touched = true;
    assert_ok(kernel_bind(module, &device.gpu, &plan, function));
    assert_ok(device_allocate(&a, 4 * 32 * 65));
    const struct launch_call call = {.operand = {a.address, 0, a.address, a.address}, .alpha = 1};
    CUresult result = launcher_enqueue(&plan, function, &call, device.stream, &touched);
    assert_true(kernel_refused(result));
    assert_false(touched);
    device_free(&a);
}

/* So that what is not replaced is seen. */
static CUresult refuse_to_encode(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                                 const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill)
{
    (void)map, (void)type, (void)rank, (void)address, (void)extents, (void)strides, (void)box, (void)steps;
    (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* Any driver may make others by replacing, and is served then. This one is of the kind that does not. */
TEST(replacing_an_address_makes_the_map_that_encoding_makes)
{
    static const struct {
        enum element element;
        int bytes;
    } elements[] = {{ELEMENT_F32, 4}, {ELEMENT_TF32, 4}, {ELEMENT_F16, 2}, {ELEMENT_BF16, 2}};
    const struct toy_problem p = {.m = 32, .k = 64, .lda = 64, .batch = 3, .batch_per_launch = 3};
    const struct cuda_api own = cuda;
    uint64_t random = 1;
    if (!cuda.TensorMapReplaceAddress) skip();
    for (unsigned i = 0; i < 16; i++) {
        struct launch_plan plan = plan_of(&p);
        static struct launch replaced, encoded;
        plan.view[0].element = elements[i % 4].element;
        plan.view[0].swizzle_bytes = i / 4 ? 16u << i / 4 : 0;
        plan.view[0].box[0] = (i / 4 ? 16u << i / 4 : 64) / (unsigned)elements[i % 4].bytes;
        plan.view[0].stride_bytes[0] = elements[i % 4].bytes;
        launcher_encode_ahead(&plan);
        assert_int_equal(plan.maps_items, 3);
        for (int n = 0; n < 1000; n++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            replaced.operand[LAUNCH_A] = (random >> 17 | 16) & ~UINT64_C(15); /* below 2^47 */
            replaced.items = 3;
            replaced.k = 64;
            encoded = replaced;
            assert_int_equal(launcher_encode(&plan, &encoded), CUDA_SUCCESS);
            cuda.TensorMapEncodeTiled = refuse_to_encode;
            const CUresult result = launcher_put_maps(&plan, &replaced);
            cuda.TensorMapEncodeTiled = own.TensorMapEncodeTiled;
            assert_int_equal(result, CUDA_SUCCESS);
            assert_memory_equal(replaced.argument + plan.view[0].at, encoded.argument + plan.view[0].at,
                                LAUNCH_VIEW_BYTES);
        }
    }
}

/* Clusters of blocks that leave no room for a second one on an SM. */
static int clusters_at_once(CUfunction function, unsigned size)
{
    CUresult (*most)(int *, CUfunction, const CUlaunchConfig *) = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(driver);
    *(void **)&most = dlsym(driver, "cuOccupancyMaxActiveClusters");
    assert_non_null(most);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {size, 1, 1}};
    const CUlaunchConfig launch = {.gridDimX = 64 * size,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = TILE,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = (unsigned)device.gpu.smem_per_block_bytes - 16384,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    int clusters = 0;
    assert_ok(device_check(cuda.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                 (int)launch.sharedMemBytes),
                           "shared memory"));
    assert_ok(device_check(most(&clusters, function, &launch), "count clusters"));
    dlclose(driver);
    return clusters;
}

TEST(the_models_know_how_many_clusters_the_gpu_holds_at_once)
{
    int worst = 0;
    CUfunction function;
    assert_ok(device_check(cuda.ModuleGetFunction(&function, module, "toy_sums"), "find the kernel"));
    for (unsigned size = 2; size <= 8; size++) {
        const int there_are = clusters_at_once(function, size);
        const int modelled = (int)(cluster_sms(&device.gpu, size) / size);
        print_message("clusters of %u: %d at once, %d by the models\n", size, there_are, modelled);
        if (abs(there_are - modelled) > worst) worst = abs(there_are - modelled);
    }
    /* The models know the figures of one H200; other dies and other GPUs may have others. */
    assert_true(device.gpu.sm_count != 132 || worst <= 2);
}

static int open_gpu(void **state)
{
    (void)state;
    struct compiled built;
    enum status st = device_open(0, &device);
    if (!st) st = compile_toy(device.gpu.arch, &built);
    if (!st) st = kernel_open(built.path, built.checksum, &module);
    if (st) print_error("%s\n", status_text());
    return st != OK;
}

static int close_gpu(void **state)
{
    (void)state;
    if (module) cuda.ModuleUnload(module);
    device_close(&device);
    return 0;
}

static int run_all(void)
{
    int count = 0;
    if (device_count(&count) || device_open(0, &device)) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
    const int arch = device.gpu.arch;
    device_close(&device);
    if (arch < 90) {
        printf("skipped: clusters and tensor maps need sm_90\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_reads_tiles_through_a_map_and_waits_for_the_kernel_before),
        cmocka_unit_test(maps_follow_the_pieces_of_a_batch_and_the_slabs_of_k),
        cmocka_unit_test(a_view_that_the_hardware_does_not_have_is_refused),
        cmocka_unit_test(replacing_an_address_makes_the_map_that_encoding_makes),
        cmocka_unit_test(the_models_know_how_many_clusters_the_gpu_holds_at_once),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}

static int only_compile(void)
{
    struct compiled built;
    if (no_nvrtc()) return 77;
    enum status st = compile_toy(90, &built);
    if (st) fprintf(stderr, "%s\n", status_text());
    return st != OK;
}

int main(int argc, char **argv)
{
    if (make_folder(NULL)) return 1;
    const int result = argc == 2 && strcmp(argv[1], "--compile") == 0 ? only_compile() : run_all();
    return remove_folder(NULL) ? 1 : result;
}
