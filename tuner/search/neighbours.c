#include "neighbours.h"

#include "template.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* How far each parameter of a coupled change may move, in values that occur: those of sections with tiles of
 * their own lie between two neighbours of the others. */
#define PAIR_REACH   4
#define SCALED_REACH 4 /* of the first of three; the others follow */

/* Of the coupled neighbours that are not listed yet those are reached to which no single step leads: none of
 * their changes is legal alone. Of the others one in so many, other ones for each centre. */
#define COUPLED_ASKED 16

/* The values of one parameter that occur among the candidates of a template, ascending. */
struct values {
    int32_t *value;
    size_t count;
};

struct dimension {
    const struct template *template;
    struct values values[CONFIG_PARAMS_MAX];
    int number; /* of the template, in the order in which they came */
    struct dimension *next;
};

struct neighbours {
    const struct config *candidates;
    size_t count;
    uint32_t *slot; /* open addressing: index + 1, 0 is empty */
    size_t mask;
    struct dimension *dimensions; /* one a template */
    const struct growth *growth;  /* NULL: the list is complete */
};

static size_t slot_of(const struct neighbours *n, const struct config *config)
{
    uint64_t hash = XXH3_64bits_withSeed(config->value, sizeof config->value, (uintptr_t)config->template);
    size_t at = (size_t)hash & n->mask;
    while (n->slot[at] && !config_equal(&n->candidates[n->slot[at] - 1], config)) at = (at + 1) & n->mask;
    return at;
}

size_t neighbours_find(const struct neighbours *n, const struct config *config)
{
    uint32_t found = n->slot[slot_of(n, config)];
    return found ? found - 1 : NEIGHBOURS_NONE;
}

static size_t value_at(const struct values *v, int32_t value)
{
    size_t low = 0, high = v->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->value[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

static int insert_value(struct values *v, int32_t value)
{
    size_t at = value_at(v, value);
    if (at < v->count && v->value[at] == value) return 1;
    int32_t *grown = realloc(v->value, (v->count + 1) * sizeof *grown);
    if (!grown) return 0;
    memmove(grown + at + 1, grown + at, (v->count - at) * sizeof *grown);
    grown[at] = value;
    v->value = grown;
    v->count++;
    return 1;
}

static struct dimension *dimension_of(const struct neighbours *n, const struct template *t)
{
    struct dimension *d = n->dimensions;
    while (d && d->template != t) d = d->next;
    return d;
}

static int learn(struct neighbours *n, size_t index)
{
    const struct config *c = &n->candidates[index];
    n->slot[slot_of(n, c)] = (uint32_t)index + 1;
    struct dimension *d = dimension_of(n, c->template);
    if (!d) {
        d = calloc(1, sizeof *d);
        if (!d) return 0;
        d->template = c->template;
        d->number = n->dimensions ? n->dimensions->number + 1 : 0;
        d->next = n->dimensions;
        n->dimensions = d;
    }
    /* The one before it in the list is known already, and often has the same value. */
    const struct config *before = index > 0 && c[-1].template == c->template ? c - 1 : NULL;
    for (int p = 0; p < c->template->param_count; p++)
        if (!(before && before->value[p] == c->value[p]) && !insert_value(&d->values[p], c->value[p]))
            return 0;
    return 1;
}

struct neighbours *neighbours_build(const struct config *candidates, size_t count,
                                    const struct growth *growth)
{
    struct neighbours *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->candidates = candidates;
    n->count = count;
    n->growth = growth;
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    n->mask = slots - 1;
    n->slot = calloc(slots, sizeof *n->slot);
    if (!n->slot) goto none;
    for (size_t i = 0; i < count; i++)
        if (!learn(n, i)) goto none;
    return n;
none:
    neighbours_free(n);
    return NULL;
}

void neighbours_free(struct neighbours *n)
{
    if (!n) return;
    while (n->dimensions) {
        struct dimension *d = n->dimensions;
        n->dimensions = d->next;
        for (int p = 0; p < CONFIG_PARAMS_MAX; p++) free(d->values[p].value);
        free(d);
    }
    free(n->slot);
    free(n);
}

/* How far a neighbour may lie beyond the first candidates. */
enum beyond {
    BEYOND_NOT,
    BEYOND_LISTED, /* also what has been listed since */
    BEYOND_ANY     /* what exists: the list grows */
};

struct listing {
    const struct neighbours *n;
    const struct dimension *d;
    size_t from;
    size_t *out;
    size_t count;
    signed char alone[CONFIG_PARAMS_MAX][2 * PAIR_REACH + 1]; /* by so many values: 1 legal alone, -1 not */
};

size_t neighbours_reach(const struct neighbours *n, const struct config *config, size_t from)
{
    size_t found = neighbours_find(n, config);
    if (found == NEIGHBOURS_NONE && n->growth) found = n->growth->reach(n->growth->self, config, from);
    return found == from ? NEIGHBOURS_NONE : found;
}

static size_t find_listed(const struct neighbours *n, const struct config *config, size_t from)
{
    size_t found = neighbours_find(n, config);
    if (found == NEIGHBOURS_NONE && n->growth) found = n->growth->find(n->growth->self, config);
    return found == from ? NEIGHBOURS_NONE : found;
}

static void list(struct listing *l, const struct config *config, enum beyond beyond)
{
    if (l->count == NEIGHBOURS_MAX) return;
    const size_t found = beyond == BEYOND_ANY      ? neighbours_reach(l->n, config, l->from)
                         : beyond == BEYOND_LISTED ? find_listed(l->n, config, l->from)
                                                   : neighbours_find(l->n, config);
    if (found != NEIGHBOURS_NONE) l->out[l->count++] = found;
}

static void list_single(struct listing *l, const struct config *from, enum param_kind kind,
                        enum beyond beyond)
{
    for (int p = 0; p < from->template->param_count; p++) {
        if (from->template->params[p].kind != kind) continue;
        struct config c = *from;
        for (size_t i = 0; i < l->d->values[p].count; i++) {
            c.value[p] = l->d->values[p].value[i];
            if (c.value[p] != from->value[p]) list(l, &c, beyond);
        }
    }
}

/* Is this change legal without others? */
static bool stands_alone(struct listing *l, int p, size_t at, size_t to)
{
    signed char *known = &l->alone[p][PAIR_REACH + to - at];
    if (*known == 0) {
        struct config c = l->n->candidates[l->from];
        c.value[p] = l->d->values[p].value[to];
        *known = neighbours_reach(l->n, &c, l->from) != NEIGHBOURS_NONE ? 1 : -1;
    }
    return *known > 0;
}

static bool is_chosen(const struct listing *l, const struct config *c)
{
    return XXH3_64bits_withSeed(c->value, sizeof c->value, l->from) % COUPLED_ASKED == 0;
}

/* Move `more` further parameters, from number p on, a few values up or down each. alone: one of those moved
 * so far could have been moved without others. */
static void list_coupled(struct listing *l, struct config *c, int p, int more, bool alone)
{
    if (more == 0) {
        list(l, c, !alone || is_chosen(l, c) ? BEYOND_ANY : BEYOND_NOT);
        return;
    }
    for (; p < c->template->param_count; p++) {
        const struct values *v = &l->d->values[p];
        int32_t here = c->value[p];
        size_t at = value_at(v, here), first = at > PAIR_REACH ? at - PAIR_REACH : 0;
        for (size_t i = first; i < v->count && i <= at + PAIR_REACH; i++) {
            if (i == at) continue;
            c->value[p] = v->value[i];
            list_coupled(l, c, p + 1, more - 1, alone || (l->n->growth && stands_alone(l, p, at, i)));
        }
        c->value[p] = here;
    }
}

/* True for sizes of the tile of a block, its warps, their threads, or a loop within it. */
static bool is_size(const struct param *param)
{
    return param->role == ROLE_TILE || param->role == ROLE_SIZE || param->role == ROLE_THREAD;
}

/* Scale `more` further sizes, from number p on, by to / from. */
static void scale_more(struct listing *l, struct config *c, int p, int more, int32_t to, int32_t from)
{
    if (more == 0) {
        list(l, c, BEYOND_ANY);
        return;
    }
    for (; p < c->template->param_count; p++) {
        const struct values *v = &l->d->values[p];
        const int32_t here = c->value[p];
        if (!is_size(&c->template->params[p])) continue;
        const int64_t scaled = (int64_t)here * to / from;
        const size_t at = value_at(v, (int32_t)scaled);
        if (here == 0 || (int64_t)here * to % from != 0 || at == v->count || v->value[at] != scaled) continue;
        c->value[p] = (int32_t)scaled;
        scale_more(l, c, p + 1, more - 1, to, from);
        c->value[p] = here;
    }
}

/* Lists changes of one size by a few values up or down, with two after it that follow. */
static void list_scaled(struct listing *l, struct config *c)
{
    for (int p = 0; p < c->template->param_count; p++) {
        const struct values *v = &l->d->values[p];
        const int32_t here = c->value[p];
        const size_t at = value_at(v, here);
        if (!is_size(&c->template->params[p])) continue;
        for (size_t i = at > SCALED_REACH ? at - SCALED_REACH : 0; i < v->count && i <= at + SCALED_REACH;
             i++) {
            if (here == 0 || v->value[i] == 0 || i == at) continue;
            c->value[p] = v->value[i];
            scale_more(l, c, p + 1, 2, v->value[i], here);
        }
        c->value[p] = here;
    }
}

static int by_index(const void *x, const void *y)
{
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    return (a > b) - (a < b);
}

struct ranked {
    double predicted_us;
    size_t index;
};

static int by_time(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->predicted_us != b->predicted_us) return a->predicted_us < b->predicted_us ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Best first, each once: what follows from other parameters may make two of them one. */
static size_t order(const struct neighbours *n, size_t *out, size_t count)
{
    struct ranked ranked[NEIGHBOURS_MAX];
    size_t kept = 0;
    if (!n->growth) {
        qsort(out, count, sizeof *out, by_index);
        return count;
    }
    for (size_t i = 0; i < count; i++) ranked[i] = (struct ranked){n->growth->predicted_us[out[i]], out[i]};
    qsort(ranked, count, sizeof *ranked, by_time);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ranked[i].index != ranked[i - 1].index) out[kept++] = ranked[i].index;
    return kept;
}

size_t neighbours_of(const struct neighbours *n, size_t index, enum neighbour_kind kind,
                     size_t out[NEIGHBOURS_MAX])
{
    struct config c = n->candidates[index];
    struct listing l = {.n = n, .d = dimension_of(n, c.template), .from = index, .out = out};
    if (!l.d) return 0; /* no template of a candidate is unknown */
    if (kind == NEIGHBOUR_LAUNCH) list_single(&l, &c, PARAM_LAUNCH, BEYOND_ANY);
    else if (kind == NEIGHBOUR_SINGLE) list_single(&l, &c, PARAM_COMPILE, BEYOND_ANY);
    else if (kind == NEIGHBOUR_SCALED && n->growth) list_scaled(&l, &c);
    else if (kind == NEIGHBOUR_PAIR) list_coupled(&l, &c, 0, 2, false);
    return order(n, out, l.count);
}

size_t neighbours_listed_launches(const struct neighbours *n, size_t index, size_t out[NEIGHBOURS_MAX])
{
    const struct config c = n->candidates[index];
    struct listing l = {.n = n, .d = dimension_of(n, c.template), .from = index, .out = out};
    if (l.d) list_single(&l, &c, PARAM_LAUNCH, BEYOND_LISTED);
    return l.count;
}

size_t neighbours_apart(const struct config *x, const struct config *y)
{
    if (x->template != y->template) return CONFIG_PARAMS_MAX;
    size_t differ = 0;
    for (int p = 0; p < x->template->param_count; p++)
        differ += x->template->params[p].kind == PARAM_COMPILE && x->value[p] != y->value[p];
    return differ;
}

int neighbours_templates(const struct neighbours *n)
{
    return n->dimensions ? n->dimensions->number + 1 : 0;
}

int neighbours_place_config(const struct neighbours *n, const struct config *c,
                            uint8_t level[CONFIG_PARAMS_MAX])
{
    const struct dimension *d = dimension_of(n, c->template);
    memset(level, 0, CONFIG_PARAMS_MAX);
    if (!d) return -1;
    for (int p = 0; p < c->template->param_count; p++) {
        size_t at = value_at(&d->values[p], c->value[p]);
        level[p] = (uint8_t)(at < UINT8_MAX ? at : UINT8_MAX);
    }
    return d->number;
}

int neighbours_place(const struct neighbours *n, size_t index, uint8_t level[CONFIG_PARAMS_MAX])
{
    const int number = neighbours_place_config(n, &n->candidates[index], level);
    return number < 0 ? 0 : number; /* no template of a candidate is unknown */
}
