#include "builds.h"

#include "clock.h"
#include "stats.h"
#include "template.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LASTED = 31, /* compilations whose median is the usual */
    LASTED_LEAST = 4,
};

struct builds {
    struct built **slot;
    size_t slots, count;
    double lasted_s[LASTED]; /* the last ones, in turn */
    size_t compiled;
};

enum status builds_open(struct builds **builds)
{
    struct builds *b = calloc(1, sizeof *b);
    if (b) b->slot = calloc(1024, sizeof(struct built *));
    if (!b || !b->slot) {
        free(b);
        return fail(E_MEMORY, "out of memory for the list of compiled kernels");
    }
    b->slots = 1024;
    *builds = b;
    return OK;
}

static void clear(struct built *built)
{
    free(built->cubin);
    free(built->checksum);
    free(built->detail);
    built->cubin = built->checksum = built->detail = NULL;
}

void builds_close(struct builds *builds)
{
    if (!builds) return;
    for (size_t i = 0; i < builds->slots; i++)
        for (struct built *b = builds->slot[i], *next; b; b = next) {
            next = b->next;
            clear(b);
            free(b);
        }
    free(builds->slot);
    free(builds);
}

static size_t slot_of(const struct builds *builds, const struct kernel_key *kernel)
{
    return (size_t)(kernel_key_hash(kernel) & (builds->slots - 1));
}

/* Keep chains short; growing may fail without harm. */
static void grow(struct builds *builds)
{
    struct built **old = builds->slot, **slot = calloc(4 * builds->slots, sizeof(struct built *));
    if (!slot) return;
    size_t slots = builds->slots;
    builds->slot = slot;
    builds->slots = 4 * slots;
    for (size_t i = 0; i < slots; i++)
        for (struct built *b = old[i], *next; b; b = next) {
            next = b->next;
            size_t s = slot_of(builds, &b->kernel);
            b->next = slot[s];
            slot[s] = b;
        }
    free(old);
}

struct built *builds_get(struct builds *builds, const struct kernel_key *kernel)
{
    size_t s = slot_of(builds, kernel);
    for (struct built *b = builds->slot[s]; b; b = b->next)
        if (kernel_key_equal(&b->kernel, kernel)) return b;

    struct built *b = calloc(1, sizeof *b);
    if (!b) {
        fail(E_MEMORY, "out of memory for the list of compiled kernels");
        return NULL;
    }
    *b = (struct built){.kernel = *kernel, .next = builds->slot[s]};
    const struct build nothing_to_build = {.built = true, .cached = true};
    if (template_is_library(kernel->config.template) && builds_tell(builds, b, &nothing_to_build)) {
        free(b);
        return NULL;
    }
    builds->slot[s] = b;
    if (++builds->count > 2 * builds->slots) grow(builds);
    return b;
}

void builds_ask(struct built *built)
{
    built->state = BUILD_ASKED;
    built->asked_s = now_s();
}

double builds_usual_s(const struct builds *builds)
{
    if (builds->compiled < LASTED_LEAST) return 0;
    return stats_median(builds->lasted_s, builds->compiled < LASTED ? builds->compiled : LASTED);
}

enum status builds_tell(struct builds *builds, struct built *built, const struct build *build)
{
    clear(built);
    built->cubin = strdup(build->cubin);
    built->checksum = strdup(build->checksum);
    built->detail = strdup(build->detail);
    if (!built->cubin || !built->checksum || !built->detail)
        return fail(E_MEMORY, "out of memory for the list of compiled kernels");
    built->ok = build->built;
    built->cached = build->cached;
    built->verdict = build->verdict;
    built->facts = build->facts;
    if (built->ok && built->facts.spill_bytes > 0) { /* slower than any that does not: never launched */
        built->ok = false;
        built->verdict = VERDICT_SPILLS;
    }
    if (build->built && !build->cached)
        builds->lasted_s[builds->compiled++ % LASTED] = now_s() - built->asked_s;
    built->state = BUILD_DONE;
    return OK;
}

void builds_forget(struct built *built)
{
    clear(built);
    built->ok = false;
    built->state = BUILD_WANTED;
}

void builds_read(const struct built *built, struct build *build)
{
    *build = (struct build){
        .built = built->ok, .verdict = built->verdict, .cached = built->cached, .facts = built->facts};
    snprintf(build->cubin, sizeof build->cubin, "%s", built->cubin);
    snprintf(build->checksum, sizeof build->checksum, "%s", built->checksum);
    snprintf(build->detail, sizeof build->detail, "%s", built->detail);
}
