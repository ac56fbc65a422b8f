#include "answers.h"

#include "driver_version.h"
#include "exchange_json.h"
#include "json_pick.h"
#include "messages.h"
#include "paths.h"
#include "pretuned.h"
#include "print.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A measured winner of the system's database, or one that ships. */
struct shared {
    struct db_winner winner;
    bool hidden; /* in this listing: a place before it has measured the problem */
};

/* Those of one place, in the order of compare_shared. */
struct place {
    enum answer_from from;
    struct shared *at;
    size_t count, room;
};

struct answers {
    const struct db_view *own;
    struct db *system;                 /* NULL: there is none */
    struct place of_system, ships;     /* of_system: what matches the filter of the listing */
    struct db_preference *preferences; /* the user's */
    size_t preference_count;
    char (*gpus)[GPU_NAME_MAX]; /* to list without --gpu */
    size_t gpu_count;
    char folder[PATH_MAX]; /* of GPU descriptors */
    struct gpu described;  /* by one of them, as the last line that ships said */
    json_t *figures;       /* of the described one; NULL: none has been read */
    bool wanted;           /* the described one is */
    enum status st;        /* of collecting */

    /* the listing */
    bool (*visit)(void *self, const struct answer *answer);
    void *self;
    struct db_winner waiting, measured; /* the user's: a prediction not shown yet; the last that answers */
    bool is_waiting;
    bool all, stopped; /* all: with those of other places, without predictions that do not answer */
};

/* ---- one place ---- */

/* By what winners for like problems have in common. */
static int compare_sizes(const struct problem *x, const struct problem *y)
{
    const int64_t pairs[][2] = {
        {(int64_t)x->type, (int64_t)y->type}, {x->m, y->m}, {x->n, y->n}, {x->k, y->k}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] != pairs[i][1]) return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return 0;
}

static int compare_shared(const void *a, const void *b)
{
    const struct db_winner *x = &((const struct shared *)a)->winner, *y = &((const struct shared *)b)->winner;
    char xt[PROBLEM_TEXT_MAX], yt[PROBLEM_TEXT_MAX];
    int order = compare_sizes(&x->base.problem, &y->base.problem);
    if (order) return order;
    problem_format(&x->base.problem, xt);
    problem_format(&y->base.problem, yt);
    order = strcmp(xt, yt);
    if (!order) order = strcmp(x->gpu.name, y->gpu.name);
    return order ? order : y->base.cold - x->base.cold;
}

static enum status add(struct place *place, const struct db_winner *w)
{
    if (place->count == place->room) {
        const size_t room = place->room ? 2 * place->room : 64;
        struct shared *grown = realloc(place->at, room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for %zu winners", place->count);
        place->at = grown;
        place->room = room;
    }
    place->at[place->count++] = (struct shared){.winner = *w};
    return OK;
}

static void sort(struct place *place)
{
    if (place->count) qsort(place->at, place->count, sizeof *place->at, compare_shared);
}

/* The first that is not smaller. */
static size_t first_of(const struct place *place, const struct problem *problem)
{
    size_t least = 0, end = place->count;
    while (least < end) {
        const size_t middle = least + (end - least) / 2;
        if (compare_sizes(&place->at[middle].winner.base.problem, problem) < 0) least = middle + 1;
        else end = middle;
    }
    return least;
}

static bool same_gpu(const struct gpu *x, const struct gpu *y)
{
    return x->arch == y->arch && x->sm_count == y->sm_count && gpu_same_name(x->name, y->name);
}

/* The next from *at on that answers the problem on the GPU (NULL: any); NULL: there is none. */
static struct shared *next_for(const struct place *place, size_t *at, const struct problem *problem,
                               const struct gpu *gpu)
{
    for (; *at < place->count; ++*at) {
        struct shared *s = &place->at[*at];
        if (compare_sizes(&s->winner.base.problem, problem)) break;
        if (problem_alike(&s->winner.base.problem, problem) && (!gpu || same_gpu(&s->winner.gpu, gpu)))
            return ++*at, s;
    }
    return NULL;
}

static void hide(struct place *place, const struct db_winner *by)
{
    size_t at = first_of(place, &by->base.problem);
    for (struct shared *s; (s = next_for(place, &at, &by->base.problem, &by->gpu));) s->hidden = true;
}

/* Of those for a problem: its own before one that is as good, cold before hot, as they are sorted. */
static const struct db_winner *best_for(const struct place *place, const struct db_winner *w)
{
    const struct db_winner *best = NULL;
    size_t at = first_of(place, &w->base.problem);
    for (struct shared *s; (s = next_for(place, &at, &w->base.problem, &w->gpu));)
        if (!best || (problem_equal(&s->winner.base.problem, &w->base.problem) &&
                      !problem_equal(&best->base.problem, &w->base.problem)))
            best = &s->winner;
    return best;
}

/* ---- what the user's database says of them ---- */

static bool is_excluded(const struct answers *a, const struct db_winner *w)
{
    for (size_t i = 0; i < a->preference_count; i++) {
        const struct db_preference *p = &a->preferences[i];
        if (!p->pin && same_gpu(&p->gpu, &w->gpu) && problem_alike(&p->problem, &w->base.problem) &&
            strcmp(p->config_text, w->config_text) == 0)
            return true;
    }
    return false;
}

/* May it answer for this user? It is none that was excluded, or has failed here since. */
static bool may_answer(struct answers *a, const struct db_winner *w)
{
    bool failed = false;
    if (!a->own->db || !w->config.template) return true;
    const enum status st =
        db_has_failed(a->own->db, &w->gpu, &w->base.problem, &w->config, w->base.when, &failed);
    if (st && !a->st) a->st = st;
    return !failed && !is_excluded(a, w);
}

static bool keep_preference(void *self, const struct db_preference *preference)
{
    struct answers *a = self;
    struct db_preference *grown = realloc(a->preferences, (a->preference_count + 1) * sizeof *grown);
    if (!grown) {
        a->st = fail(E_MEMORY, "out of memory for the preferences");
        return false;
    }
    a->preferences = grown;
    a->preferences[a->preference_count++] = *preference;
    return true;
}

/* ---- which GPUs ---- */

static enum status add_gpu(struct answers *a, const char *name)
{
    for (size_t i = 0; i < a->gpu_count; i++)
        if (gpu_same_name(a->gpus[i], name)) return OK;
    char(*grown)[GPU_NAME_MAX] = realloc(a->gpus, (a->gpu_count + 1) * sizeof *grown);
    if (!grown) return fail(E_MEMORY, "out of memory for GPUs");
    a->gpus = grown;
    snprintf(a->gpus[a->gpu_count++], GPU_NAME_MAX, "%s", name);
    return OK;
}

static bool keep_gpu(void *self, const struct db_gpu *gpu)
{
    struct answers *a = self;
    a->st = add_gpu(a, gpu->gpu.name);
    return !a->st;
}

static enum status list_gpus(struct answers *a)
{
    enum status st = OK;
    if (a->own->filter.gpu) return OK;
    if (a->own->db) st = db_gpus(a->own->db, keep_gpu, a);
    if (!st && a->system && db_gpus(a->system, keep_gpu, a) == E_MEMORY) st = E_MEMORY;
    if (!st) st = a->st;
    if (!st && a->own->now.gpu.name[0]) st = add_gpu(a, a->own->now.gpu.name);
    return st;
}

static bool is_wanted(const struct answers *a, const struct gpu *gpu)
{
    if (a->own->filter.gpu) return gpu_fits(gpu, a->own->filter.gpu);
    for (size_t i = 0; i < a->gpu_count; i++)
        if (gpu_same_name(a->gpus[i], gpu->name)) return true;
    return a->gpu_count == 0;
}

/* ---- what ships ---- */

/* Is it as accurate as its type demands? As db_winners judges what is stored. */
static bool is_accurate(const struct db_winner *w)
{
    const struct accuracy own = db_errors_accuracy(&w->errors), rival = db_errors_accuracy(&w->rival_errors);
    return !w->config.template || accuracy_answers(gemm_type_row(w->base.problem.type), &own, &rival);
}

/* Measured with another driver than this machine's. */
static void judge_age(const struct db_context *now, struct db_winner *w)
{
    if (!gpu_same_name(now->gpu.name, w->gpu.name) || !now->driver[0] || !w->driver[0] ||
        !driver_differs(now->driver, w->driver))
        return;
    w->stale = true;
    snprintf(w->why, sizeof w->why, "measured with driver %.60s, now it is %.60s", w->driver, now->driver);
}

/* Many lines are of one GPU: its descriptor is looked for once. False: it is none of those asked for. */
static bool add_figures(const struct answers *a, json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "gpu"));
    if (!a->figures || !name || strcmp(name, a->described.name) != 0 || json_object_get(json, "figures"))
        return true;
    json_object_set(json, "figures", a->figures);
    return a->wanted;
}

static void keep_described(struct answers *a, const struct gpu *gpu)
{
    if (a->figures && strcmp(a->described.name, gpu->name) == 0) return;
    a->described = *gpu;
    a->wanted = is_wanted(a, gpu);
    json_decref(a->figures);
    a->figures = gpu_to_json(gpu);
}

static enum status take_line(void *self, const char *line, size_t length)
{
    struct answers *a = self;
    struct db_winner w;
    int64_t decided_us;
    json_error_t error;
    json_t *json = json_pick(line, length, NULL);
    if (!json) json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (!json) return fail(E_INPUT, "%.120s", error.text);
    const bool wanted = add_figures(a, json);
    const enum status st = wanted ? winner_from_json(json, a->folder, &w, &decided_us) : OK;
    json_decref(json);
    if (st || !wanted) return st;
    keep_described(a, &w.gpu);
    if (w.base.predicted || !a->wanted || !is_accurate(&w) || !may_answer(a, &w)) return OK;
    judge_age(&a->own->now, &w);
    return add(&a->ships, &w);
}

static enum status read_ships(struct answers *a)
{
    char winners[PATH_MAX], first[1400];
    int64_t broken = 0;
    if (pretuned_folder(winners, sizeof winners) || paths_configs("gpus", a->folder, sizeof a->folder))
        return OK;
    const enum status st = pretuned_lines(winners, take_line, a, &broken, first, sizeof first);
    sort(&a->ships);
    if (st == E_MEMORY) return st;
    if (st) print_line(stderr, "tune: winners that ship are left out: %s", status_text());
    else if (broken)
        print_line(stderr, "tune: %" PRId64 " winner%s that ship%s cannot be read, the first: %s", broken,
                   PRINT_S(broken), broken == 1 ? "s" : "", first);
    return a->st;
}

/* ---- the system's database ---- */

static void open_system(struct answers *a)
{
    char path[PATH_MAX];
    enum status st = db_system_path(path, sizeof path);
    if (st == E_ABSENT || (a->own->db && db_same_file(path, a->own->path))) return;
    const char *const usual = db_choose;
    db_choose = " with GEMMTUNE_SYSTEM_DB";
    if (!st) st = db_open(path, DB_READ, &a->system);
    if (st) print_line(stderr, "tune: the system's winners are left out: %s", status_text());
    db_choose = usual;
}

/* Its pins do not count here. What is due is the administrator's to do. */
static bool keep_of_system(void *self, const struct db_winner *winner)
{
    struct answers *a = self;
    struct db_winner w = *winner;
    w.pin_holds = false;
    w.due = DUE_NOTHING;
    if (w.base.predicted || w.unusable || !may_answer(a, &w)) return true;
    const enum status st = add(&a->of_system, &w);
    if (st) a->st = st;
    return !a->st;
}

static enum status read_system(struct answers *a, const struct db_filter *filter)
{
    a->of_system.count = 0;
    if (!a->system) return OK;
    const struct db_context *now = a->own->now.gpu.name[0] ? &a->own->now : NULL;
    const enum status st = db_winners(a->system, filter, now, keep_of_system, a);
    sort(&a->of_system);
    if (a->st) return a->st;
    return st == E_ABSENT ? OK : st;
}

/* ---- listing ---- */

static void show(struct answers *a, const struct answer *answer)
{
    if (!a->stopped) a->stopped = !a->visit(a->self, answer);
}

static bool same_case(const struct db_winner *x, const struct db_winner *y)
{
    return problem_equal(&x->base.problem, &y->base.problem) && same_gpu(&x->gpu, &y->gpu);
}

/* by: the user's own measured one for the other cache policy, or NULL. */
static void show_prediction(struct answers *a, const struct db_winner *w, const struct db_winner *by)
{
    struct answer answer = {.winner = w, .from = ANSWER_OWN, .instead = by, .instead_from = ANSWER_OWN};
    if (!answer.instead) {
        answer.instead_from = ANSWER_SYSTEM;
        answer.instead = best_for(&a->of_system, w);
    }
    if (!answer.instead) {
        answer.instead_from = ANSWER_SHIPS;
        answer.instead = best_for(&a->ships, w);
    }
    if (!answer.instead || !a->all) show(a, &answer);
}

static void show_waiting(struct answers *a, const struct db_winner *by)
{
    if (a->is_waiting) show_prediction(a, &a->waiting, by);
    a->is_waiting = false;
}

/* Of one problem the two cache policies follow each other, so that a prediction waits for the next row. */
static bool show_own(void *self, const struct db_winner *w)
{
    struct answers *a = self;
    const struct answer answer = {.winner = w, .from = ANSWER_OWN};
    const bool answers = w->pin_holds || (!w->base.predicted && !w->unusable);
    show_waiting(a, answers && same_case(&a->waiting, w) ? w : NULL);
    if (answers) {
        hide(&a->of_system, w);
        hide(&a->ships, w);
        a->measured = *w;
    }
    if (answers || !w->base.predicted) {
        show(a, &answer);
    } else if (same_case(&a->measured, w)) {
        show_prediction(a, w, &a->measured);
    } else {
        a->waiting = *w;
        a->is_waiting = true;
    }
    return !a->stopped;
}

/* Of a problem that was asked for, one for another alpha or beta only where there is none for it. */
static bool is_asked(const struct place *place, const struct db_winner *w, const struct db_filter *filter)
{
    if (!filter->problem || problem_equal(&w->base.problem, filter->problem)) return true;
    const struct db_winner asked = {.base.problem = *filter->problem, .gpu = w->gpu};
    const struct db_winner *best = best_for(place, &asked);
    return filter->alike && best && !problem_equal(&best->base.problem, filter->problem);
}

static void show_place(struct answers *a, struct place *place, const struct db_filter *filter)
{
    size_t at = filter->problem ? first_of(place, filter->problem) : 0;
    for (; !a->stopped;) {
        struct shared *s = filter->problem     ? next_for(place, &at, filter->problem, NULL)
                           : at < place->count ? &place->at[at++]
                                               : NULL;
        if (!s) break;
        if (s->hidden || !is_asked(place, &s->winner, filter)) continue;
        if (place->from == ANSWER_SYSTEM) hide(&a->ships, &s->winner);
        const struct answer answer = {.winner = &s->winner, .from = place->from};
        show(a, &answer);
    }
}

static enum status list(struct answers *a, bool all, const struct db_filter *filter,
                        bool (*visit)(void *self, const struct answer *answer), void *self)
{
    const struct db_context *now = a->own->now.gpu.name[0] ? &a->own->now : NULL;
    a->all = all;
    a->visit = visit;
    a->self = self;
    a->stopped = a->is_waiting = false;
    a->measured = (struct db_winner){.gpu.sm_count = 0};
    enum status st = read_system(a, filter);
    for (size_t i = 0; i < a->ships.count; i++) a->ships.at[i].hidden = false;
    if (!st && a->own->db) st = db_winners(a->own->db, filter, now, show_own, a);
    if (st == E_ABSENT) st = OK; /* the GPU is not in it */
    if (!st) show_waiting(a, NULL);
    if (st || !all) return st;
    show_place(a, &a->of_system, filter);
    show_place(a, &a->ships, filter);
    return OK;
}

enum status answers_own(struct answers *a, const struct db_filter *filter,
                        bool (*visit)(void *self, const struct answer *answer), void *self)
{
    return list(a, false, filter, visit, self);
}

enum status answers_each(struct answers *a, const struct db_filter *filter,
                         bool (*visit)(void *self, const struct answer *answer), void *self)
{
    return list(a, true, filter, visit, self);
}

enum status answers_open(const struct db_view *own, struct answers **answers)
{
    struct answers *a = calloc(1, sizeof *a);
    *answers = a;
    if (!a) return fail(E_MEMORY, "out of memory");
    a->own = own;
    a->of_system.from = ANSWER_SYSTEM;
    a->ships.from = ANSWER_SHIPS;
    open_system(a);
    enum status st = own->db ? db_preferences(own->db, NULL, keep_preference, a) : OK;
    if (!st) st = a->st;
    if (!st) st = list_gpus(a);
    return st ? st : read_ships(a);
}

void answers_close(struct answers *a)
{
    if (!a) return;
    db_close(a->system);
    free(a->of_system.at);
    free(a->ships.at);
    free(a->preferences);
    free(a->gpus);
    json_decref(a->figures);
    free(a);
}
