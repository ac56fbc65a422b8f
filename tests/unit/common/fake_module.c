/* fake_module.c — the fake driver's modules, functions and launches: launches are recorded, and computed by
 * the definition if fake_computes says so.
 */
#include "fake_epilogue.h"
#include "fake_half.h"
#include "fake_lock.h"
#include "fake_stream.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_launch fake_launches[FAKE_LAUNCHES_MAX];
int fake_launch_count;
struct fake_extended fake_extended[FAKE_EXTENDED_MAX];
int fake_extended_count;
_Atomic int fake_attributes_set[8];
int fake_computes;
_Atomic int fake_loads;
_Atomic int fake_dirty_counters, fake_stale_launches, fake_modules;
_Atomic int fake_fail_at, fake_torn;
_Atomic int fake_maps_encoded, fake_maps_replaced;
enum fake_replacing fake_replacing;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* modules, and the record of launches */

/* Modules stay after they were unloaded, so that a late launch is noticed. */
struct fake_module {
    struct fake_module *older;
    CUcontext context;
    bool loaded;
    struct fake_function functions[2];
};
static struct fake_module *modules;

/* Of a "cubin" of the fake compiler; a real one has a NUL before any text. */
static unsigned epilogue_of(const char *image)
{
    const char *found = strstr(image, "-DEPILOGUE=");
    return found ? (unsigned)atoi(found + strlen("-DEPILOGUE=")) : 0;
}

static bool has_option(const char *image, const char *option)
{
    return strstr(image, option) != NULL;
}

/* Of matrix 'A', 'B' or 'C'. */
static int element_of(const char *image, char matrix)
{
    char option[40];
    snprintf(option, sizeof option, "-DTYPE_%c=__nv_bfloat16", matrix);
    if (has_option(image, option)) return FAKE_BF16;
    snprintf(option, sizeof option, "-DTYPE_%c=__half", matrix);
    return has_option(image, option) ? FAKE_F16 : FAKE_F32;
}

CUresult cuModuleLoadData(CUmodule *loaded, const void *image)
{
    CUresult result = image ? SAFE_RESULT : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) return result;
    if (strncmp(image, "FOREIGN", 7) == 0) return CUDA_ERROR_NO_BINARY_FOR_GPU; /* a newer compiler's */
    struct fake_module *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    m->context = fake_current();
    m->loaded = true;
    for (int i = 0; i < 2; i++)
        m->functions[i] = (struct fake_function){.module = m,
                                                 .is_gemm = i == 0,
                                                 .epilogue = epilogue_of(image),
                                                 .pointers = has_option(image, "-DPOINTERS=1"),
                                                 .operand = element_of(image, 'A'),
                                                 .result = element_of(image, 'C')};
    fake_lock(&lock);
    m->older = modules;
    modules = m;
    fake_unlock(&lock);
    *loaded = (CUmodule)(void *)m;
    fake_count(&fake_open, 1);
    fake_count(&fake_loads, 1);
    fake_count(&fake_modules, 1);
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule loaded)
{
    struct fake_module *m = (struct fake_module *)loaded;
    CUresult result = SAFE_RESULT;
    if (result != CUDA_SUCCESS) return result;
    fake_lock(&lock);
    bool was = m && m->loaded && m->context == fake_current();
    if (was) m->loaded = false;
    fake_unlock(&lock);
    fake_count(&fake_open, -was);
    fake_count(&fake_modules, -was);
    return was ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

bool fake_is_loaded(const struct fake_function *function)
{
    fake_lock(&lock);
    bool loaded = function->module->loaded;
    fake_unlock(&lock);
    return loaded;
}

void fake_modules_reset(void *context)
{
    fake_lock(&lock);
    for (struct fake_module *m = modules; m; m = m->older)
        if (m->loaded && m->context == (CUcontext)context) {
            m->loaded = false;
            fake_count(&fake_open, -1);
            fake_count(&fake_modules, -1);
        }
    fake_unlock(&lock);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule loaded, const char *name)
{
    struct fake_module *m = (struct fake_module *)loaded;
    *function = (CUfunction)(void *)&m->functions[strcmp(name, "gemm") != 0];
    return RESULT;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    const char *threads = getenv("FAKE_GPU_THREADS"), *smem = getenv("FAKE_GPU_SMEM");
    *value = 0;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *value = threads ? atoi(threads) : 1024;
    if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) *value = smem ? atoi(smem) : 0;
    return RESULT;
}

static void set_attribute(int which, int value)
{
    atomic_store_explicit(&fake_attributes_set[which], value, memory_order_relaxed);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) set_attribute(0, value);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) set_attribute(1, value);
    return RESULT;
}

/* Two threads may launch at once. */
static int next_launch(void)
{
    return __atomic_fetch_add(&fake_launch_count, 1, __ATOMIC_RELAXED);
}

static float term(const struct gemm_args *p, int type, long long item, int i, int j, int from, int to)
{
    double sum = 0;
    for (int l = from; l < to && l < p->k; l++) {
        const long long a = fake_computes & 2 ? l * p->lda + i : i * p->lda + l;
        const long long b = fake_computes & 4 ? j * p->ldb + l : l * p->ldb + j;
        sum += (double)fake_element(p->a, type, item * p->stride_a + a) *
               (double)fake_element(p->b, type, item * p->stride_b + b);
    }
    return (float)sum;
}

static void finish(const struct gemm_args *p, const struct fake_function *function, long long item, int i,
                   int j, float sum)
{
    float alpha = p->alpha_device ? *p->alpha_device : p->alpha,
          beta = p->beta_device ? *p->beta_device : p->beta;
    const unsigned epilogue = function->epilogue;
    const long long at = item * p->stride_c + i * p->ldc + j;
    const long long of_bias = item * p->stride_bias + (epilogue & FAKE_BIAS_ROW ? i : j);
    const int type = function->result;
    float x = alpha != 0 ? alpha * sum : 0;
    if (beta != 0) x += beta * fake_element(epilogue ? p->source : p->c, type, at);
    if (epilogue & FAKE_BIAS) x += fake_element(p->bias, type, of_bias);
    fake_store(p->c, type, at, epilogue ? fake_activate((int)epilogue, (double)x) : x);
}

/* Where the parts of a cut k lie: behind the counters. */
static float *parts_of(const struct gemm_args *p)
{
    return p->workspace + p->counters;
}

/* The argument for an item at the addresses that the arrays have for it. Where nothing is multiplied there
 * may be none of A and B. */
static struct gemm_args at_addresses(const struct gemm_args *p, int item)
{
    struct gemm_args here = *p;
    if (p->k > 0) here.a = ((const float *const *)(const void *)p->a)[item];
    if (p->k > 0) here.b = ((const float *const *)(const void *)p->b)[item];
    here.c = ((float *const *)(void *)p->c)[item];
    here.stride_a = here.stride_b = here.stride_c = 0;
    return here;
}

/* As gemm_args.h says. With counters the last block to arrive adds the parts, and without a workspace the
 * blocks of a cluster do; there is no second kernel. */
static void compute(const struct gemm_args *args, const struct fake_function *function, int items)
{
    const bool is_gemm = function->is_gemm;
    const bool in_memory = args->splits > 1 && args->workspace;
    const bool finishes = !is_gemm || !in_memory || args->counters > 0;
    for (int item = 0; item < items; item++) {
        const struct gemm_args here = function->pointers ? at_addresses(args, item) : *args, *const p = &here;
        for (int i = 0; i < p->m; i++)
            for (int j = 0; j < p->n; j++) {
                float sum = 0, total = 0;
                for (int s = 0; s < p->splits; s++) {
                    float *part =
                        in_memory ? parts_of(p) + (((long long)item * p->splits + s) * p->m + i) * p->n + j
                                  : &sum;
                    if (is_gemm)
                        *part = term(p, function->operand, item, i, j, s * p->k_per_split,
                                     (s + 1) * p->k_per_split);
                    total += *part;
                }
                if (finishes) finish(p, function, item, i, j, total);
            }
    }
}

/* What a kernel that is not computed leaves in the workspace. */
static void scribble(const struct gemm_args *p, int items)
{
    if (p->splits > 1 && p->workspace) /* not the parts of a cluster's blocks */
        memset((void *)parts_of(p), 0xa5,
               sizeof(float) * (size_t)items * (size_t)p->splits * (size_t)p->m * (size_t)p->n);
}

static bool counters_are_zero(const struct gemm_args *p)
{
    const unsigned *counters = (const unsigned *)p->workspace;
    for (int i = 0; i < p->counters; i++)
        if (counters[i]) return false;
    return true;
}

CUresult fake_run(const struct fake_function *function, const struct fake_launch *launch)
{
    const struct gemm_args *p = &launch->args;
    const int items = (int)launch->grid[2];
    if (!fake_is_loaded(function) || (p->workspace && fake_is_freed(p->workspace))) {
        fake_stale_launches++;
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (p->counters > 0 && !counters_are_zero(p)) fake_dirty_counters++;
    if (fake_computes) compute(p, function, items);
    else if (launch->is_gemm) scribble(p, items);
    return CUDA_SUCCESS;
}

static CUresult launch_kernel(CUfunction f, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                              unsigned int block_x, unsigned int block_y, unsigned int block_z,
                              unsigned int smem, CUstream stream, void **parameters, void **extra)
{
    const struct fake_function *function = (const struct fake_function *)f;
    if (!stream || extra || block_y != 1 || block_z != 1) return CUDA_ERROR_INVALID_VALUE;
    if (!fake_current()) return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = fake_enqueue(stream, "cuLaunchKernel");
    if (fake_fail_at > 0 && --fake_fail_at == 0) result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (result != CUDA_SUCCESS) return result;
    struct fake_launch launch = {
        .is_gemm = function->is_gemm,
        .captured = fake_is_captured(stream),
        .stream = stream,
        .grid = {grid_x, grid_y, grid_z},
        .threads = block_x,
        .smem_bytes = smem,
    };
    memcpy(&launch.args, parameters[0],
           function->epilogue ? sizeof launch.args : offsetof(struct gemm_args, source));
    pthread_mutex_lock(&lock);
    fake_launches[next_launch() % FAKE_LAUNCHES_MAX] = launch;
    pthread_mutex_unlock(&lock);
    if (launch.captured) fake_graph_add(stream, function, &launch);
    else if (launch.args.workspace) fake_access(stream, launch.args.workspace);
    if (launch.args.splits > 1 && launch.args.counters == 0) fake_torn += fake_tears(stream, launch.is_gemm);
    result = fake_run(function, &launch);
    if (fake_busy) sched_yield(); /* another thread may come in between */
    return result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int smem,
                        CUstream stream, void **parameters, void **extra)
{
    fake_device_begin();
    CUresult result = launch_kernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, smem, stream,
                                    parameters, extra);
    fake_device_end();
    return result;
}

static void note_extended(const CUlaunchConfig *config, const void *argument)
{
    if (fake_extended_count == FAKE_EXTENDED_MAX) return;
    struct fake_extended *noted = &fake_extended[fake_extended_count++];
    *noted = (struct fake_extended){.launch = fake_launch_count};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            noted->cluster_told = true;
            noted->cluster[0] = attribute->value.clusterDim.x;
            noted->cluster[1] = attribute->value.clusterDim.y;
            noted->cluster[2] = attribute->value.clusterDim.z;
        }
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            noted->dependent = attribute->value.programmaticStreamSerializationAllowed != 0;
    }
    memcpy(noted->argument, argument, sizeof noted->argument);
}

/* Arguments of such launches are as long as the longest that the launcher may be given. */
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    fake_device_begin();
    note_extended(config, parameters[0]);
    CUresult result = launch_kernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                    config->blockDimX, config->blockDimY, config->blockDimZ,
                                    config->sharedMemBytes, config->hStream, parameters, extra);
    fake_device_end();
    return result;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *extent, const cuuint64_t *stride, const cuuint32_t *box,
                                const cuuint32_t *step, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill)
{
    struct fake_view view = {.address = (unsigned long long)(uintptr_t)address,
                             .type = (unsigned)type,
                             .rank = rank,
                             .swizzle = (unsigned)swizzle};
    (void)promotion;
    fake_maps_encoded++;
    if ((uintptr_t)map % 64 || view.address % 16 || rank < 1 || rank > 5 || interleave || fill)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < rank; i++) {
        view.extent[i] = extent[i];
        view.box[i] = box[i];
        if (i > 0) view.stride[i - 1] = stride[i - 1];
        if (extent[i] == 0 || box[i] == 0 || box[i] > 256 || step[i] != 1 || (i > 0 && stride[i - 1] % 16))
            return CUDA_ERROR_INVALID_VALUE;
    }
    memset(map, 0, sizeof *map);
    memcpy(map, &view, sizeof view);
    return RESULT;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    struct fake_view view;
    fake_maps_replaced++;
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || fake_replacing == FAKE_REPLACE_REFUSES)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&view, map, sizeof view);
    view.address = (unsigned long long)(uintptr_t)address;
    if (fake_replacing == FAKE_REPLACE_DIFFERS) view.swizzle++;
    memcpy(map, &view, sizeof view);
    return RESULT;
}
