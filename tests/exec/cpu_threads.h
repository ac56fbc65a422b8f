/* cpu_threads.h — the threads of the running cluster, shared by the two halves of cpu_block.h: cpu_block.c
 * schedules them, cpu_copies.c delays their copies. */
#ifndef GT_CPU_THREADS_H
#define GT_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { WARP = 32, BLOCK_MAX = 1024, CLUSTER_MAX = 8 };
enum { THREADS_MAX = BLOCK_MAX * CLUSTER_MAX, WARPS_MAX = THREADS_MAX / WARP };

/* A copy in flight to shared memory. */
struct copy {
    char *to;
    int bytes;
    int group; /* number of the commit that closed its group; -1: still open */
    unsigned char data[16];
};

enum state { READY, AT_BARRIER, AT_WARP_BARRIER, AT_GROUP_BARRIER, AT_CLUSTER_BARRIER, AT_MBARRIER, DONE };

struct mbarrier;

struct thread {
    struct fiber *fiber;
    enum state state;
    bool met;      /* has met the other blocks of the cluster at a barrier */
    int line;      /* of the barrier where it waits */
    unsigned mask; /* of the warp barrier where it waits */
    int group,
        group_count; /* number of the group barrier where it waits, and of the threads that meet there */
    const struct mbarrier *mbarrier;
    unsigned parity; /* of the phase of mbarrier for which it waits */
    int exchanges; /* shuffles so far: their slots alternate, so a fast lane overwrites nothing that is still
                      read */
    struct copy *copies;
    int copy_count, copy_room, groups, copies_landed;
};

/* Kernels are loaded dynamically, and their symbols must not resolve to these names. */
#pragma GCC visibility push(hidden)

/* Threads of all blocks of the running cluster, block after block; without clusters there is one block. */
extern struct thread threads[THREADS_MAX];
extern int self;
extern int thread_count; /* of a block */
extern int cluster;      /* number of blocks that run together */

/* Prints the place and ends the process. */
void broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Called in a fiber: leaves it, and returns when the state is READY again. */
void wait_in(enum state state);

unsigned draw(unsigned below);

/* ---- cpu_copies.c ---- */

void copies_begin(void); /* start of a cluster: no copies in flight, no mbarriers */

/* Releases threads that wait for a phase that is complete. True if any thread may go on. */
bool copies_release(void);

/* Check that a thread, a block with the given shared memory, and the cluster have nothing unfinished. */
void copies_end_thread(void);
void copies_end_block(const char *begin, const char *end);
void copies_end_cluster(void);

/* ---- cpu_products.c ---- */

void products_begin(void);      /* start of a cluster: no products on the way */
void products_end_thread(void); /* checks that the thread has waited for its products */

#pragma GCC visibility pop

#endif
