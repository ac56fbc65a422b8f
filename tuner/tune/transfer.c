#include "transfer.h"

#include "hints.h"
#include "model.h"
#include "print.h"
#include "prior.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEAREST = 12,     /* problems that are looked at; not all have trials */
    READ_MOST = 4000, /* trials of a problem, from the newest on */
};

#define SAYS_NOTHING 0.0 /* the time of a trial that failed, and of one that a newer one replaces */

struct near_problem {
    struct problem problem;
    struct db *db; /* that has it */
    double distance;
};

struct finding {
    const struct problem *problem;
    struct db *db; /* that is read */
    struct near_problem nearest[NEAREST];
    int count;
};

static bool see_problem(void *self, int64_t number, const struct problem *problem)
{
    struct finding *f = self;
    (void)number;
    if (problem->type != f->problem->type || problem_equal(problem, f->problem)) return true;
    for (int i = 0; i < f->count; i++)
        if (f->nearest[i].db != f->db && problem_equal(problem, &f->nearest[i].problem)) return true;
    const struct near_problem near = {*problem, f->db, hints_distance(f->problem, problem)};
    int at = f->count;
    while (at > 0 && near.distance < f->nearest[at - 1].distance) at--;
    if (at == NEAREST) return true;
    if (f->count < NEAREST) f->count++;
    for (int i = f->count - 1; i > at; i--) f->nearest[i] = f->nearest[i - 1];
    f->nearest[at] = near;
    return true;
}

/* The trials of one problem. */
struct taking {
    const struct db_context *context;
    const struct problem *problem;
    struct prior_trial *trial;
    size_t count, room, read;
    bool out_of_memory;
};

static bool take_trial(void *self, const struct db_trial *stored)
{
    struct taking *t = self;
    struct config config;
    if (t->read++ == READ_MOST) return false;
    const struct outcome *o = &stored->outcome;
    const bool usable = outcome_usable(o) && o->time_us > 0;
    if (o->verdict == VERDICT_PREDICTED || o->cold != t->context->cold || stored->recovered) return true;
    if (config_parse(stored->config_text, &config)) return true; /* of a template that is no more */
    if (template_is_library(config.template)) return true;
    /* The model computes with what the rules have let through only. */
    if (config.template->check(&config, t->problem, &t->context->gpu)) return true;
    if (t->count == t->room) {
        const size_t room = t->room ? 2 * t->room : 256;
        struct prior_trial *grown = realloc(t->trial, room * sizeof *grown);
        t->out_of_memory = !grown;
        if (!grown) return false;
        t->trial = grown;
        t->room = room;
    }
    t->trial[t->count++] =
        (struct prior_trial){config, usable ? o->time_us : SAYS_NOTHING,
                             model_predict(&config, t->problem, &t->context->gpu, NULL).time_us};
    return true;
}

struct keyed {
    uint64_t hash;
    size_t at;
};

static int by_hash(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Keeps the newest trial of each configuration, which comes first; none if that one failed, since earlier
 * times are not to be believed then. */
static enum status drop_repeated(struct taking *t)
{
    struct keyed *keyed = malloc((t->count + 1) * sizeof *keyed);
    if (!keyed) return fail(E_MEMORY, "out of memory for trials of other problems");
    for (size_t i = 0; i < t->count; i++) keyed[i] = (struct keyed){config_hash(&t->trial[i].config), i};
    qsort(keyed, t->count, sizeof *keyed, by_hash);
    for (size_t i = 1; i < t->count; i++)
        if (keyed[i].hash == keyed[i - 1].hash) t->trial[keyed[i].at].time_us = SAYS_NOTHING;
    free(keyed);
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->trial[i].time_us > 0) t->trial[kept++] = t->trial[i];
    t->count = kept;
    return OK;
}

static enum status read_trials(struct db *db, const struct db_context *context, const struct problem *problem,
                               struct taking *t)
{
    const struct db_filter filter = {.gpu = context->gpu.name, .problem = problem};
    *t = (struct taking){.context = context, .problem = problem};
    enum status st = db_newest_trials(db, &filter, take_trial, t);
    if (st == E_ABSENT) st = OK;
    if (t->out_of_memory) st = fail(E_MEMORY, "out of memory for trials of other problems");
    return st ? st : drop_repeated(t);
}

enum status transfer_trials(struct field *field, struct db *db, struct db *known,
                            const struct db_context *context, const struct problem *problem,
                            struct transferred *transferred)
{
    struct finding finding = {.problem = problem, .db = db};
    struct taking taken[PRIOR_PROBLEMS_MAX];
    struct prior_problem problems[PRIOR_PROBLEMS_MAX];
    struct prior_used used = {0};
    size_t count = 0;
    *transferred = (struct transferred){0};
    enum status st = db_problems_each(db, see_problem, &finding);
    finding.db = known;
    if (!st && known && db_problems_each(known, see_problem, &finding) == E_MEMORY) st = E_MEMORY;
    for (int i = 0; i < finding.count && count < PRIOR_PROBLEMS_MAX && !st; i++) {
        struct taking *t = &taken[count];
        st = read_trials(finding.nearest[i].db, context, &finding.nearest[i].problem, t);
        if (finding.nearest[i].db == known && st && st != E_MEMORY) {
            free(t->trial);
            st = OK;
            continue;
        }
        if (st || t->count == 0) {
            free(t->trial);
            continue;
        }
        if (count == 0) problem_format(&finding.nearest[i].problem, transferred->nearest);
        problems[count++] = (struct prior_problem){t->trial, t->count};
    }
    if (!st) st = prior_correct(field->config, field->predicted_us, field->count, problems, count, &used);
    for (size_t i = 0; i < count; i++) free(taken[i].trial);
    transferred->problems = used.problems;
    transferred->trials = used.trials;
    return st;
}

void transfer_note(const struct transferred *t, char text[256])
{
    snprintf(text, 256,
             "the model's order was corrected by %zu trial%s of %zu other problem%s, the nearest %.120s "
             "(--no-transfer: not)",
             t->trials, PRINT_S(t->trials), t->problems, PRINT_S(t->problems), t->nearest);
}
