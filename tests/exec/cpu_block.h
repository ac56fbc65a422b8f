/* cpu_block.h — runs a grid of GPU blocks on the CPU: threads as fibers, barriers, asynchronous copies.
 *
 * Implements gt_cpu.h. Knows nothing of GEMM, templates or problems.
 *
 * A kernel that violates the execution model (threads of a block at different barriers, a lane missing from a
 * warp barrier, a misaligned copy) ends the process with BROKEN_KERNEL and one sentence on stderr that starts
 * with "broken kernel:".
 */
#ifndef GT_CPU_BLOCK_H
#define GT_CPU_BLOCK_H

#include <launch_plan.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BROKEN_KERNEL 70

/* The order in which blocks run, one (or one cluster) after the other, or at random two at a time, and in
 * which ready threads of a block do. Warps and lanes are permuted; a random order of these is drawn again at
 * every barrier. */
enum block_order { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM, ORDER_COUNT };

/* The argument that a kernel takes by value, of any type, as aligned as tensor maps. On x86-64 an argument
 * above 16 bytes is in memory, so a kernel with a smaller argument reads the beginning. */
struct cpu_argument {
    alignas(64) unsigned char bytes[LAUNCH_ARGUMENT_MAX];
};

/* Global memory that the kernels before a dependent one may write, or still read. */
struct region {
    void *at;
    size_t bytes;
};

enum { REGIONS_MAX = 16 };

struct grid {
    void (*kernel)(struct cpu_argument);
    void (*static_shared)(char **begin, char **end); /* the kernel's static shared memory */
    unsigned size[3];
    unsigned threads; /* per block, in x */
    unsigned smem_bytes;
    unsigned
        cluster; /* blocks, neighbours in y, that run together and read each other's shared memory; 0: none */
    enum block_order order;
    uint64_t seed;
    /* The kernel is dependent: all memory that it shares with others. When a block begins it holds NaN, which
     * must be untouched when the block waits for the kernel before; then it holds what it should. */
    bool dependent;
    struct region region[REGIONS_MAX];
    int regions;
};

/* Called before the process ends because of a broken kernel. */
void grid_on_broken(void (*say)(void));

/* argument: `bytes` bytes are copied. */
void grid_run(const struct grid *grid, const void *argument, size_t bytes);

#endif
