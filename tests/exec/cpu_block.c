#include "cpu_block.h"

#include "fiber.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARP = 32, THREADS_MAX = 1024, WARPS_MAX = THREADS_MAX / WARP };

struct gt_index {
    unsigned x, y, z;
};

/* The interface of gt_cpu.h. */
extern struct gt_index gt_thread_index, gt_block_index, gt_block_size, gt_grid_size;
void gt_barrier(int line);
void gt_warp_barrier(unsigned mask);
void gt_warp_exchange(unsigned mask, void *value, int bytes, int from);
void gt_copy_issue(void *to, const void *from, int bytes, int valid);
void gt_copy_commit(void);
void gt_copy_wait(int pending);
void gt_copy_wait_all(void);
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

enum state { READY, AT_BARRIER, AT_WARP_BARRIER, DONE };

struct thread {
    struct fiber *fiber;
    enum state state;
    int line;      /* of the barrier it waits at */
    unsigned mask; /* of the warp barrier it waits at */
    int exchanges; /* shuffles so far: their slots alternate, so a fast lane overwrites nothing that is still
                      read */
    struct copy *copies;
    int copy_count, copy_room, groups;
};

static struct thread threads[THREADS_MAX];
static unsigned char slots[WARPS_MAX][2][WARP][8];
static const struct grid *running;
static const struct gemm_args *arguments;
static int self, thread_count;
static char *dynamic_shared;
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
            gt_block_index.z, self);
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

void gt_warp_barrier(unsigned mask)
{
    if (!(mask >> self % WARP & 1)) broken("waits at a warp barrier whose mask 0x%08x leaves it out", mask);
    threads[self].mask = mask;
    wait_in(AT_WARP_BARRIER);
}

void gt_warp_exchange(unsigned mask, void *value, int bytes, int from)
{
    if (bytes != 4 && bytes != 8) broken("shuffles a value of %d bytes", bytes);
    int turn = threads[self].exchanges++ % 2, warp = self / WARP;
    memcpy(slots[warp][turn][self % WARP], value, (size_t)bytes);
    gt_warp_barrier(mask);
    bool there = from >= 0 && from < WARP && warp * WARP + from < thread_count;
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

/* Land what belongs to groups before `end`, and the open ones too if asked. */
static void land(int end, bool open)
{
    struct thread *t = &threads[self];
    int kept = 0;
    for (int i = 0; i < t->copy_count; i++) {
        const struct copy *copy = &t->copies[i];
        if (copy->group < 0 ? open : copy->group < end) memcpy(copy->to, copy->data, (size_t)copy->bytes);
        else t->copies[kept++] = *copy;
    }
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

float *gt_dynamic_shared(void)
{
    return (float *)(void *)dynamic_shared;
}

void gt_misaligned(const void *address, int bytes)
{
    broken("accesses %d bytes at the misaligned %p", bytes, address);
}

/* ---- the scheduler ---- */

static uint64_t random_state;

static unsigned draw(unsigned below) /* xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * UINT64_C(2685821657736338717) >> 33) % below);
}

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
    threads[self].state = DONE;
}

static void resume(int thread)
{
    self = thread;
    gt_thread_index = (struct gt_index){(unsigned)thread, 0, 0};
    fiber_enter(threads[thread].fiber);
}

/* Let the lanes go whose partners have all arrived. True if any may go on. */
static bool release_warp(int warp)
{
    int first = warp * WARP, lanes = thread_count - first < WARP ? thread_count - first : WARP;
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

static bool release_block(void)
{
    for (int i = 0; i < thread_count; i++)
        if (threads[i].state != AT_BARRIER) return false;
    for (int i = 0; i < thread_count; i++) {
        self = i;
        if (threads[i].line != threads[0].line)
            broken("barrier divergence: waits at line %d, thread 0 at line %d", threads[i].line,
                   threads[0].line);
    }
    for (int i = 0; i < thread_count; i++) threads[i].state = READY;
    return true;
}

static void report_deadlock(void)
{
    static const char *const doing[] = {"runs", "waits at __syncthreads", "waits at a warp barrier",
                                        "has ended"};
    for (int i = 1; i < thread_count; i++) {
        self = i;
        if (threads[i].state != threads[0].state)
            broken("barrier divergence: it %s, thread 0 %s", doing[threads[i].state],
                   doing[threads[0].state]);
    }
    broken("barrier divergence: a warp waits with different masks");
}

/* One pass: every thread that can runs to its next barrier; a warp whose lanes meet goes on at once. */
static void run_pass(void)
{
    int warps = (thread_count + WARP - 1) / WARP;
    int warp_order[WARPS_MAX], lane_order[WARP];
    permute(warp_order, warps, running->order);
    for (int w = 0; w < warps; w++) {
        do {
            permute(lane_order, WARP, running->order);
            for (int l = 0; l < WARP; l++) {
                int thread = warp_order[w] * WARP + lane_order[l];
                if (thread < thread_count && threads[thread].state == READY) resume(thread);
            }
        } while (release_warp(warp_order[w]));
    }
}

static bool all_done(void)
{
    for (int i = 0; i < thread_count; i++)
        if (threads[i].state != DONE) return false;
    return true;
}

static void run_block(void)
{
    char *begin, *end;
    running->static_shared(&begin, &end);
    poison(begin, end);
    poison(dynamic_shared, dynamic_shared + running->smem_bytes);
    for (int i = 0; i < thread_count; i++) {
        struct thread *t = &threads[i];
        if (!t->fiber) t->fiber = fiber_build();
        fiber_reset(t->fiber, thread_body, NULL);
        t->state = READY;
        t->exchanges = t->copy_count = t->groups = 0;
    }
    for (;;) {
        run_pass();
        if (all_done()) return;
        if (!release_block()) report_deadlock();
    }
}

void grid_run(const struct grid *grid, const struct gemm_args *args)
{
    if (grid->threads < 1 || grid->threads > THREADS_MAX) broken("a block of %u threads", grid->threads);
    if (grid->size[0] < 1 || grid->size[0] > INT32_MAX || grid->size[1] < 1 || grid->size[1] > 65535 ||
        grid->size[2] < 1 || grid->size[2] > 65535)
        broken("a grid of %u x %u x %u blocks", grid->size[0], grid->size[1], grid->size[2]);
    running = grid;
    arguments = args;
    thread_count = (int)grid->threads;
    random_state = grid->seed * 2 + 1;
    gt_block_size = (struct gt_index){grid->threads, 1, 1};
    gt_grid_size = (struct gt_index){grid->size[0], grid->size[1], grid->size[2]};
    void *block = NULL;
    if (posix_memalign(&block, 128, grid->smem_bytes ? grid->smem_bytes : 1)) abort();
    dynamic_shared = block;
    for (unsigned z = 0; z < grid->size[2]; z++)
        for (unsigned y = 0; y < grid->size[1]; y++)
            for (unsigned x = 0; x < grid->size[0]; x++) {
                gt_block_index = (struct gt_index){x, y, z};
                run_block();
            }
    free(block);
}
