#include "hints.h"

#include "cores.h"
#include "pretuned.h"
#include "shape.h"
#include "template.h"
#include <stdlib.h>

/* Beside the distance of the problems. */
#define OTHER_OP   1.0 /* as far as one size doubled: the same tiles, other loads */
#define OTHER_TYPE 1.0

/* Costs of values that differ: others compile to another kernel, widths of accesses nearly to the same. */
#define VECTOR_COST 1
#define OTHER_COST  8

/* Times the model's favourite. What is predicted to take longer is launched for another size: a k of millions
 * in eight parts took 2.5 s a call on an H100, where 132 parts take 0.02 s. The model errs less. */
#define HINT_REACH 3.0

struct hint {
    struct config config;
    double distance;
};

struct hints {
    const struct problem *problem;
    struct hint nearest[HINTS_WINNERS_MAX];
    int count;
};

double hints_distance(const struct problem *p, const struct problem *q)
{
    const struct shape x = shape_of(p), y = shape_of(q);
    const int ops = (p->trans_a != q->trans_a) + (p->trans_b != q->trans_b);
    return shape_distance(&x, &y) + OTHER_OP * ops + OTHER_TYPE * (p->type != q->type);
}

/* Inserts a hint; of equally near ones the first stays first. */
static void insert(struct hints *h, const struct hint *hint)
{
    int at = h->count;
    while (at > 0 && hint->distance < h->nearest[at - 1].distance) at--;
    if (at == HINTS_WINNERS_MAX) return;
    if (h->count < HINTS_WINNERS_MAX) h->count++;
    for (int i = h->count - 1; i > at; i--) h->nearest[i] = h->nearest[i - 1];
    h->nearest[at] = *hint;
}

static bool take_winner(void *self, const struct db_winner *winner)
{
    struct hints *h = self;
    struct hint hint = {.distance = hints_distance(h->problem, &winner->base.problem)};
    if (winner->base.predicted || config_parse(winner->config_text, &hint.config))
        return true; /* cuBLAS, too */
    if (template_serves(hint.config.template, h->problem)) insert(h, &hint);
    return true;
}

static void take_pretuned(void *self, const struct db_brief *brief)
{
    struct hints *h = self;
    const struct hint hint = {brief->config, hints_distance(h->problem, &brief->base.problem)};
    if (!brief->base.predicted && brief->config.template &&
        template_serves(brief->config.template, h->problem))
        insert(h, &hint);
}

/* None, or some that cannot be read, are no reason not to search. */
static enum status take_all_pretuned(struct hints *h, const struct gpu *gpu)
{
    char folder[4096], broken_text[256];
    int64_t broken;
    if (pretuned_folder(folder, sizeof folder)) return OK;
    enum status st = pretuned_read(folder, gpu, take_pretuned, h, &broken, broken_text, sizeof broken_text);
    return st == E_MEMORY ? st : OK;
}

/* The cost of each parameter that differs; of launch-time ones launch_cost. */
static void costs_of(const struct template *t, int launch_cost, int cost[CONFIG_PARAMS_MAX])
{
    for (int p = 0; p < t->param_count; p++) {
        const struct param *param = &t->params[p];
        int compiled = param->role == ROLE_VECTOR ? VECTOR_COST : OTHER_COST;
        cost[p] = param->kind == PARAM_LAUNCH ? launch_cost : compiled;
    }
}

/* The candidate that differs least; of equals the model's favourite. field->count if the template has none.
 */
static size_t most_like(const struct field *field, const struct config *config, int launch_cost)
{
    const struct template *t = config->template;
    int cost[CONFIG_PARAMS_MAX], least = INT32_MAX;
    size_t found = field->count;
    costs_of(t, launch_cost, cost);
    for (size_t i = 0; i < field->count && least > 0; i++) {
        const struct config *c = &field->config[i];
        if (c->template != t) continue;
        int sum = 0;
        for (int p = 0; p < t->param_count && sum < least; p++)
            if (c->value[p] != config->value[p]) sum += cost[p];
        if (sum >= least) continue;
        least = sum;
        found = i;
    }
    return found;
}

/* Two forms of a hint: launched as there (launch-time values that differ count), and as the model would
 * launch that kernel here. */
enum { LAUNCHED_THERE, LAUNCHED_HERE, LAUNCHED_COUNT };

struct likenesses {
    const struct field *field;
    const struct hints *hints;
    size_t index[HINTS_WINNERS_MAX * LAUNCHED_COUNT];
};

static void find_likeness(void *self, size_t i)
{
    struct likenesses *l = self;
    l->index[i] = most_like(l->field, &l->hints->nearest[i / LAUNCHED_COUNT].config,
                            i % LAUNCHED_COUNT == LAUNCHED_THERE);
}

static bool is_worth_a_trial(const struct field *field, size_t index)
{
    return index < field->count && field->predicted_us[index] <= HINT_REACH * field->predicted_us[0];
}

enum status hints_give(struct field *field, struct db *db, struct db *known, const struct db_context *context,
                       const struct problem *problem, bool pretuned, struct search *search, size_t *given)
{
    struct hints hints = {.problem = problem};
    struct db_filter filter = {.gpu = context->gpu.name};
    *given = 0;
    enum status st = db_winners(db, &filter, context, take_winner, &hints);
    if (st == E_ABSENT) st = OK;
    if (!st && known && db_winners(known, &filter, context, take_winner, &hints) == E_MEMORY) st = E_MEMORY;
    if (!st && pretuned) st = take_all_pretuned(&hints, &context->gpu);
    for (int i = 0; i < hints.count && !st; i++) st = field_reach_launches(field, &hints.nearest[i].config);
    if (st) return st;
    struct likenesses like = {.field = field, .hints = &hints};
    const size_t count = (size_t)hints.count * LAUNCHED_COUNT;
    parallel_for(count, find_likeness, &like);
    for (size_t i = 0; i < count && !st; i++) {
        bool fresh = false;
        if (is_worth_a_trial(field, like.index[i])) st = search_suggest(search, like.index[i], &fresh);
        *given += fresh;
    }
    return st;
}
