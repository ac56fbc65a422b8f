#include "cpu_block.h"

#include "fiber.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARP = 32, BLOCK_MAX = 1024, CLUSTER_MAX = 8 };
enum { THREADS_MAX = BLOCK_MAX * CLUSTER_MAX, WARPS_MAX = THREADS_MAX / WARP };
enum { MBARRIERS_MAX = 128, MBARRIER_BYTES = 8, MBARRIER_MARK = 0xb5 };

struct gt_index {
    unsigned x, y, z;
};

/* The interface of gt_cpu.h. */
extern struct gt_index gt_thread_index, gt_block_index, gt_block_size, gt_grid_size;
void gt_barrier(int line);
void gt_cluster_barrier(void);
const float *gt_cluster_shared(const float *own, unsigned rank);
float *gt_cluster_target(float *own, unsigned rank);
void gt_warp_barrier(unsigned mask);
void gt_warp_exchange(unsigned mask, void *value, int bytes, int from);
void gt_copy_issue(void *to, const void *from, int bytes, int valid);
void gt_copy_commit(void);
void gt_copy_wait(int pending);
void gt_copy_wait_all(void);
void gt_mbarrier_init(void *barrier, int count);
void gt_mbarrier_end(void *barrier);
void gt_mbarrier_arrive(void *barrier, unsigned bytes, int who);
void gt_mbarrier_arrive_copies(void *barrier);
void gt_mbarrier_wait(void *barrier, unsigned parity);
void gt_send(void *to, const void *from, unsigned bytes, void *barrier);
void gt_bulk_copy(void *to, const void *from, unsigned bytes, void *barrier);
float *gt_dynamic_shared(void);
void gt_misaligned(const void *address, int bytes);

struct gt_index gt_thread_index, gt_block_index, gt_block_size, gt_grid_size;

/* A copy on its way to shared memory. */
struct copy {
    char *to;
    int bytes;
    int group; /* number of the commit that closed it; -1: still open */
    unsigned char data[16];
};

/* A bulk copy, or the arrival of a thread as soon as its first copies have landed: both are held back until
 * the phase of the barrier lacks nothing else. */
struct held_back {
    char *to; /* NULL: an arrival */
    int bytes;
    unsigned char *data;
    int thread, copies; /* its copies up to this number */
};

struct mbarrier {
    char *at;
    int count, pending; /* arrivals of a phase, and those that this one still lacks */
    int64_t bytes;      /* that arrivals of this phase have announced */
    unsigned phase;
    struct held_back *held;
    int held_count, held_room;
};

enum state { READY, AT_BARRIER, AT_WARP_BARRIER, AT_CLUSTER_BARRIER, AT_MBARRIER, DONE };

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

/* Of all blocks of the cluster that runs, one after the other; without clusters that is one block. */
static struct thread threads[THREADS_MAX];
static unsigned char slots[WARPS_MAX][2][WARP][8];
static const struct grid *running;
static const struct gemm_args *arguments;
static int self;
static int thread_count; /* of a block */
static int cluster;      /* blocks that run together */
static unsigned first_y; /* their first place in the grid */
static char *dynamic_shared[CLUSTER_MAX];
static int ended[CLUSTER_MAX];                   /* threads */
static struct mbarrier mbarriers[MBARRIERS_MAX]; /* of the blocks that run */
static int mbarrier_count;
static void (*say_more)(void);

void grid_on_broken(void (*say)(void))
{
    say_more = say;
}

static void broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void broken(const char *format, ...)
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

/* A quiet NaN in every float. No sanitizer here: a static array's red zone lies in the same section and may
 * be overwritten, since only the shadow says what it is. */
__attribute__((no_sanitize("address"))) static void poison(char *begin, const char *end)
{
    for (volatile char *p = begin; p + 4 <= end; p += 4)
        *(volatile uint32_t *)(volatile void *)p = 0x7fc0dead;
}

static uint64_t random_state;

static unsigned draw(unsigned below) /* xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * UINT64_C(2685821657736338717) >> 33) % below);
}

/* ---- barriers, called by the fibers ---- */

static void wait_in(enum state state)
{
    threads[self].state = state;
    fiber_leave();
}

void gt_barrier(int line)
{
    threads[self].line = line;
    wait_in(AT_BARRIER);
}

void gt_cluster_barrier(void)
{
    wait_in(AT_CLUSTER_BARRIER);
}

/* The same place in the shared memory of another block. */
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

/* Lanes are counted within the block. */
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

/* ---- asynchronous copies ---- */

void gt_copy_issue(void *to, const void *from, int bytes, int valid)
{
    struct thread *t = &threads[self];
    if (bytes != 4 && bytes != 8 && bytes != 16) broken("copies %d bytes at once", bytes);
    if (valid < 0 || valid > bytes) broken("copies %d valid bytes of %d", valid, bytes);
    if ((uintptr_t)to % (unsigned)bytes) broken("copies %d bytes to the misaligned %p", bytes, to);
    if (valid && (uintptr_t)from % (unsigned)bytes)
        broken("copies %d bytes from the misaligned %p", bytes, from);
    if (t->copy_count == t->copy_room) {
        t->copy_room = t->copy_room ? 2 * t->copy_room : 64;
        t->copies = realloc(t->copies, (size_t)t->copy_room * sizeof *t->copies);
        if (!t->copies) abort();
    }
    struct copy *copy = &t->copies[t->copy_count++];
    *copy = (struct copy){.to = to, .bytes = bytes, .group = -1};
    memcpy(copy->data, from, (size_t)valid); /* checked by the address sanitizer */
    memset(to, 0xff, (size_t)bytes);         /* in flight: what lies there is nobody's, and a NaN */
}

void gt_copy_commit(void)
{
    struct thread *t = &threads[self];
    for (int i = t->copy_count; i > 0 && t->copies[i - 1].group < 0; i--) t->copies[i - 1].group = t->groups;
    t->groups++;
}

/* Two copies of the same to the same place are no harm. */
static void check_untouched(const char *to, const unsigned char *data, int bytes)
{
    for (int i = 0; i < bytes; i++)
        if ((unsigned char)to[i] != 0xff && (unsigned char)to[i] != data[i])
            broken("somebody wrote to %p while a copy was on its way there", (const void *)to);
}

static void land_one(const struct copy *copy)
{
    check_untouched(copy->to, copy->data, copy->bytes);
    memcpy(copy->to, copy->data, (size_t)copy->bytes);
}

/* Land what belongs to groups before `end`, and the open ones too if asked. */
static void land(int end, bool open)
{
    struct thread *t = &threads[self];
    int kept = 0;
    for (int i = 0; i < t->copy_count; i++) {
        const struct copy *copy = &t->copies[i];
        if (copy->group < 0 ? open : copy->group < end) land_one(copy);
        else t->copies[kept++] = *copy;
    }
    t->copies_landed += t->copy_count - kept;
    t->copy_count = kept;
}

void gt_copy_wait(int pending)
{
    land(threads[self].groups - pending, false);
}

void gt_copy_wait_all(void)
{
    land(threads[self].groups, true);
}

/* ---- barriers with phases ---- */

static struct mbarrier *mbarrier_at(const void *at)
{
    for (int i = 0; i < mbarrier_count; i++) {
        if (mbarriers[i].at != at) continue;
        for (int b = 0; b < MBARRIER_BYTES; b++)
            if ((unsigned char)mbarriers[i].at[b] != MBARRIER_MARK)
                broken("somebody wrote over the mbarrier at %p", at);
        return &mbarriers[i];
    }
    broken("uses an mbarrier at %p, which nobody has initialised", at);
}

void gt_mbarrier_init(void *at, int count)
{
    if ((uintptr_t)at % MBARRIER_BYTES) broken("has an mbarrier at the misaligned %p", at);
    if (count < 1) broken("has an mbarrier of %d arrivals", count);
    for (int i = 0; i < mbarrier_count; i++)
        if (mbarriers[i].at == at) broken("initialises the mbarrier at %p twice", at);
    if (mbarrier_count == MBARRIERS_MAX) broken("has more than %d mbarriers", MBARRIERS_MAX);
    struct mbarrier *b = &mbarriers[mbarrier_count++];
    memset(at, MBARRIER_MARK, MBARRIER_BYTES);
    *b = (struct mbarrier){
        .at = at, .count = count, .pending = count, .held = b->held, .held_room = b->held_room};
}

static struct held_back *hold_back(struct mbarrier *b)
{
    if (b->held_count == b->held_room) {
        b->held_room = b->held_room ? 2 * b->held_room : 64;
        b->held = realloc(b->held, (size_t)b->held_room * sizeof *b->held);
        if (!b->held) abort();
    }
    struct held_back *held = &b->held[b->held_count++];
    *held = (struct held_back){.thread = self};
    return held;
}

/* What a thread has copied up to a number: the copies that have not landed are in order. */
static void land_copies_of(int thread, int end)
{
    struct thread *t = &threads[thread];
    const int landing = end - t->copies_landed;
    if (landing <= 0) return;
    for (int i = 0; i < landing; i++) land_one(&t->copies[i]);
    t->copy_count -= landing;
    t->copies_landed = end;
    memmove(t->copies, t->copies + landing, (size_t)t->copy_count * sizeof *t->copies);
}

/* The next phase, if this one lacks nothing but what is held back. */
static void complete(struct mbarrier *b)
{
    int64_t bytes = 0;
    int arrivals = 0;
    for (int i = 0; i < b->held_count; i++) {
        if (b->held[i].to) bytes += b->held[i].bytes;
        else arrivals++;
    }
    if (b->pending > arrivals || b->bytes != bytes) return;
    for (int i = 0; i < b->held_count; i++) {
        struct held_back *held = &b->held[i];
        if (!held->to) {
            land_copies_of(held->thread, held->copies);
            continue;
        }
        check_untouched(held->to, held->data, held->bytes);
        memcpy(held->to, held->data, (size_t)held->bytes);
        free(held->data);
    }
    b->held_count = 0;
    b->bytes = 0;
    b->pending = b->count;
    b->phase++;
}

/* In every order: others may be anywhere when this thread goes on, ahead of it or far behind. */
static void let_others_run(void)
{
    if (draw(2)) wait_in(READY);
}

void gt_mbarrier_arrive(void *at, unsigned bytes, int who)
{
    if (who) {
        struct mbarrier *b = mbarrier_at(at);
        if (b->pending == 0) broken("arrives at the mbarrier at %p, which expects nobody any more", at);
        b->pending--;
        b->bytes += bytes;
        complete(b);
    }
    let_others_run();
}

void gt_mbarrier_arrive_copies(void *at)
{
    struct mbarrier *b = mbarrier_at(at);
    const struct thread *t = &threads[self];
    hold_back(b)->copies = t->copies_landed + t->copy_count;
    complete(b);
    let_others_run();
}

static void send(void *to, const void *from, unsigned bytes, struct mbarrier *b)
{
    struct held_back *held = hold_back(b);
    held->to = to;
    held->bytes = (int)bytes;
    held->data = malloc(bytes);
    if (!held->data) abort();
    memcpy(held->data, from, bytes); /* checked by the address sanitizer */
    memset(to, 0xff, bytes);
}

void gt_send(void *to, const void *from, unsigned bytes, void *at)
{
    struct mbarrier *b = mbarrier_at(at);
    send(to, from, bytes, b);
    complete(b);
}

void gt_bulk_copy(void *to, const void *from, unsigned bytes, void *at)
{
    if (bytes % 16) broken("copies %u bytes in bulk", bytes);
    if ((uintptr_t)to % 16) broken("copies in bulk to the misaligned %p", to);
    if ((uintptr_t)from % 16) broken("copies in bulk from the misaligned %p", from);
    struct mbarrier *b = mbarrier_at(at);
    if (bytes > 0) send(to, from, bytes, b);
    complete(b);
}

static bool is_complete(const struct mbarrier *b, unsigned parity)
{
    return b->phase % 2 != parity;
}

void gt_mbarrier_wait(void *at, unsigned parity)
{
    struct thread *t = &threads[self];
    t->mbarrier = mbarrier_at(at);
    t->parity = parity;
    if (parity > 1) broken("waits for the parity %u", parity);
    if (!is_complete(t->mbarrier, parity)) wait_in(AT_MBARRIER);
}

/* True if any thread may go on. */
static bool release_mbarriers(void)
{
    bool released = false;
    for (int i = 0; i < cluster * thread_count; i++) {
        struct thread *t = &threads[i];
        if (t->state == AT_MBARRIER && is_complete(t->mbarrier, t->parity)) t->state = READY;
        released |= t->state == READY;
    }
    return released;
}

/* What lies at an mbarrier stays its own until it has ended. */
void gt_mbarrier_end(void *at)
{
    struct mbarrier *b = mbarrier_at(at), *last = &mbarriers[mbarrier_count - 1];
    if (b->held_count > 0) broken("ends the mbarrier at %p, where arrivals are still to come", at);
    for (int i = 0; i < cluster * thread_count; i++)
        if (threads[i].state == AT_MBARRIER && threads[i].mbarrier == b)
            broken("ends the mbarrier at %p, where thread %d waits", at, i);
        else if (threads[i].mbarrier == last) threads[i].mbarrier = b;
    const struct mbarrier past = *b;
    *b = *last;
    *last = past; /* keeps its memory */
    mbarrier_count--;
}

/* When a block ends: what it did not end itself must be whole still. */
static void check_mbarriers_of(int block)
{
    const char *begin = dynamic_shared[block], *end = begin + running->smem_bytes;
    for (int i = 0; i < mbarrier_count; i++)
        if (mbarriers[i].at >= begin && mbarriers[i].at < end) mbarrier_at(mbarriers[i].at);
}

static void check_nothing_held_back(void)
{
    for (int i = 0; i < mbarrier_count; i++)
        if (mbarriers[i].held_count > 0)
            broken("ends before what it has copied in bulk, or with arrivals still to come");
}

float *gt_dynamic_shared(void)
{
    return (float *)(void *)dynamic_shared[self / thread_count];
}

void gt_misaligned(const void *address, int bytes)
{
    broken("accesses %d bytes at the misaligned %p", bytes, address);
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

static void thread_body(void *unused)
{
    (void)unused;
    running->kernel(*arguments);
    for (int i = 0; i < threads[self].copy_count; i++) {
        const struct copy *copy = &threads[self].copies[i];
        check_untouched(copy->to, copy->data, copy->bytes);
    }
    threads[self].state = DONE;
    /* The shared memory of a block that has ended is no longer there for the others of its cluster. */
    const int block = self / thread_count;
    if (++ended[block] < thread_count) return;
    check_mbarriers_of(block);
    poison(dynamic_shared[block], dynamic_shared[block] + running->smem_bytes);
}

static void resume(int thread)
{
    self = thread;
    gt_thread_index = (struct gt_index){(unsigned)(thread % thread_count), 0, 0};
    gt_block_index.y = first_y + (unsigned)(thread / thread_count);
    fiber_enter(threads[thread].fiber);
}

/* Let the lanes go whose partners have all arrived. True if any may go on. */
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

/* Barriers of blocks and of the cluster. True if any thread may go on. */
static bool release_blocks(void)
{
    bool released = false;
    for (int i = 0; i < cluster; i++) released |= release(i * thread_count, thread_count, AT_BARRIER);
    return released || release(0, cluster * thread_count, AT_CLUSTER_BARRIER);
}

static void report_deadlock(void)
{
    static const char *const doing[] = {"runs",
                                        "waits at __syncthreads",
                                        "waits at a warp barrier",
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

/* One pass: every thread that can runs to its next barrier; a warp whose lanes meet goes on at once. */
static void run_pass(void)
{
    static int warp_order[WARPS_MAX];
    int lane_order[WARP], block_warps = (thread_count + WARP - 1) / WARP, warps = cluster * block_warps;
    permute(warp_order, warps, running->order);
    for (int w = 0; w < warps; w++) {
        int block = warp_order[w] / block_warps, begin = warp_order[w] % block_warps * WARP;
        int lanes = thread_count - begin < WARP ? thread_count - begin : WARP;
        int first = block * thread_count + begin;
        do {
            permute(lane_order, WARP, running->order);
            for (int l = 0; l < WARP; l++)
                if (lane_order[l] < lanes && threads[first + lane_order[l]].state == READY)
                    resume(first + lane_order[l]);
        } while (release_warp(first, lanes));
    }
}

/* The blocks (x, first_y .. first_y + cluster - 1, z), together. */
static void run_cluster(void)
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
        t->exchanges = t->copy_count = t->groups = t->copies_landed = 0;
    }
    mbarrier_count = 0;
    for (;;) {
        run_pass();
        if (all_are(0, cluster * thread_count, DONE)) break;
        bool released = release_mbarriers();
        if (!release_blocks() && !released) report_deadlock();
    }
    check_nothing_held_back();
}

void grid_run(const struct grid *grid, const struct gemm_args *args)
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
    arguments = args;
    random_state = grid->seed * 2 + 1;
    gt_block_size = (struct gt_index){grid->threads, 1, 1};
    gt_grid_size = (struct gt_index){grid->size[0], grid->size[1], grid->size[2]};
    for (int i = 0; i < cluster; i++) {
        void *block = NULL;
        if (posix_memalign(&block, 128, grid->smem_bytes ? grid->smem_bytes : 1)) abort();
        dynamic_shared[i] = block;
    }
    for (unsigned z = 0; z < grid->size[2]; z++)
        for (first_y = 0; first_y < grid->size[1]; first_y += (unsigned)cluster)
            for (unsigned x = 0; x < grid->size[0]; x++) {
                gt_block_index = (struct gt_index){x, first_y, z};
                run_cluster();
            }
    for (int i = 0; i < cluster; i++) free(dynamic_shared[i]);
}
