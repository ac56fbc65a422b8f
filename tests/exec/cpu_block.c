#include "cpu_block.h"

#include "cpu_threads.h"
#include "fiber.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gt_index {
    unsigned x, y, z;
};

/* The interface declared in gt_cpu.h. */
extern struct gt_index gt_thread_index, gt_block_index, gt_block_size, gt_grid_size;
void gt_barrier(int line);
void gt_group_barrier(int id, int count);
void gt_cluster_barrier(void);
const float *gt_cluster_shared(const float *own, unsigned rank);
float *gt_cluster_target(float *own, unsigned rank);
void gt_warp_barrier(unsigned mask);
void gt_warp_exchange(unsigned mask, void *value, int bytes, int from);
void gt_warp_share(const void *value, int bytes, void *all);
void gt_not_tf32(float value);
void gt_no_power(int e);
void gt_wait_for_kernel_before(void);
float *gt_dynamic_shared(void);
void gt_misaligned(const void *address, int bytes);

struct gt_index gt_thread_index, gt_block_index, gt_block_size, gt_grid_size;

enum { SLOT_BYTES = 48 }; /* data that lanes exchange */

struct thread threads[THREADS_MAX];
static unsigned char slots[WARPS_MAX][2][WARP][SLOT_BYTES];
static const struct grid *running;
static struct cpu_argument argument_of_all;
int self, thread_count, cluster;              /* cluster: blocks that run together, */
static struct gt_index together[CLUSTER_MAX]; /* these */
static bool is_cluster;
static char *dynamic_shared[CLUSTER_MAX];
static int ended[CLUSTER_MAX];             /* number of threads that have ended */
static bool waited[CLUSTER_MAX];           /* for the kernel before, or it is no dependent kernel */
static unsigned char *hidden[REGIONS_MAX]; /* what belongs in a region while it holds NaN */
static void (*say_more)(void);

void grid_on_broken(void (*say)(void))
{
    say_more = say;
}

void broken(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "broken kernel: block (%u,%u,%u) thread %d: ", gt_block_index.x, gt_block_index.y,
            gt_block_index.z, self % thread_count);
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
    va_end(values);
    if (say_more) say_more();
    _exit(BROKEN_KERNEL);
}

/* A quiet NaN in every float. Without the address sanitizer, because the red zones of static arrays lie in
 * the same section; overwriting them is harmless, since the sanitizer only looks at its shadow memory. */
__attribute__((no_sanitize("address"))) static void poison(char *begin, const char *end)
{
    for (volatile char *p = begin; p + 4 <= end; p += 4)
        *(volatile uint32_t *)(volatile void *)p = 0x7fc0dead;
}

static uint64_t random_state;

unsigned draw(unsigned below) /* xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * UINT64_C(2685821657736338717) >> 33) % below);
}

/* ---- barriers, called by the fibers ---- */

void wait_in(enum state state)
{
    threads[self].state = state;
    fiber_leave();
}

void gt_barrier(int line)
{
    threads[self].line = line;
    wait_in(AT_BARRIER);
}

void gt_group_barrier(int id, int count)
{
    if (id < 1 || id > 15) broken("waits at the group barrier %d", id);
    if (count % WARP || count < WARP) broken("waits with %d threads at a group barrier", count);
    threads[self].group = id;
    threads[self].group_count = count;
    wait_in(AT_GROUP_BARRIER);
}

void gt_cluster_barrier(void)
{
    wait_in(AT_CLUSTER_BARRIER);
}

/* The same address in the shared memory of another block. */
const float *gt_cluster_shared(const float *own, unsigned rank)
{
    const char *mine = dynamic_shared[self / thread_count];
    if (rank >= (unsigned)cluster) broken("uses block %u of a cluster of %d", rank, cluster);
    return (const float *)(const void *)(dynamic_shared[rank] + ((const char *)own - mine));
}

float *gt_cluster_target(float *own, unsigned rank)
{
    if (!threads[self].met) broken("writes to block %u, which may not have begun", rank);
    return own + (gt_cluster_shared(own, rank) - own);
}

/* Lanes are numbered within the block. */
static int lane_of_self(void)
{
    return self % thread_count % WARP;
}

void gt_warp_barrier(unsigned mask)
{
    if (!(mask >> lane_of_self() & 1))
        broken("waits at a warp barrier whose mask 0x%08x leaves it out", mask);
    threads[self].mask = mask;
    wait_in(AT_WARP_BARRIER);
}

void gt_warp_exchange(unsigned mask, void *value, int bytes, int from)
{
    if (bytes != 4 && bytes != 8) broken("shuffles a value of %d bytes", bytes);
    int turn = threads[self].exchanges++ % 2, warp = self / WARP;
    memcpy(slots[warp][turn][lane_of_self()], value, (size_t)bytes);
    gt_warp_barrier(mask);
    bool there = from >= 0 && from < WARP && warp * WARP + from < cluster * thread_count;
    if (there && !(mask >> from & 1)) broken("reads lane %d, which its mask 0x%08x leaves out", from, mask);
    if (there) memcpy(value, slots[warp][turn][from], (size_t)bytes);
}

void gt_warp_share(const void *value, int bytes, void *all)
{
    if (bytes > SLOT_BYTES) broken("shares a value of %d bytes", bytes);
    int turn = threads[self].exchanges++ % 2, warp = self / WARP;
    if (thread_count % WARP)
        broken("needs whole warps, but a block of %d threads ends in a part of one", thread_count);
    memcpy(slots[warp][turn][lane_of_self()], value, (size_t)bytes);
    gt_warp_barrier(0xffffffffU);
    for (int lane = 0; lane < WARP; lane++)
        memcpy((char *)all + (size_t)(lane * bytes), slots[warp][turn][lane], (size_t)bytes);
}

void gt_not_tf32(float value)
{
    broken("multiplies %a, which has not been rounded to TF32", (double)value);
}

void gt_no_power(int e)
{
    broken("takes 2^%d for a float", e);
}

float *gt_dynamic_shared(void)
{
    return (float *)(void *)dynamic_shared[self / thread_count];
}

void gt_misaligned(const void *address, int bytes)
{
    broken("accesses %d bytes at the misaligned %p", bytes, address);
}

/* ---- the kernel before ---- */

enum { UNWRITTEN = 0xff }; /* in every byte: NaN in all types, and no address */

static void hide_regions(void)
{
    for (int i = 0; i < running->regions; i++) {
        const struct region *const region = &running->region[i];
        if (!(hidden[i] = malloc(region->bytes))) abort();
        memcpy(hidden[i], region->at, region->bytes);
        memset(region->at, UNWRITTEN, region->bytes);
    }
}

static void show_regions(void)
{
    for (int i = 0; i < running->regions; i++) {
        const struct region *const region = &running->region[i];
        for (size_t byte = 0; byte < region->bytes; byte++)
            if (((const unsigned char *)region->at)[byte] != UNWRITTEN)
                broken("a block wrote to global memory before it had waited for the kernel before");
        memcpy(region->at, hidden[i], region->bytes);
        free(hidden[i]);
    }
}

static bool any_waited(void)
{
    for (int i = 0; i < cluster; i++)
        if (waited[i]) return true;
    return false;
}

/* When one block of those that run together has waited, the kernel before has ended for the others, too. */
void gt_wait_for_kernel_before(void)
{
    if (running->dependent && !any_waited()) show_regions();
    waited[self / thread_count] = true;
}

/* ---- the scheduler ---- */

static void permute(int *list, int count, enum block_order order)
{
    for (int i = 0; i < count; i++) list[i] = order == ORDER_REVERSE ? count - 1 - i : i;
    if (order != ORDER_RANDOM) return;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)draw((unsigned)i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

/* Of blocks (of clusters the first ones), which may be many: a random order is a first one and a distance
 * that has no divisor in common with their number. */
struct sequence {
    int64_t count, next, step;
};

static int64_t common_divisor(int64_t x, int64_t y)
{
    return y == 0 ? x : common_divisor(y, x % y);
}

static struct sequence sequence_of(int64_t count, enum block_order order)
{
    struct sequence s = {.count = count, .step = 1};
    if (order == ORDER_REVERSE) s.next = s.step = count - 1;
    if (order != ORDER_RANDOM) return s;
    const unsigned most = count < UINT32_MAX ? (unsigned)count : UINT32_MAX;
    s.next = draw(most);
    do s.step = 1 + draw(most);
    while (common_divisor(s.step, count) != 1);
    return s;
}

static struct gt_index take_block(struct sequence *s)
{
    const unsigned *const size = running->size, rows = is_cluster ? size[1] / (unsigned)cluster : size[1];
    const int64_t number = s->next, row = number / size[0];
    s->next = (number + s->step) % s->count;
    return (struct gt_index){(unsigned)(number % size[0]),
                             (unsigned)(row % rows) * (is_cluster ? (unsigned)cluster : 1),
                             (unsigned)(row / rows)};
}

static void thread_body(void *unused)
{
    (void)unused;
    running->kernel(argument_of_all);
    copies_end_thread();
    products_end_thread();
    threads[self].state = DONE;
    /* The shared memory of a block that has ended is not available to the others of its cluster any more. */
    const int block = self / thread_count;
    if (++ended[block] < thread_count) return;
    if (!waited[block]) broken("a dependent kernel's block ends without having waited for the kernel before");
    char *begin = dynamic_shared[block], *end = begin + running->smem_bytes;
    copies_end_block(begin, end);
    poison(begin, end);
}

static void resume(int thread)
{
    self = thread;
    gt_thread_index = (struct gt_index){(unsigned)(thread % thread_count), 0, 0};
    gt_block_index = together[thread / thread_count];
    fiber_enter(threads[thread].fiber);
}

/* Releases lanes whose partners have all arrived. True if any lane may go on. */
static bool release_warp(int first, int lanes)
{
    bool released = false;
    for (int lane = 0; lane < lanes; lane++) {
        const struct thread *t = &threads[first + lane];
        if (t->state != AT_WARP_BARRIER) continue;
        unsigned mask = t->mask;
        bool complete = true;
        for (int other = 0; other < lanes; other++) {
            const struct thread *o = &threads[first + other];
            if (mask >> other & 1 && (o->state != AT_WARP_BARRIER || o->mask != mask)) complete = false;
        }
        if (!complete) continue;
        for (int other = 0; other < lanes; other++)
            if (mask >> other & 1) threads[first + other].state = READY;
        released = true;
    }
    return released;
}

static bool all_are(int first, int count, enum state state)
{
    for (int i = first; i < first + count; i++)
        if (threads[i].state != state) return false;
    return true;
}

static bool release(int first, int count, enum state state)
{
    if (!all_are(first, count, state)) return false;
    for (int i = first; i < first + count; i++) {
        self = i;
        if (state == AT_BARRIER && threads[i].line != threads[first].line)
            broken("barrier divergence: waits at line %d, thread 0 at line %d", threads[i].line,
                   threads[first].line);
    }
    for (int i = first; i < first + count; i++) {
        threads[i].met |= state == AT_CLUSTER_BARRIER;
        threads[i].state = READY;
    }
    return true;
}

/* Group barriers of a block where as many threads wait as are to meet. True if any thread may go on. */
static bool release_groups(int first)
{
    int waiting[16] = {0};
    bool released = false;
    for (int i = first; i < first + thread_count; i++)
        if (threads[i].state == AT_GROUP_BARRIER) waiting[threads[i].group]++;
    for (int i = first; i < first + thread_count; i++) {
        if (threads[i].state != AT_GROUP_BARRIER || waiting[threads[i].group] != threads[i].group_count)
            continue;
        threads[i].state = READY;
        released = true;
    }
    return released;
}

/* Barriers of groups, of blocks and of the cluster. True if any thread may go on. */
static bool release_blocks(void)
{
    bool released = false;
    for (int i = 0; i < cluster; i++) released |= release_groups(i * thread_count);
    for (int i = 0; i < cluster; i++) released |= release(i * thread_count, thread_count, AT_BARRIER);
    return released || release(0, cluster * thread_count, AT_CLUSTER_BARRIER);
}

static void report_deadlock(void)
{
    static const char *const doing[] = {"runs",
                                        "waits at __syncthreads",
                                        "waits at a warp barrier",
                                        "waits at a group barrier",
                                        "waits at a cluster barrier",
                                        "waits at an mbarrier",
                                        "has ended"};
    for (int i = 1; i < cluster * thread_count; i++) {
        self = i;
        if (threads[i].state != threads[0].state)
            broken("barrier divergence: it %s, thread 0 %s", doing[threads[i].state],
                   doing[threads[0].state]);
    }
    broken(threads[0].state == AT_MBARRIER ? "waits for a phase of an mbarrier that never ends"
                                           : "barrier divergence: a warp waits with different masks");
}

/* One pass: every ready thread runs to its next barrier; a warp whose lanes have all arrived goes on at
 * once, but in random order it may have to wait for the others. Of two blocks that are no cluster one may
 * have to wait. */
static void run_pass(void)
{
    static int warp_order[WARPS_MAX];
    int lane_order[WARP], block_warps = (thread_count + WARP - 1) / WARP, warps = cluster * block_warps;
    const int waits = cluster > 1 && !is_cluster ? (int)draw(3) : cluster;
    permute(warp_order, warps, running->order);
    for (int w = 0; w < warps; w++) {
        if (warp_order[w] / block_warps == waits) continue;
        int block = warp_order[w] / block_warps, begin = warp_order[w] % block_warps * WARP;
        int lanes = thread_count - begin < WARP ? thread_count - begin : WARP;
        int first = block * thread_count + begin;
        do {
            permute(lane_order, WARP, running->order);
            for (int l = 0; l < WARP; l++)
                if (lane_order[l] < lanes && threads[first + lane_order[l]].state == READY)
                    resume(first + lane_order[l]);
        } while (release_warp(first, lanes) && (running->order != ORDER_RANDOM || draw(3)));
    }
}

/* Runs the blocks of `together`. */
static void run_together(void)
{
    char *begin, *end;
    running->static_shared(&begin, &end);
    poison(begin, end);
    for (int i = 0; i < cluster; i++) {
        poison(dynamic_shared[i], dynamic_shared[i] + running->smem_bytes);
        ended[i] = 0;
    }
    for (int i = 0; i < cluster * thread_count; i++) {
        struct thread *t = &threads[i];
        if (!t->fiber) t->fiber = fiber_build();
        fiber_reset(t->fiber, thread_body, NULL);
        t->state = READY;
        t->met = false;
        t->exchanges = 0;
    }
    for (int i = 0; i < cluster; i++) waited[i] = !running->dependent;
    if (running->dependent) hide_regions();
    copies_begin();
    products_begin();
    for (;;) {
        run_pass();
        if (all_are(0, cluster * thread_count, DONE)) break;
        bool released = copies_release();
        if (!release_blocks() && !released) report_deadlock();
    }
    copies_end_cluster();
}

void grid_run(const struct grid *grid, const void *argument, size_t bytes)
{
    thread_count = (int)grid->threads;
    cluster = grid->cluster > 1 ? (int)grid->cluster : 1;
    if (grid->threads < 1 || grid->threads > BLOCK_MAX) broken("a block of %u threads", grid->threads);
    if (cluster > CLUSTER_MAX || grid->size[1] % (unsigned)cluster)
        broken("clusters of %d blocks in a grid of %u", cluster, grid->size[1]);
    if (cluster > 1 && thread_count % WARP) broken("a cluster of blocks that end within a warp");
    if (grid->size[0] < 1 || grid->size[0] > INT32_MAX || grid->size[1] < 1 || grid->size[1] > 65535 ||
        grid->size[2] < 1 || grid->size[2] > 65535)
        broken("a grid of %u x %u x %u blocks", grid->size[0], grid->size[1], grid->size[2]);
    running = grid;
    memset(&argument_of_all, 0x5a, sizeof argument_of_all);
    memcpy(&argument_of_all, argument, bytes);
    random_state = grid->seed * 2 + 1;
    gt_block_size = (struct gt_index){grid->threads, 1, 1};
    gt_grid_size = (struct gt_index){grid->size[0], grid->size[1], grid->size[2]};
    char *begin, *end;
    grid->static_shared(&begin, &end);
    is_cluster = cluster > 1;
    const bool pairs = !is_cluster && grid->order == ORDER_RANDOM && thread_count % WARP == 0 && begin == end;
    const int at_once = pairs ? 2 : cluster;
    for (int i = 0; i < at_once; i++) {
        void *block = NULL;
        if (posix_memalign(&block, 128, grid->smem_bytes ? grid->smem_bytes : 1)) abort();
        dynamic_shared[i] = block;
    }
    const int64_t groups = (int64_t)grid->size[0] * (grid->size[1] / (unsigned)cluster) * grid->size[2];
    struct sequence blocks = sequence_of(groups, grid->order);
    for (int64_t left = groups; left > 0; left -= is_cluster ? 1 : cluster) {
        if (pairs) cluster = left > 1 ? 2 : 1;
        for (int i = 0; i < cluster; i++) {
            together[i] = is_cluster && i > 0 ? together[i - 1] : take_block(&blocks);
            together[i].y += is_cluster && i > 0;
        }
        run_together();
    }
    for (int i = 0; i < at_once; i++) free(dynamic_shared[i]);
}
