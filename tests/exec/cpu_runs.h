/* cpu_runs.h — small kernels for the tests of the execution layer itself, run on 256 floats. */
#ifndef GT_CPU_RUNS_H
#define GT_CPU_RUNS_H

extern "C" {
#include "cpu_block.h"
#include "gemm_args.h"
#include "unit.h"
}
#include "gt_cpu.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static float in[256], out[256];

static inline bool is_nan(float x)
{
    return x != x;
}

/* Of a kernel whose operands the kernel before still writes. */
static bool dependent;

static inline void run(void (*kernel)(struct gemm_args), unsigned threads, block_order order = ORDER_FORWARD,
                       unsigned blocks = 1, unsigned smem_bytes = 0, unsigned cluster = 0)
{
    struct grid grid = {};
    struct gemm_args args = {};
    grid.kernel = (void (*)(struct cpu_argument))(void (*)(void))kernel;
    grid.static_shared = gt_static_shared;
    grid.size[0] = blocks;
    grid.size[1] = cluster ? cluster : 1;
    grid.size[2] = 1;
    grid.cluster = cluster;
    grid.threads = threads;
    grid.smem_bytes = smem_bytes;
    grid.order = order;
    grid.seed = 7;
    args.a = in;
    args.c = out;
    grid.dependent = dependent;
    if (dependent) grid.region[grid.regions++] = {in, sizeof in};
    if (dependent) grid.region[grid.regions++] = {out, sizeof out};
    for (int i = 0; i < 256; i++) in[i] = (float)i, out[i] = -1.0f;
    grid_run(&grid, &args, sizeof args);
}

/* Exit status of a child process that runs the kernel. */
static inline int status_of(void (*kernel)(struct gemm_args), unsigned threads, unsigned smem_bytes = 0,
                            unsigned cluster = 0)
{
    int ended = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        run(kernel, threads, ORDER_FORWARD, 1, smem_bytes, cluster);
        _exit(0);
    }
    assert_true(waitpid(child, &ended, 0) == child && WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

#endif
