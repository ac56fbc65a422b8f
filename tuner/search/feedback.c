#include "feedback.h"

#include "template.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KERNEL,  /* new */
    FOLLOWS, /* a launch of a kernel whose result has not been reported */
    LAUNCH,  /* of one that it has */
    KINDS
};

struct waiting {
    size_t index;
    enum kind kind;
    bool known, late;
    double time_us;
};

struct feedback {
    const struct config *candidates;
    struct feedback_limits limits;
    struct waiting *waiting; /* in the order proposed */
    size_t count, room;
    size_t of_kind[KINDS]; /* without those that are late */
    size_t late;
    bool told;
    uint32_t *kernel; /* hash table: the first candidate of each kernel, + 1; 0: free */
    size_t slots;     /* a power of two, more than twice the candidates */
};

/* A compiler that is done goes on with the next kernel while an earlier one is being made or measured. */
#define SPARE_SHARE    0.25 /* of the compilers */
#define SPARE_LEAST    4
#define FIRST_SHARE    3 /* a compiler: all that a search starts from */
#define FIRST_LEAST    12
#define LAUNCHES_AHEAD 3 /* the next is on its way to the GPU while one runs and one is told */

struct feedback_limits feedback_limits_of(int compilers)
{
    const size_t count = compilers > 0 ? (size_t)compilers : 1;
    const size_t spare = (size_t)(SPARE_SHARE * (double)count), first = FIRST_SHARE * count;
    return (struct feedback_limits){.kernels_first = first > FIRST_LEAST ? first : FIRST_LEAST,
                                    .kernels = count + (spare > SPARE_LEAST ? spare : SPARE_LEAST),
                                    .launches = LAUNCHES_AHEAD,
                                    .late = count};
}

size_t feedback_most(const struct feedback_limits *limits)
{
    const size_t kernels = limits->kernels > limits->kernels_first ? limits->kernels : limits->kernels_first;
    return kernels + limits->kernels + limits->launches + limits->late;
}

struct feedback *feedback_build(const struct config *candidates, size_t room,
                                const struct feedback_limits *limits)
{
    struct feedback *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->candidates = candidates;
    t->limits = *limits;
    for (t->slots = 16; t->slots < 2 * room + 2;) t->slots *= 2;
    t->room = feedback_most(limits);
    t->waiting = calloc(t->room, sizeof *t->waiting);
    t->kernel = calloc(t->slots, sizeof *t->kernel);
    if (!t->waiting || !t->kernel) {
        feedback_free(t);
        return NULL;
    }
    return t;
}

void feedback_free(struct feedback *feedback)
{
    if (!feedback) return;
    free(feedback->waiting);
    free(feedback->kernel);
    free(feedback);
}

/* FNV-1a of what is compiled. Each template's kernels may lie anywhere. */
static uint64_t kernel_hash_of(const struct config *c)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int p = 0; p < c->template->param_count; p++)
        if (c->template->params[p].kind == PARAM_COMPILE)
            hash = (hash ^ (uint32_t)c->value[p]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

/* Enters a kernel. False: it was there. */
static bool enter(struct feedback *t, size_t index)
{
    const struct config *c = &t->candidates[index];
    size_t at = (size_t)kernel_hash_of(c) & (t->slots - 1);
    for (; t->kernel[at]; at = (at + 1) & (t->slots - 1))
        if (config_same_kernel(&t->candidates[t->kernel[at] - 1], c)) return false;
    t->kernel[at] = (uint32_t)index + 1;
    return true;
}

void feedback_know(struct feedback *feedback, size_t index)
{
    enter(feedback, index);
}

static bool waits_for_kernel(const struct feedback *t, size_t index)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->waiting[i].kind == KERNEL &&
            config_same_kernel(&t->candidates[t->waiting[i].index], &t->candidates[index]))
            return true;
    return false;
}

void feedback_propose(struct feedback *feedback, size_t index)
{
    assert(feedback->count < feedback->room);
    const enum kind kind = enter(feedback, index)              ? KERNEL
                           : waits_for_kernel(feedback, index) ? FOLLOWS
                                                               : LAUNCH;
    feedback->of_kind[kind]++;
    feedback->waiting[feedback->count++] = (struct waiting){.index = index, .kind = kind};
}

size_t feedback_waiting(const struct feedback *feedback)
{
    return feedback->count;
}

bool feedback_result(struct feedback *feedback, size_t index, double time_us)
{
    for (size_t i = 0; i < feedback->count; i++) {
        struct waiting *w = &feedback->waiting[i];
        if (w->index != index || w->known) continue;
        w->known = true;
        w->time_us = time_us;
        return true;
    }
    return false;
}

static size_t first(const struct feedback *t, enum kind kind)
{
    size_t at = 0;
    while (at < t->count && (t->waiting[at].kind != kind || t->waiting[at].late)) at++;
    return at;
}

static size_t first_late(const struct feedback *t, bool known)
{
    size_t at = t->late > 0 ? 0 : t->count;
    while (at < t->count && (!t->waiting[at].late || t->waiting[at].known != known)) at++;
    return at;
}

/* Which is to be told next, a place in the list; the length of the list: none need be. */
static size_t due(const struct feedback *t, bool stuck)
{
    const struct feedback_limits *most = &t->limits;
    const size_t kernels = t->told ? most->kernels : most->kernels_first, launch = first(t, LAUNCH),
                 kernel = first(t, KERNEL);
    const bool follow = t->of_kind[FOLLOWS] >= most->kernels;
    size_t at = first_late(t, true);
    if (at < t->count) return at;
    if (t->of_kind[LAUNCH] >= most->launches) return launch;
    if (t->of_kind[KERNEL] >= kernels) return kernel;
    if (!follow && (!stuck || launch < t->count)) return stuck ? launch : t->count;
    return kernel < t->count ? kernel : first_late(t, false);
}

/* The strategy has been told of this kernel: its launches are like others now. */
static void release(struct feedback *t, const struct config *kernel)
{
    for (size_t i = 0; i < t->count; i++) {
        struct waiting *w = &t->waiting[i];
        if (w->kind != FOLLOWS || !config_same_kernel(&t->candidates[w->index], kernel)) continue;
        w->kind = LAUNCH;
        t->of_kind[FOLLOWS]--;
        t->of_kind[LAUNCH]++;
    }
}

static void take(struct feedback *t, size_t at, size_t *index, double *time_us)
{
    const struct waiting w = t->waiting[at];
    if (w.late) t->late--;
    else t->of_kind[w.kind]--;
    t->count--;
    memmove(&t->waiting[at], &t->waiting[at + 1], (t->count - at) * sizeof w);
    if (w.kind == KERNEL) release(t, &t->candidates[w.index]);
    t->told = true;
    *index = w.index;
    *time_us = w.time_us;
}

enum feedback_answer feedback_next(struct feedback *feedback, bool stuck, size_t *index, double *time_us)
{
    const size_t at = due(feedback, stuck);
    if (at == feedback->count) return FEEDBACK_NONE;
    *index = feedback->waiting[at].index;
    if (!feedback->waiting[at].known) return FEEDBACK_WAIT;
    take(feedback, at, index, time_us);
    return FEEDBACK_TELL;
}

bool feedback_put_off(struct feedback *feedback, size_t index)
{
    size_t at = 0;
    while (at < feedback->count && feedback->waiting[at].index != index) at++;
    if (at == feedback->count || feedback->late == feedback->limits.late) return false;
    struct waiting *w = &feedback->waiting[at];
    if (w->late || w->kind == FOLLOWS) return false;
    w->late = true;
    feedback->late++;
    feedback->of_kind[w->kind]--;
    return true;
}

bool feedback_rest(struct feedback *feedback, size_t *index, double *time_us)
{
    size_t at = 0;
    while (at < feedback->count && !feedback->waiting[at].known) at++;
    if (at == feedback->count) return false;
    take(feedback, at, index, time_us);
    return true;
}
