/* cpu_copies.c — asynchronous copies, in groups or counted by mbarriers; they complete when awaited. */
#include "cpu_tensor_map.h"
#include "cpu_threads.h"

#include <stdlib.h>
#include <string.h>

enum { MBARRIERS_MAX = 128, MBARRIER_BYTES = 8, MBARRIER_MARK = 0xb5 };

/* The interface declared in gt_cpu.h. */
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
void gt_tensor_copy(void *to, const void *map, int x, int y, int z, void *barrier);
void gt_shared_write(const void *to, int bytes);
void gt_shared_fence(void);
void gt_tensor_store(const void *map, int x, int y, int z, const void *from);
void gt_tensor_store_end(void);
void gt_tensor_store_wait(int pending);

/* A bulk copy, or the arrival of a thread that waits for its earlier copies. Both are held back until the
 * phase of the barrier lacks nothing else, and somebody waits for it. */
struct held_back {
    char *to; /* NULL: an arrival */
    int bytes;
    unsigned char *data;
    int thread, copies; /* for an arrival: the thread's copies up to this number */
};

struct mbarrier {
    char *at;
    int count, pending; /* arrivals of a phase; arrivals that are still missing in this one */
    int64_t bytes;      /* announced in this phase and not yet copied */
    unsigned phase;
    struct held_back *held;
    int held_count, held_room, held_arrivals;
    int64_t held_bytes;
};

static struct mbarrier mbarriers[MBARRIERS_MAX]; /* of the running blocks */
static int mbarrier_count;

/* ---- in groups ---- */

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
    memset(to, 0xff, (size_t)bytes);         /* in flight: the target must not be read, and is NaN */
}

void gt_copy_commit(void)
{
    struct thread *t = &threads[self];
    for (int i = t->copy_count; i > 0 && t->copies[i - 1].group < 0; i--) t->copies[i - 1].group = t->groups;
    t->groups++;
}

/* Two copies of the same data to the same place are harmless. */
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

/* Completes the copies of groups before `end`, and open ones if requested. */
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

/* Completes a thread's copies up to a number; copies in flight are in order. */
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

/* Whether the phase only waits for what is held back. */
static bool is_ready(const struct mbarrier *b)
{
    return b->pending <= b->held_arrivals && b->bytes == b->held_bytes;
}

static bool is_complete(const struct mbarrier *b, unsigned parity)
{
    return b->phase % 2 != parity;
}

static bool is_awaited(const struct mbarrier *b)
{
    for (int i = 0; i < cluster * thread_count; i++)
        if (threads[i].state == AT_MBARRIER && threads[i].mbarrier == b && !is_complete(b, threads[i].parity))
            return true;
    return false;
}

/* Starts the next phase if this one only waits for what is held back. */
static void complete(struct mbarrier *b)
{
    if (!is_ready(b)) return;
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
    b->held_count = b->held_arrivals = 0;
    b->bytes = b->held_bytes = 0;
    b->pending = b->count;
    b->phase++;
}

/* What is held back lands when somebody waits for it: who forgets to wait does not find it. */
static void complete_if_awaited(struct mbarrier *b)
{
    if (b->held_count == 0 || is_awaited(b)) complete(b);
}

/* Other threads may be anywhere when this thread goes on, far ahead of it or far behind. */
static void let_others_run(void)
{
    if (draw(2)) wait_in(READY);
}

void gt_mbarrier_arrive(void *at, unsigned bytes, int who)
{
    if (who) {
        struct mbarrier *b = mbarrier_at(at);
        complete(b);
        if (b->pending == 0) broken("arrives at the mbarrier at %p, which expects nobody any more", at);
        b->pending--;
        b->bytes += bytes;
        complete_if_awaited(b);
    }
    let_others_run();
}

void gt_mbarrier_arrive_copies(void *at)
{
    struct mbarrier *b = mbarrier_at(at);
    const struct thread *t = &threads[self];
    complete(b);
    hold_back(b)->copies = t->copies_landed + t->copy_count;
    b->held_arrivals++;
    complete_if_awaited(b);
    let_others_run();
}

static void send(void *to, const void *from, unsigned bytes, struct mbarrier *b)
{
    struct held_back *held = hold_back(b);
    held->to = to;
    held->bytes = (int)bytes;
    b->held_bytes += bytes;
    held->data = malloc(bytes);
    if (!held->data) abort();
    memcpy(held->data, from, bytes); /* checked by the address sanitizer */
    memset(to, 0xff, bytes);
}

void gt_send(void *to, const void *from, unsigned bytes, void *at)
{
    struct mbarrier *b = mbarrier_at(at);
    complete(b);
    send(to, from, bytes, b);
    complete_if_awaited(b);
}

void gt_bulk_copy(void *to, const void *from, unsigned bytes, void *at)
{
    if (bytes % 16) broken("copies %u bytes in bulk", bytes);
    if ((uintptr_t)to % 16) broken("copies in bulk to the misaligned %p", to);
    if ((uintptr_t)from % 16) broken("copies in bulk from the misaligned %p", from);
    struct mbarrier *b = mbarrier_at(at);
    complete(b);
    if (bytes > 0) send(to, from, bytes, b);
    complete_if_awaited(b);
}

/* ---- boxes of tensor maps ---- */

/* Where an element lies in shared memory, given where it would lie without a swizzle: 16 bytes of a line
 * change places, by the number of their 128 bytes of shared memory. */
static uintptr_t swizzled(uintptr_t at, unsigned swizzle_bytes)
{
    return at ^ (at >> 7 & (swizzle_bytes / 16 - 1)) << 4;
}

static struct cpu_tensor_map tensor_map_at(const void *at)
{
    struct cpu_tensor_map map;
    memcpy(&map, at, sizeof map);
    if (map.mark != CPU_TENSOR_MAP) broken("copies through a tensor map at %p, which is none", at);
    return map;
}

static unsigned box_bytes(const struct cpu_tensor_map *map)
{
    return map->box[0] * map->box[1] * map->box[2] * (unsigned)map->element_bytes;
}

/* The element (i, j, k) of the box at (x, y, z): where it lies in global memory, or NULL beyond the extents;
 * *offset from the box's beginning in shared memory, which is at a multiple of 1024 bytes. An H100 stores
 * whole 16 bytes: `out`, those in which a line ends count as within the extents. */
static char *element_of_box(const struct cpu_tensor_map *map, const int64_t origin[3], const int64_t place[3],
                            bool out, uintptr_t *offset)
{
    const int64_t bytes = map->element_bytes, sixteen = out ? 16 / bytes : 1;
    const int64_t line = (place[2] * map->box[1] + place[1]) * map->box[0] * bytes;
    *offset = swizzled((uintptr_t)(line + place[0] * bytes), map->swizzle_bytes);
    for (int i = 0; i < 3; i++) {
        const int64_t unit = i == 0 ? sixteen : 1, end = (map->extent[i] + unit - 1) / unit * unit;
        if (origin[i] + place[i] < 0 || origin[i] + place[i] >= end) return NULL;
    }
    return (char *)(uintptr_t)map->base + (origin[0] + place[0]) * bytes +
           (origin[1] + place[1]) * map->stride_bytes[1] + (origin[2] + place[2]) * map->stride_bytes[2];
}

/* To 10 bits of fraction: to nearest, ties away from zero, as the reference of trial_cpu.c. */
static void round_to_tf32(unsigned char *element)
{
    uint32_t bits;
    memcpy(&bits, element, sizeof bits);
    if ((bits & 0x7f800000U) != 0x7f800000U) bits += 0x1000;
    else if (bits & 0x7fffffU) bits |= 0x400000; /* a NaN stays one */
    bits &= 0xffffe000U;
    memcpy(element, &bits, sizeof bits);
}

/* Copies the elements of a box that are within the extents: from global memory, or to it. */
static void copy_box(const struct cpu_tensor_map *map, const int64_t origin[3], unsigned char *box, bool out)
{
    for (int64_t k = 0; k < map->box[2]; k++)
        for (int64_t j = 0; j < map->box[1]; j++)
            for (int64_t i = 0; i < map->box[0]; i++) {
                uintptr_t offset;
                char *const at = element_of_box(map, origin, (int64_t[]){i, j, k}, out, &offset);
                if (at && out) memcpy(at, box + offset, (size_t)map->element_bytes);
                else if (at) memcpy(box + offset, at, (size_t)map->element_bytes);
                if (at && !out && map->tf32) round_to_tf32(box + offset);
            }
}

void gt_tensor_copy(void *to, const void *at, int x, int y, int z, void *barrier)
{
    const struct cpu_tensor_map map = tensor_map_at(at);
    if ((uintptr_t)to % 1024) broken("copies a box to the misaligned %p", to);
    struct mbarrier *b = mbarrier_at(barrier);
    complete(b);
    unsigned char *const box = calloc(box_bytes(&map), 1);
    if (!box) abort();
    copy_box(&map, (int64_t[]){x, y, z}, box, false);
    send(to, box, box_bytes(&map), b);
    free(box);
    complete_if_awaited(b);
}

/* ---- boxes on their way to global memory ---- */

/* What a thread has written to shared memory since its last fence. */
struct unfenced {
    const char *at;
    int bytes;
};

/* A store reads its box when it starts and again, as late as allowed, when its thread waits: that must be the
 * same. */
struct box_store {
    struct cpu_tensor_map map;
    int64_t origin[3];
    const unsigned char *from;
    unsigned char *data;
    int group; /* number of the end that closed its group; -1: still open */
};

static struct stores {
    struct unfenced *unfenced;
    int unfenced_count, unfenced_room;
    struct box_store *store;
    int count, room, groups;
} stores_of[THREADS_MAX];

void gt_shared_write(const void *to, int bytes)
{
    struct stores *s = &stores_of[self];
    if (s->unfenced_count == s->unfenced_room) {
        s->unfenced_room = s->unfenced_room ? 2 * s->unfenced_room : 64;
        s->unfenced = realloc(s->unfenced, (size_t)s->unfenced_room * sizeof *s->unfenced);
        if (!s->unfenced) abort();
    }
    s->unfenced[s->unfenced_count++] = (struct unfenced){to, bytes};
}

void gt_shared_fence(void)
{
    stores_of[self].unfenced_count = 0;
}

static void check_fenced(const char *from, unsigned bytes)
{
    for (int i = 0; i < cluster * thread_count; i++)
        for (int j = 0; j < stores_of[i].unfenced_count; j++) {
            const struct unfenced *const write = &stores_of[i].unfenced[j];
            if (write->at < from + bytes && from < write->at + write->bytes)
                broken("stores a box that thread %d has written without a fence since", i % thread_count);
        }
}

void gt_tensor_store(const void *at, int x, int y, int z, const void *from)
{
    struct stores *s = &stores_of[self];
    const struct cpu_tensor_map map = tensor_map_at(at);
    const unsigned bytes = box_bytes(&map);
    if ((uintptr_t)from % (8 * map.swizzle_bytes)) broken("stores a box from the misaligned %p", from);
    check_fenced(from, bytes);
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 16;
        s->store = realloc(s->store, (size_t)s->room * sizeof *s->store);
        if (!s->store) abort();
    }
    struct box_store *const store = &s->store[s->count++];
    *store = (struct box_store){.map = map, .origin = {x, y, z}, .from = from, .group = -1};
    if (!(store->data = malloc(bytes))) abort();
    memcpy(store->data, from, bytes);
}

void gt_tensor_store_end(void)
{
    struct stores *s = &stores_of[self];
    for (int i = s->count; i > 0 && s->store[i - 1].group < 0; i--) s->store[i - 1].group = s->groups;
    s->groups++;
}

void gt_tensor_store_wait(int pending)
{
    struct stores *s = &stores_of[self];
    int done = 0;
    if (s->count > 0) wait_in(READY); /* who writes to a box without having met this thread does so now */
    while (done < s->count && s->store[done].group >= 0 && s->store[done].group < s->groups - pending) {
        const struct box_store *const store = &s->store[done++];
        if (memcmp(store->data, store->from, box_bytes(&store->map)) != 0)
            broken("somebody wrote to the box at %p while it was stored", (const void *)store->from);
        copy_box(&store->map, store->origin, store->data, true);
        free(store->data);
    }
    s->count -= done;
    if (done > 0) memmove(s->store, s->store + done, (size_t)s->count * sizeof *s->store);
}

void gt_mbarrier_wait(void *at, unsigned parity)
{
    struct thread *t = &threads[self];
    struct mbarrier *const b = mbarrier_at(at);
    t->mbarrier = b;
    t->parity = parity;
    if (parity > 1) broken("waits for the parity %u", parity);
    if (!is_complete(b, parity)) complete(b);
    if (!is_complete(b, parity)) wait_in(AT_MBARRIER);
    /* Lanes do not see the completion at the same time: some go on long after others. */
    for (unsigned passes = draw(2) ? draw(8) : 0; passes > 0; passes--) wait_in(READY);
}

bool copies_release(void)
{
    bool released = false;
    for (int i = 0; i < cluster * thread_count; i++) {
        struct thread *t = &threads[i];
        if (t->state == AT_MBARRIER && is_complete(t->mbarrier, t->parity)) t->state = READY;
        released |= t->state == READY;
    }
    return released;
}

/* The memory of an mbarrier must not be used otherwise until it has ended. */
void gt_mbarrier_end(void *at)
{
    struct mbarrier *b = mbarrier_at(at), *last = &mbarriers[mbarrier_count - 1];
    complete(b);
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

/* ---- the ends ---- */

void copies_begin(void)
{
    for (int i = 0; i < cluster * thread_count; i++) {
        threads[i].copy_count = threads[i].groups = threads[i].copies_landed = 0;
        stores_of[i].count = stores_of[i].groups = stores_of[i].unfenced_count = 0;
    }
    mbarrier_count = 0;
}

void copies_end_thread(void)
{
    if (stores_of[self].count > 0) broken("ends while its stores may still read shared memory");
    const struct thread *t = &threads[self];
    for (int i = 0; i < t->copy_count; i++)
        check_untouched(t->copies[i].to, t->copies[i].data, t->copies[i].bytes);
}

/* Mbarriers that the block has not ended must be intact. */
void copies_end_block(const char *begin, const char *end)
{
    for (int i = 0; i < mbarrier_count; i++)
        if (mbarriers[i].at >= begin && mbarriers[i].at < end) mbarrier_at(mbarriers[i].at);
}

void copies_end_cluster(void)
{
    for (int i = 0; i < mbarrier_count; i++) {
        complete(&mbarriers[i]);
        if (mbarriers[i].held_count > 0)
            broken("ends before what it has copied in bulk, or with arrivals still to come");
    }
}
