#include "host_device.h"

#include "cpu_block.h"
#include "gemm_args.h"
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

size_t host_bytes_in_use;
int host_graphs_launched;

void cpu_fill(struct gemm_args p);
void cpu_addresses(struct gemm_args p);
void cpu_reference(struct gemm_args p);
void cpu_in_order(struct gemm_args p);
void cpu_finish(struct gemm_args p);
void cpu_epilogue(struct gemm_args p);
void cpu_compare(struct gemm_args p);
void cpu_fingerprint(struct gemm_args p);
void cpu_untouched(struct gemm_args p);
void cpu_rewrite(struct gemm_args p);
void gt_static_shared(char **begin, char **end);

/* A function's handle is the address of its row in this table. */
static struct entry {
    void (*run)(struct gemm_args);
    void (*static_shared)(char **begin, char **end);
} entries[] = {{cpu_fill, gt_static_shared},        {cpu_addresses, gt_static_shared},
               {cpu_reference, gt_static_shared},   {cpu_finish, gt_static_shared},
               {cpu_epilogue, gt_static_shared},    {cpu_compare, gt_static_shared},
               {cpu_fingerprint, gt_static_shared}, {cpu_untouched, gt_static_shared},
               {cpu_in_order, gt_static_shared},    {cpu_rewrite, gt_static_shared}};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* Duration of a launch, in addition to the kernel's. */
#define LAUNCH_US 5.0

static double now_us, captured_us;
static bool capturing;

void host_spend(double us)
{
    if (capturing) captured_us += us;
    else now_us += us + LAUNCH_US;
}

static CUresult mem_get_info(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = (size_t)2 << 30;
    *total_bytes = (size_t)4 << 30;
    return CUDA_SUCCESS;
}

static CUresult mem_alloc(CUdeviceptr *address, size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(memory, 0x5a, bytes); /* fresh GPU memory may contain anything */
    host_bytes_in_use += malloc_usable_size(memory);
    *address = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

static CUresult mem_free(CUdeviceptr address)
{
    void *memory = (void *)(uintptr_t)address;
    host_bytes_in_use -= malloc_usable_size(memory);
    free(memory);
    return CUDA_SUCCESS;
}

static CUresult copy_in(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult copy_out(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult set_bytes(CUdeviceptr to, unsigned char byte, size_t count, CUstream stream)
{
    (void)stream;
    memset((void *)(uintptr_t)to, byte, count);
    return CUDA_SUCCESS;
}

static CUresult set_words(CUdeviceptr to, unsigned word, size_t count, CUstream stream)
{
    (void)stream;
    if (to % sizeof word) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) ((unsigned *)(uintptr_t)to)[i] = word;
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty,
                       unsigned tz, unsigned smem, CUstream stream, void **parameters, void **extra)
{
    (void)stream, (void)extra;
    if (ty != 1 || tz != 1 || smem != 0) return CUDA_ERROR_INVALID_VALUE;
    const struct entry *entry = (const struct entry *)(const void *)function;
    struct grid grid = {.kernel = (void (*)(struct cpu_argument))(void (*)(void))entry->run,
                        .static_shared = entry->static_shared,
                        .size = {x, y, z},
                        .threads = threads,
                        .order = ORDER_RANDOM,
                        .seed = 1};
    struct gemm_args args = {.a = parameters[0]};
    grid_run(&grid, &args, sizeof args);
    if (entry->run == cpu_rewrite) host_spend(HOST_REWRITE_US);
    return CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
    return CUDA_SUCCESS;
}

static CUresult synchronize_stream(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)calloc(1, sizeof(double));
    return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult event_destroy(CUevent event)
{
    free((void *)event);
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    (void)stream;
    *(double *)(void *)event = now_us;
    return CUDA_SUCCESS;
}

static CUresult event_synchronize(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

static CUresult event_elapsed(float *ms, CUevent from, CUevent to)
{
    *ms = (float)((*(double *)(void *)to - *(double *)(void *)from) / 1e3);
    return CUDA_SUCCESS;
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
    (void)stream, (void)mode;
    capturing = true;
    captured_us = 0;
    return CUDA_SUCCESS;
}

static CUresult end_capture(CUstream stream, CUgraph *graph)
{
    (void)stream;
    capturing = false;
    double *cost = malloc(sizeof *cost);
    if (!cost) return CUDA_ERROR_OUT_OF_MEMORY;
    *cost = captured_us;
    *graph = (CUgraph)(void *)cost;
    return CUDA_SUCCESS;
}

static CUresult graph_instantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
    (void)flags;
    double *cost = malloc(sizeof *cost);
    if (!cost) return CUDA_ERROR_OUT_OF_MEMORY;
    *cost = *(double *)(void *)graph;
    *executable = (CUgraphExec)(void *)cost;
    return CUDA_SUCCESS;
}

static CUresult graph_launch(CUgraphExec executable, CUstream stream)
{
    (void)stream;
    host_graphs_launched++;
    now_us += *(double *)(void *)executable;
    return CUDA_SUCCESS;
}

static CUresult graph_exec_destroy(CUgraphExec executable)
{
    free((void *)executable);
    return CUDA_SUCCESS;
}

static CUresult graph_destroy(CUgraph graph)
{
    free((void *)graph);
    return CUDA_SUCCESS;
}

static void use_entries(struct entry *all, struct device *device, struct oracle_kernels *kernels)
{
    CUfunction function[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) function[i] = (CUfunction)(void *)&all[i];
    *kernels = (struct oracle_kernels){.device = device,
                                       .fill = function[0],
                                       .addresses = function[1],
                                       .reference = function[2],
                                       .finish = function[3],
                                       .epilogue = function[4],
                                       .compare = function[5],
                                       .fingerprint = function[6],
                                       .untouched = function[7],
                                       .in_order = function[8],
                                       .rewrite = function[9]};
}

void host_device_open(struct device *device, struct oracle_kernels *kernels)
{
    cuda = (struct cuda_api){.MemGetInfo = mem_get_info,
                             .MemAlloc = mem_alloc,
                             .MemFree = mem_free,
                             .MemcpyHtoD = copy_in,
                             .MemcpyDtoH = copy_out,
                             .MemcpyDtoDAsync = copy_on_device,
                             .MemsetD8Async = set_bytes,
                             .MemsetD32Async = set_words,
                             .LaunchKernel = launch,
                             .CtxSynchronize = synchronize,
                             .StreamSynchronize = synchronize_stream,
                             .StreamBeginCapture = begin_capture,
                             .StreamEndCapture = end_capture,
                             .GraphInstantiate = graph_instantiate,
                             .GraphLaunch = graph_launch,
                             .GraphExecDestroy = graph_exec_destroy,
                             .GraphDestroy = graph_destroy,
                             .EventCreate = event_create,
                             .EventDestroy = event_destroy,
                             .EventRecord = event_record,
                             .EventSynchronize = event_synchronize,
                             .EventElapsedTime = event_elapsed};
    *device =
        (struct device){.gpu = {.arch = 90, .sm_count = 1, .l2_bytes = 1 << 20, .rate = {{"fp32", 60}}}};
    use_entries(entries, device, kernels);
}

void host_device_judge(void *library, enum gemm_type type, struct oracle_kernels *kernels)
{
    static const char *const names[ENTRIES] = {
        "cpu_fill",    "cpu_addresses",   "cpu_reference", "cpu_finish",   "cpu_epilogue",
        "cpu_compare", "cpu_fingerprint", "cpu_untouched", "cpu_in_order", "cpu_rewrite"};
    static struct entry loaded[GEMM_TYPE_COUNT][ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        *(void **)&loaded[type][i].run = dlsym(library, names[i]);
        *(void **)&loaded[type][i].static_shared = dlsym(library, "gt_static_shared");
        if (!loaded[type][i].run || !loaded[type][i].static_shared) abort();
    }
    use_entries(loaded[type], kernels->device, kernels);
    kernels->type = type;
}
