/* cpu_block.h — run a grid of GPU blocks on the CPU: threads as fibers, barriers, asynchronous copies.
 *
 * Owns the meaning of gt_cpu.h. Knows nothing of GEMM, templates or problems.
 *
 * A kernel that breaks the rules of the machine (threads of a block that part at a barrier, a lane missing
 * from a warp barrier, a misaligned copy) ends the process with BROKEN_KERNEL and one sentence on stderr that
 * starts with "broken kernel:".
 */
#ifndef GT_CPU_BLOCK_H
#define GT_CPU_BLOCK_H

#include <launch_plan.h>
#include <stddef.h>
#include <stdint.h>

#define BROKEN_KERNEL 70

/* In which order the threads that could run do run. Warps and lanes are permuted; a random order is drawn
 * anew at every barrier. */
enum block_order { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM, ORDER_COUNT };

/* What a kernel takes by value, whatever it calls that. On x86-64 an argument above 16 bytes lies in memory:
 * a kernel that takes less reads the beginning. */
struct cpu_argument {
    unsigned char bytes[LAUNCH_ARGUMENT_MAX];
};

struct grid {
    void (*kernel)(struct cpu_argument);
    void (*static_shared)(char **begin, char **end); /* the kernel's static shared memory */
    unsigned size[3];
    unsigned threads; /* a block, in x */
    unsigned smem_bytes;
    unsigned
        cluster; /* blocks, neighbours in y, that run together and read each other's shared memory; 0: none */
    enum block_order order;
    uint64_t seed;
};

/* Called before the process ends because of a broken kernel. */
void grid_on_broken(void (*say)(void));

/* argument: so many bytes of it. */
void grid_run(const struct grid *grid, const void *argument, size_t bytes);

#endif
