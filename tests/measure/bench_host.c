/* bench_host.c — the host time of a call, at 128x128x128 on a real GPU: a bare cuLaunchKernel, gt_launch and
 * gt_gemm of the same kernel, and cublasSgemm; on sm_90 gt_launch and gt_gemm of a kernel with three tensor
 * maps, too, whose addresses are replaced, and which are encoded at each launch. Prints a table; exits with
 * 77 if there is no GPU, with 1 if a bound of docs/runtime.md is exceeded. */
#include "blas.h"
#include "compile.h"
#include "device.h"
#include "gemm_block.h"
#include "gemmtune.h"
#include "kernel.h"
#include "rounds.h"
#include "runtime_calls.h"

enum { SIZE = 128, RUNNERS_MAX = 10 };

#define LAUNCH_BOUND 1.15 /* relative to a bare launch */
#define GEMM_BOUND   100  /* ns in addition to that */

static struct device device;
static struct device_buffer buffers[3];
static struct gt_problem problem, problem_with_maps;
static struct problem own_problem;
static const float one = 1, zero = 0;

static struct {
    CUfunction function[LAUNCH_KERNELS_MAX];
    struct launch_plan plan;
} bare;
static struct gt_handle *handle;
static struct gt_plan *plan, *split_plan, *cublas_plan, *maps_plan;
static blas_handle cublas;

static void *address(int i)
{
    return (void *)(uintptr_t)buffers[i].address; /* NOLINT: a device address */
}

/* ---- runners ---- */

static int run_bare(void)
{
    struct gemm_args args = gemm_args_in(&bare.plan);
    args.a = address(0), args.b = address(1), args.c = address(2);
    args.alpha = one, args.beta = zero;
    void *parameters[] = {&args};
    const struct kernel_launch *k = &bare.plan.kernel[0];
    return (int)cuda.LaunchKernel(bare.function[0], k->grid[0], k->grid[1], k->grid[2], k->threads, 1, 1,
                                  k->smem_bytes, device.stream, parameters, NULL);
}

static int run_launch(void)
{
    return (int)launch(plan, &one, address(0), address(1), &zero, address(2), device.stream);
}

static int run_gemm(void)
{
    return (int)gemm(handle, &problem, &one, address(0), address(1), &zero, address(2), device.stream);
}

static int run_split(void)
{
    return (int)launch(split_plan, &one, address(0), address(1), &zero, address(2), device.stream);
}

static int run_cublas(void)
{
    return blas_run(cublas, &own_problem, buffers[0].address, buffers[1].address, buffers[2].address, &one,
                    &zero);
}

static int run_cublas_plan(void)
{
    return (int)launch(cublas_plan, &one, address(0), address(1), &zero, address(2), device.stream);
}

static int run_maps(void)
{
    return (int)launch(maps_plan, &one, address(0), address(1), &zero, address(2), device.stream);
}

static int run_maps_gemm(void)
{
    return (int)gemm(handle, &problem_with_maps, &one, address(0), address(1), &zero, address(2),
                     device.stream);
}

/* As with a driver that cannot replace addresses. */
static int without_replacing(int (*run)(void))
{
    CUresult (*const replacing)(CUtensorMap *, void *) = cuda.TensorMapReplaceAddress;
    cuda.TensorMapReplaceAddress = NULL;
    const int result = run();
    cuda.TensorMapReplaceAddress = replacing;
    return result;
}

static int run_encoded(void)
{
    return without_replacing(run_maps);
}

static int run_encoded_gemm(void)
{
    return without_replacing(run_maps_gemm);
}

/* ---- setup ---- */

/* A and B are read, and C is written through a map. */
#define WITH_MAPS                                                                                            \
    "wgmma BM=64 BN=64 BK=64 SWAP=0 CONSUMERS=1 STAGES=4 PACK=0 VC=8 MIN_BLOCKS=1 REDUCE=1 WALK=0 STORE=2 "  \
    "GROUP=1 SPLIT_K=1 SMS=1 PDL=0"

static struct gt_plan *plan_for(const struct gt_problem *p, const char *expected)
{
    struct gt_plan *made;
    struct gt_plan_info info = gt_plan_info_make();
    must(gt_plan_open(handle, p, &made) != GT_OK, "plan");
    gt_plan_describe(made, &info);
    if (strcmp(info.config, expected) != 0) {
        fprintf(stderr, "expected %s, got %s: %s\n", expected, info.config, info.why);
        exit(1);
    }
    return made;
}

static void prepare(const char *folder, int has_cublas)
{
    struct config config, split, with_maps;
    struct compiled built;
    CUmodule module;
    char path[256], texts[2][CONFIG_TEXT_MAX];
    round_config(&config, 1);
    round_config(&split, 4);
    config_format(&config, texts[0]);
    config_format(&split, texts[1]);
    snprintf(path, sizeof path, "%s/winners.jsonl", folder);
    FILE *file = fopen(path, "w");
    must(!file, "write winners");
    round_winner(file, &device, "sgemm:nn:128x128x128", &config);
    round_winner(file, &device, "sgemm:nt:128x128x128", &split);
    round_winner(file, &device, "sgemm:tn:128x128x128", NULL);
    must(config_parse(WITH_MAPS, &with_maps) != OK, WITH_MAPS);
    if (device.gpu.arch == 90) round_winner(file, &device, "bf16gemm:nn:128x128x128", &with_maps);
    fclose(file);

    own_problem = problem_make(SIZE, SIZE, SIZE);
    const struct kernel_key kernel = kernel_key_of(&config, &own_problem, device.gpu.arch);
    must(compile_kernel(&kernel, folder, &built) != OK || !built.built, "compile");
    config.template->plan(&config, &own_problem, &bare.plan);
    must(kernel_open(built.path, built.checksum, &module) != OK, "load");
    must(kernel_bind(module, &device.gpu, &bare.plan, bare.function) != OK, "bind");

    const struct gt_options options = {
        .size = sizeof(struct gt_options), .database = "", .pretuned = folder, .cache = folder};
    must(gt_open(&handle, &options) != GT_OK, "open");
    problem = gt_problem_make(SIZE, SIZE, SIZE);
    plan = plan_for(&problem, texts[0]);
    struct gt_problem p = problem;
    p.trans_b = 1;
    split_plan = plan_for(&p, texts[1]);
    p.trans_b = 0, p.trans_a = 1;
    if (has_cublas) cublas_plan = plan_for(&p, "cublas");
    problem_with_maps = problem;
    problem_with_maps.type = GT_BF16;
    if (device.gpu.arch == 90) maps_plan = plan_for(&problem_with_maps, WITH_MAPS);
}

int main(void)
{
    static struct runner runners[RUNNERS_MAX] = {{.name = "cuLaunchKernel, bare", .run = run_bare},
                                                 {.name = "gt_launch", .run = run_launch},
                                                 {.name = "gt_gemm, plan known", .run = run_gemm},
                                                 {.name = "gt_launch, split K: 2 kernels", .run = run_split}};
    int count = 4;
    char folder[] = "/tmp/gemmtune-bench-XXXXXX", version[16], command[64];
    if (device_load() || device_open(0, &device)) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
    must(!mkdtemp(folder), "make a folder");
    for (int i = 0; i < 3; i++)
        must(device_allocate(&buffers[i], sizeof(float) * SIZE * SIZE) != OK, "allocate");
    int has_cublas = blas_load(version) == OK;
    prepare(folder, has_cublas);
    if (has_cublas) {
        must(blas.Create(&cublas) || blas.SetStream(cublas, device.stream), "start cuBLAS");
        runners[count++] = (struct runner){.name = "cublasSgemm", .run = run_cublas};
        runners[count++] = (struct runner){.name = "gt_launch, cuBLAS won", .run = run_cublas_plan};
    }
    if (maps_plan) {
        runners[count++] = (struct runner){.name = "gt_launch, 3 maps, addresses replaced", .run = run_maps};
        runners[count++] = (struct runner){.name = "gt_launch, 3 maps, encoded", .run = run_encoded};
        runners[count++] =
            (struct runner){.name = "gt_gemm, 3 maps, addresses replaced", .run = run_maps_gemm};
        runners[count++] = (struct runner){.name = "gt_gemm, 3 maps, encoded", .run = run_encoded_gemm};
    }
    rounds_run(runners, count, &device, "host time of a call at 128x128x128");
    double launch = round_median(&runners[0]), tuned = round_median(&runners[1]),
           gemm = round_median(&runners[2]);
    int kept = tuned <= LAUNCH_BOUND * launch && gemm <= LAUNCH_BOUND * launch + GEMM_BOUND;
    printf("gt_launch <= %.2f bare and gt_gemm <= that + %d ns: %s\n", LAUNCH_BOUND, GEMM_BOUND,
           kept ? "kept" : "NOT kept");
    gt_close(handle);
    if (cublas) blas.Destroy(cublas);
    for (int i = 0; i < 3; i++) device_free(&buffers[i]);
    device_close(&device);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) || !kept;
}
