#include "roofline.h"

extern const char text_roofline_cu[];

enum { THREADS = 256, REPEATS = 8, ROUNDS = 1 << 14, CHAINS = 16 };

/* The best of several launches, because a limit is the highest rate ever reached. parameters as for
 * cuLaunchKernel. */
static enum status best_launch_s(struct stopwatch *watch, CUfunction function, unsigned blocks,
                                 void **parameters, double *best_s)
{
    *best_s = 0;
    for (int i = 0; i < REPEATS; i++) {
        CUstream stream = watch->device->stream;
        float ms = 0;
        enum status st = device_check(cuda.EventRecord(watch->event[0], stream), "recording an event");
        if (!st)
            st = device_check(
                cuda.LaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL),
                "measuring the roofline");
        if (!st) st = device_check(cuda.EventRecord(watch->event[1], stream), "recording an event");
        if (!st) st = device_check(cuda.EventSynchronize(watch->event[1]), "measuring the roofline");
        if (!st)
            st = device_check(cuda.EventElapsedTime(&ms, watch->event[0], watch->event[1]),
                              "reading an event");
        if (st) return st;
        double seconds = 1e-3 * (double)ms;
        if (i == 0 || seconds < *best_s) *best_s = seconds;
    }
    return *best_s > 0 ? OK : fail(E_GPU, "measuring the roofline: the GPU's clock did not move");
}

static enum status measure_ffma(struct stopwatch *watch, CUfunction function, double *tflops)
{
    const struct gpu *gpu = &watch->device->gpu;
    struct device_buffer out = {0};
    enum status st = device_allocate(&out, THREADS * sizeof(float));
    if (st) return st;
    unsigned blocks = (unsigned)(gpu->sm_count * (gpu->threads_per_sm / THREADS));
    float x = 0.999f, y = 0.5f;
    int rounds = ROUNDS;
    void *parameters[] = {&out.address, &x, &y, &rounds};
    double seconds = 0;
    st = best_launch_s(watch, function, blocks, parameters, &seconds);
    if (!st) *tflops = 2.0 * CHAINS * ROUNDS * (double)THREADS * blocks / seconds / 1e12;
    device_free(&out);
    return st;
}

static enum status measure_triad(struct stopwatch *watch, CUfunction function, double *gb_per_s)
{
    const struct gpu *gpu = &watch->device->gpu;
    size_t free_bytes = 0, total_bytes = 0;
    enum status st = device_check(cuda.MemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    if (st) return st;
    size_t bytes = (size_t)512 << 20;
    if (bytes > free_bytes / 8) bytes = free_bytes / 8 / 4096 * 4096;
    if (bytes < (size_t)4 * (size_t)gpu->l2_bytes / 3)
        return fail(E_GPU, "%zu MiB of free GPU memory are too little to measure its bandwidth",
                    free_bytes >> 20);
    struct device_buffer all = {0};
    if ((st = device_allocate(&all, 3 * bytes))) return st;
    st = device_check(cuda.MemsetD32Async(all.address, 0x3f800000, 3 * bytes / 4, watch->device->stream),
                      "clearing memory");
    CUdeviceptr a = all.address, b = a + bytes, c = b + bytes;
    float s = 0.5f;
    long long count = (long long)(bytes / 16);
    void *parameters[] = {&a, &b, &c, &s, &count};
    double seconds = 0;
    if (!st) st = best_launch_s(watch, function, (unsigned)gpu->sm_count * 8, parameters, &seconds);
    if (!st) *gb_per_s = 3.0 * (double)bytes / seconds / 1e9;
    device_free(&all);
    return st;
}

enum status roofline_measure(struct stopwatch *watch, const char *cache, struct roofline *roofline)
{
    CUmodule module = NULL;
    CUfunction ffma = NULL, triad = NULL;
    enum status st = oracle_module_load(watch->device, cache, "roofline.cu", text_roofline_cu, &module);
    if (st) return st;
    st = oracle_module_entry(module, "ffma", &ffma);
    if (!st) st = oracle_module_entry(module, "triad", &triad);
    if (!st) st = measure_ffma(watch, ffma, &roofline->fp32_tflops);
    if (!st) st = measure_triad(watch, triad, &roofline->gb_per_s);
    cuda.ModuleUnload(module);
    return st;
}
