/* cpu_threads.h — the threads of the cluster that runs, between the two halves of cpu_block.h: cpu_block.c
 * schedules them, cpu_copies.c holds their copies back.
 */
#ifndef GT_CPU_THREADS_H
#define GT_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { WARP = 32, BLOCK_MAX = 1024, CLUSTER_MAX = 8 };
enum { THREADS_MAX = BLOCK_MAX * CLUSTER_MAX, WARPS_MAX = THREADS_MAX / WARP };

/* A copy on its way to shared memory. */
struct copy {
    char *to;
    int bytes;
    int group; /* number of the commit that closed it; -1: still open */
    unsigned char data[16];
};

enum state { READY, AT_BARRIER, AT_WARP_BARRIER, AT_CLUSTER_BARRIER, AT_MBARRIER, DONE };

struct mbarrier;

struct thread {
    struct fiber *fiber;
    enum state state;
    bool met;      /* the other blocks of the cluster at a barrier */
    int line;      /* of the barrier it waits at */
    unsigned mask; /* of the warp barrier it waits at */
    const struct mbarrier *mbarrier;
    unsigned parity; /* of the phase of mbarrier that it waits for */
    int exchanges; /* shuffles so far: their slots alternate, so a fast lane overwrites nothing that is still
                      read */
    struct copy *copies;
    int copy_count, copy_room, groups, copies_landed;
};

/* Kernels are loaded beside these names and must not take them for their own. */
#pragma GCC visibility push(hidden)

/* Of all blocks of the cluster that runs, one after the other; without clusters that is one block. */
extern struct thread threads[THREADS_MAX];
extern int self;
extern int thread_count; /* of a block */
extern int cluster;      /* blocks that run together */

/* Says where and ends the process. */
void broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* In a fiber: leave, and go on when the state is READY again. */
void wait_in(enum state state);

unsigned draw(unsigned below);

/* ---- cpu_copies.c ---- */

void copies_begin(void); /* a cluster: nothing is on its way, there is no mbarrier */

/* Let go who waits for a phase that has ended. True if any thread may go on. */
bool copies_release(void);

/* What a thread, a block whose shared memory is given, and the cluster must not leave behind. */
void copies_end_thread(void);
void copies_end_block(const char *begin, const char *end);
void copies_end_cluster(void);

#pragma GCC visibility pop

#endif
