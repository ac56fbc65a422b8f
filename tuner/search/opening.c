#include "opening.h"

#include "neighbours.h"
#include "stats.h"
#include <string.h>

enum {
    DRAWS = 400,   /* from which the first are chosen */
    DEPTH = 20000, /* how far down the model's order they may lie, and of each family the favourites */
    APART = 5,     /* compile-time parameters in which favourites differ from all before them */
};

/* The best of a family that is predicted to be slower by more is passed over: the model errs less. Of shipped
 * winners the family's best is predicted within 1.1 of the best of all. */
static const double family_reach = 1.15;

size_t opening_draw(const double *predicted_us, size_t depth, uint64_t *random)
{
    if (!predicted_us) return (size_t)stats_random_below(random, depth);
    const double u = (double)(stats_random(random) >> 11) * 0x1p-53;
    return (size_t)(u * u * u * (double)depth);
}

static struct opening_family *family_of(struct opening *o, const struct template *template)
{
    for (int f = 0; f < o->families; f++)
        if (o->family[f].template == template) return &o->family[f];
    return NULL;
}

static void find_families(struct opening *o)
{
    for (size_t i = 0; i < o->count && o->families < OPENING_FAMILIES; i++) {
        if (o->predicted_us[i] > family_reach * o->predicted_us[0]) return;
        if (!family_of(o, o->candidates[i].template))
            o->family[o->families++] =
                (struct opening_family){.template = o->candidates[i].template, .at = i};
    }
}

/* Chooses starts, each as far as possible from those before it; the first is the model's favourite if there
 * is a model. */
static void choose_starts(struct opening *o, uint64_t *random)
{
    size_t drawn[DRAWS], apart[DRAWS];
    const size_t limit = o->count < DEPTH ? o->count : DEPTH;
    for (int i = 0; i < DRAWS; i++) {
        const size_t depth = o->predicted_us ? limit : o->count;
        drawn[i] = i == 0 && o->predicted_us ? 0 : opening_draw(o->predicted_us, depth, random);
        apart[i] = SIZE_MAX;
    }
    for (size_t at = 0; o->starts < OPENING_STARTS && apart[at] > 0;) {
        const struct config *chosen = &o->candidates[drawn[at]];
        o->given[o->starts++] = drawn[at];
        for (int i = 0; i < DRAWS; i++) {
            const size_t from = neighbours_apart(&o->candidates[drawn[i]], chosen);
            if (from < apart[i]) apart[i] = from;
        }
        for (size_t i = 0; i < DRAWS; i++)
            if (apart[i] > apart[at]) at = i;
    }
}

void opening_choose(struct opening *opening, const struct config *candidates, size_t count,
                    const double *predicted_us, uint64_t *random)
{
    *opening = (struct opening){.candidates = candidates, .count = count, .predicted_us = predicted_us};
    if (count == 0) return;
    choose_starts(opening, random);
    if (predicted_us) find_families(opening);
    for (size_t i = 0; i < opening->starts; i++) {
        struct opening_family *f = family_of(opening, candidates[opening->given[i]].template);
        if (f) f->given++;
    }
}

bool opening_start(struct opening *opening, size_t *index)
{
    if (opening->start_at == opening->starts) return false;
    *index = opening->given[opening->start_at++];
    return true;
}

static bool is_apart(const struct opening *o, size_t index)
{
    for (size_t i = 0; i < o->starts + o->favourites; i++)
        if (neighbours_apart(&o->candidates[index], &o->candidates[o->given[i]]) < APART) return false;
    return true;
}

static bool next_of(struct opening *o, struct opening_family *f, size_t *index)
{
    while (f->at < o->count && f->passed < DEPTH) {
        const size_t i = f->at++;
        if (o->candidates[i].template != f->template) continue;
        f->passed++;
        if (!is_apart(o, i)) continue;
        *index = i;
        return true;
    }
    return false;
}

/* The family that has had least; of equals the one that the model likes better. NULL: there is nothing left.
 */
static struct opening_family *whose_turn(struct opening *o)
{
    struct opening_family *turn = NULL;
    for (int i = 0; i < o->families; i++) {
        struct opening_family *f = &o->family[i];
        const bool ended = f->at == o->count || f->passed == DEPTH;
        if (!ended && (!turn || f->given < turn->given)) turn = f;
    }
    return turn;
}

bool opening_favourite(struct opening *opening, size_t *index)
{
    if (opening->favourites == OPENING_FAVOURITES) return false;
    for (struct opening_family *f; (f = whose_turn(opening));) {
        if (!next_of(opening, f, index)) continue;
        f->given++;
        opening->given[opening->starts + opening->favourites++] = *index;
        return true;
    }
    return false;
}
