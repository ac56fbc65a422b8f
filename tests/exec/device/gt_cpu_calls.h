/* gt_cpu_calls.h — what the execution on the CPU does for a kernel: the calls that the stand-ins make.
 *
 * The scheduler implements them (cpu_block.c, cpu_copies.c, cpu_products.c).
 */
#ifndef GT_CPU_CALLS_H
#define GT_CPU_CALLS_H

#include <stdint.h>

struct gt_index {
    unsigned x, y, z;
};

extern "C" {
/* Set by the scheduler before a fiber runs. */
extern struct gt_index gt_thread_index, gt_block_index, gt_block_size, gt_grid_size;

void gt_barrier(int line); /* __syncthreads(): all threads of the block, at the same line */
/* `count` threads of the block, in whole warps, at the barrier of this number. */
void gt_group_barrier(int id, int count);
void gt_cluster_barrier(void); /* all threads of all blocks of the cluster */
const float *gt_cluster_shared(const float *own,
                               unsigned rank);       /* the same address in another block's memory */
float *gt_cluster_target(float *own, unsigned rank); /* to write to: that block must have started */
void gt_warp_barrier(unsigned mask);
/* Exchanges 4 or 8 bytes: returns the value of lane `from` of this warp (the own value if `from` is outside
 * the warp). */
void gt_warp_exchange(unsigned mask, void *value, int bytes, int from);
/* Passes `bytes` (at most 48) and returns those of all lanes of this warp, which must be complete: 32 *
 * bytes. */
void gt_warp_share(const void *value, int bytes, void *all);
/* A matrix instruction got an operand that was not rounded to TF32: ends the test. */
void gt_not_tf32(float value);
/* No float is 2^e: ends the test. */
void gt_no_power(int e);

/* Elements of 16 bits (cpu_elements.h). */
uint16_t gt_element_bits(int bf16, float x);
float gt_element_value(int bf16, uint16_t bits);

/* Writes `bytes` to `to` when this thread waits: the first `valid` from `from` (nothing is read beyond them),
 * the rest zeros. */
void gt_copy_issue(void *to, const void *from, int bytes, int valid);
void gt_copy_commit(void);      /* what was issued since the last commit becomes one group */
void gt_copy_wait(int pending); /* until at most `pending` groups, the youngest ones, are in flight */
void gt_copy_wait_all(void);    /* committed or not */

/* The scheduler keeps the state of a barrier in shared memory; the barrier's 8 bytes must not be used
 * otherwise. */
void gt_mbarrier_init(void *barrier, int count);
/* One arrival that announces bytes, if `who`. Other threads may run before this one goes on. */
void gt_mbarrier_end(void *barrier); /* before its memory is used for something else */
void gt_mbarrier_arrive(void *barrier, unsigned bytes, int who);
void gt_mbarrier_arrive_copies(void *barrier); /* when this thread's earlier copies have completed */
void gt_mbarrier_wait(void *barrier, unsigned parity);
void gt_send(void *to, const void *from, unsigned bytes, void *barrier); /* addresses in another block */
/* Makes its target NaN at once and completes as late as allowed: when the barrier's phase lacks nothing else
 * and a thread waits for it, or goes on to the next phase. */
void gt_bulk_copy(void *to, const void *from, unsigned bytes, void *barrier);

/* The same for a box of a tensor map (cpu_tensor_map.h), with zeros for what is beyond its extents. */
void gt_tensor_copy(void *to, const void *map, int x, int y, int z, void *barrier);

/* The other way: reads the box when it starts and again when this thread waits for its group. */
void gt_tensor_store(const void *map, int x, int y, int z, const void *from);
void gt_tensor_store_end(void);
void gt_tensor_store_wait(int pending); /* until at most `pending` groups, the youngest ones, read a box */
void gt_shared_write(const void *to,
                     int bytes); /* this thread wrote there: it needs a fence before a store */
void gt_shared_fence(void);

void gt_product_begin(void); /* before a product with sums that no other one has on the way */
/* A thread's part of sums[quads][4] += left * right, of 64 x 16 by 16 x 8 quads, which reads the matrices
 * when this thread waits for its group; until then the sums are NaN. */
void gt_product_issue(float (*sums)[4], int quads, uint64_t left, uint64_t right, int left_along_k,
                      int right_along_k, int bf16, int anew); /* anew: what is in the sums is not added to */
/* The same for TF32, of 64 x 8 by 8 x 8 quads, with lines along k; x: the thread's four elements of the left
 * operand, where it is in registers, else NULL. */
void gt_product_issue_tf32(float (*sums)[4], int quads, uint64_t left, const float *x, uint64_t right);
/* The same for FP8 (E5M2), of 64 x 32 by 32 x 8 quads, with lines along k. */
void gt_product_issue_e5m2(float (*sums)[4], int quads, uint64_t left, uint64_t right, int anew);
/* Of BF16, with lines along k: x: the thread's four pairs of elements of the left operand. */
void gt_product_issue_left(float (*sums)[4], int quads, const unsigned *x, uint64_t right, int anew);
extern int gt_sums_again;          /* calls of sums_again() */
void gt_product_commit(void);      /* what was issued since the last commit becomes one group */
void gt_product_wait(int pending); /* until at most `pending` groups, the youngest ones, are on the way */

/* What a dependent kernel finds in global memory before it has waited is not yet what the kernel before
 * writes there (cpu_block.h: struct region). */
void gt_wait_for_kernel_before(void);

float *gt_dynamic_shared(void); /* exactly as many bytes as the launch asked for */

void gt_misaligned(const void *address, int bytes); /* ends the test */
}

#endif
