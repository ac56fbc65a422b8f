#include "known.h"

#include "env.h"
#include "pretuned.h"
#include "workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGS_MAX   (1 << 20)
#define READ_TOGETHER 128 /* problems whose winners are read at a time */

void known_driver(char version[DB_TEXT_MAX])
{
    version[0] = '\0';
    FILE *file = fopen("/sys/module/nvidia/version", "re");
    if (!file) return;
    if (!fgets(version, DB_TEXT_MAX, file)) version[0] = '\0';
    version[strcspn(version, "\n")] = '\0';
    fclose(file);
}

/* ---- configurations, each once ---- */

/* Of the values alone: cheaper than config_hash, which goes through the text form and is the same on every
 * machine. */
static size_t hash_of(const struct config *config)
{
    uint64_t hash = (uintptr_t)config->template;
    for (int i = 0; i < CONFIG_PARAMS_MAX; i++)
        hash = (hash ^ (uint64_t)config->value[i]) * UINT64_C(0xff51afd7ed558ccd), hash ^= hash >> 32;
    return (size_t)hash;
}

static enum status grow_places(struct known *known)
{
    size_t wanted = known->place_count ? 2 * known->place_count : 64;
    int *places = calloc(wanted, sizeof *places);
    if (!places) return fail(E_MEMORY, "out of memory while reading winners");
    for (int i = 0; i < known->config_count; i++) {
        size_t at = hash_of(&known->configs[i]) & (wanted - 1);
        while (places[at]) at = (at + 1) & (wanted - 1);
        places[at] = i + 1;
    }
    free(known->places);
    known->places = places;
    known->place_count = wanted;
    return OK;
}

static enum status add_config(struct known *known, const struct config *config, int *index)
{
    enum status st = 2 * (size_t)known->config_count >= known->place_count ? grow_places(known) : OK;
    if (st) return st;
    size_t at = hash_of(config) & (known->place_count - 1);
    for (; known->places[at]; at = (at + 1) & (known->place_count - 1)) {
        *index = known->places[at] - 1;
        if (config_equal(&known->configs[*index], config)) return OK;
    }
    if (known->config_count == known->config_room) {
        int room = known->config_room ? 2 * known->config_room : 32;
        struct config *grown =
            room <= CONFIGS_MAX ? realloc(known->configs, (size_t)room * sizeof *grown) : NULL;
        if (!grown) return fail(E_MEMORY, "out of memory while reading winners");
        known->configs = grown;
        known->config_room = room;
    }
    *index = known->config_count++;
    known->configs[*index] = *config;
    known->places[at] = *index + 1;
    return OK;
}

/* ---- winners ---- */

static struct known_winner describe(const struct known *known, const struct db_brief *brief, bool pretuned)
{
    struct known_winner w = {.problem = brief->problem,
                             .shape = shape_of(&brief->problem),
                             .config = KNOWN_CUBLAS,
                             .pretuned = pretuned,
                             .cold = brief->cold,
                             .predicted = brief->predicted,
                             .exact = brief->exact,
                             .other_gpu = brief->other_gpu,
                             .changed = brief->changed,
                             .time_us = brief->time_us,
                             .anchor_us = brief->anchor_us,
                             .ratio = brief->ratio};
    bool other_driver = known->driver[0] && brief->driver[0] && strcmp(known->driver, brief->driver) != 0;
    w.stale = !brief->predicted && (other_driver || brief->protocol != DB_PROTOCOL);
    snprintf(w.when, sizeof w.when, "%.23s", brief->when);
    return w;
}

struct adding {
    struct known *known;
    bool pretuned;
    enum status st;
};

static enum status add(struct known *known, const struct db_brief *brief, bool pretuned)
{
    struct known_winner w = describe(known, brief, pretuned);
    enum status st = brief->config.template ? add_config(known, &brief->config, &w.config) : OK;
    if (st) return st;
    if (known->count == known->room) {
        size_t room = known->room ? 2 * known->room : 64;
        struct known_winner *grown = realloc(known->winners, room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory while reading winners");
        known->winners = grown;
        known->room = room;
    }
    known->winners[known->count++] = w;
    return OK;
}

static void add_pretuned(void *self, const struct db_brief *brief)
{
    struct adding *adding = self;
    if (!adding->st) adding->st = add(adding->known, brief, true);
}

static bool add_own(void *self, const struct db_brief *brief)
{
    struct adding *adding = self;
    adding->st = add(adding->known, brief, false);
    return !adding->st;
}

static enum status open_pretuned(struct known *known, const char *folder)
{
    char path[4096], first[1400];
    int64_t broken = 0;
    if (!folder) {
        if (pretuned_folder(path, sizeof path)) return OK;
        folder = path;
    }
    struct adding adding = {.known = known, .pretuned = true};
    enum status st = pretuned_read(folder, &known->gpu, add_pretuned, &adding, &broken, first, sizeof first);
    if (st) notice(known->notices, NOTICE_PRETUNED, "pretuned winners are not used: %s", status_text());
    else if (broken)
        notice(known->notices, NOTICE_PRETUNED, "%" PRId64 " pretuned winners are passed over, the first: %s",
               broken, first);
    return adding.st;
}

static void open_database(struct known *known, const char *path)
{
    char usual[4096];
    bool named = path || env_text("GEMMTUNE_DB");
    enum status st = path ? OK : db_default_path(usual, sizeof usual);
    if (!st) st = db_open(path ? path : usual, DB_GLANCE, &known->db);
    if (!st) return;
    known->db = NULL;
    if (st == E_BUSY && !known->waiting) known->waiting = strdup(path ? path : usual);
    if (st != E_ABSENT || named) /* that somebody has not tuned yet is nothing to complain of */
        notice(known->notices, NOTICE_DATABASE, "tuned winners are not used: %s", status_text());
}

enum status known_open(struct known *known, const struct gpu *gpu, const char *database, const char *pretuned,
                       struct notices *notices)
{
    *known = (struct known){.gpu = *gpu, .notices = notices};
    workspace_from_environment(&known->workspace_bytes); /* or the default, where it says nonsense */
    known_driver(known->driver);
    if (!database || database[0]) open_database(known, database);
    enum status st = !pretuned || pretuned[0] ? open_pretuned(known, pretuned) : OK;
    if (st) known_close(known);
    return st;
}

/* At the first, second, fourth, eighth question: each takes as long as a glance waits. */
static void open_waiting(struct known *known)
{
    if (!known->waiting) return;
    known->asked++;
    if (known->asked & (known->asked - 1)) return;
    const enum status st = db_open(known->waiting, DB_GLANCE, &known->db);
    if (st) known->db = NULL;
    if (st == E_BUSY) return;
    free(known->waiting);
    known->waiting = NULL;
}

bool known_is_held(const struct known *known)
{
    return known->waiting || known->held;
}

void known_close(struct known *known)
{
    db_close(known->db);
    free(known->waiting);
    free(known->problems);
    free(known->winners);
    free(known->configs);
    free(known->places);
    *known = (struct known){.count = 0};
}

/* The database cannot be read any further: say so, and go on without. */
static void lose_database(struct known *known)
{
    notice(known->notices, NOTICE_DATABASE, "tuned winners are no longer used: %s", status_text());
    db_close(known->db);
    known->db = NULL;
    known->problem_count = 0;
}

static bool usable(const struct known_winner *w)
{
    return !w->changed && !w->other_gpu;
}

/* The pretuned winner for this problem, cold before hot. */
static const struct known_winner *find_pretuned(const struct known *known, const struct problem *problem)
{
    const struct known_winner *best = NULL;
    for (size_t i = 0; i < known->count; i++) {
        const struct known_winner *w = &known->winners[i];
        if (!w->pretuned || !usable(w) || w->problem.m != problem->m || w->problem.n != problem->n) continue;
        if ((!best || (w->cold && !best->cold)) && problem_equal(&w->problem, problem)) best = w;
    }
    return best;
}

static enum status exact_of_type(struct known *known, const struct problem *problem,
                                 struct known_winner *winner, struct config *config)
{
    struct db_brief brief;
    enum status st = known->db ? db_brief_find(known->db, &known->gpu, problem, &brief) : E_ABSENT;
    known->held |= st == E_BUSY;
    if (st && st != E_ABSENT && st != E_BUSY) lose_database(known);
    bool own = !st && !brief.changed;
    const struct known_winner *pretuned = own && !brief.predicted ? NULL : find_pretuned(known, problem);
    if (pretuned && (!own || !pretuned->predicted)) {
        *winner = *pretuned;
        if (pretuned->config != KNOWN_CUBLAS) *config = known->configs[pretuned->config];
        return OK;
    }
    if (!own) return E_ABSENT;
    *winner = describe(known, &brief, false);
    if (!brief.config.template) return OK;
    *config = brief.config;
    return add_config(known, config, &winner->config);
}

/* The fastest measured for the same problem of another type that answers. E_ABSENT: none. */
static enum status exact_of_others(struct known *known, const struct problem *problem,
                                   struct known_winner *winner, struct config *config)
{
    enum status answer = E_ABSENT;
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        struct problem other = *problem;
        struct known_winner found;
        struct config its;
        other.type = (enum gemm_type)type;
        if (other.type == problem->type || !gemm_type_answers(other.type, problem->type)) continue;
        enum status st = exact_of_type(known, &other, &found, &its);
        if (st && st != E_ABSENT) return st;
        if (st || found.predicted || (!answer && winner->time_us <= found.time_us)) continue;
        *winner = found;
        if (found.config != KNOWN_CUBLAS) *config = its;
        answer = OK;
    }
    return answer;
}

enum status known_exact(struct known *known, const struct problem *problem, struct known_winner *winner,
                        struct config *config)
{
    struct known_winner other;
    struct config its;
    open_waiting(known);
    known->held = false;
    const enum status own = exact_of_type(known, problem, winner, config);
    if (own ? own != E_ABSENT : !winner->predicted) return own;
    const enum status st = exact_of_others(known, problem, &other, &its);
    if (st) return st == E_ABSENT ? own : st;
    *winner = other;
    if (other.config != KNOWN_CUBLAS) *config = its;
    return OK;
}

/* ---- what is near ---- */

static bool add_problem(void *self, int64_t id, const struct problem *problem)
{
    struct adding *adding = self;
    struct known *known = adding->known;
    if (known->problem_count == known->problem_room) {
        size_t room = known->problem_room ? 2 * known->problem_room : 256;
        struct known_problem *grown = realloc(known->problems, room * sizeof *grown);
        if (!grown) {
            adding->st = fail(E_MEMORY, "out of memory while reading problems");
            return false;
        }
        known->problems = grown;
        known->problem_room = room;
    }
    known->problems[known->problem_count++] = (struct known_problem){.shape = shape_of(problem), .id = id};
    return true;
}

/* The winners of some problems. What was read before something broke has been checked row by row. */
static enum status read_winners(struct known *known, struct known_problem *const problems[], int count)
{
    struct adding adding = {.known = known};
    int64_t ids[KNOWN_SPREAD], broken = 0;
    for (int i = 0; i < count; i++) {
        problems[i]->read = true;
        ids[i] = problems[i]->id;
    }
    enum status st = db_brief_of(known->db, &known->gpu, ids, count, add_own, &adding, &broken);
    if (adding.st || st == E_MEMORY) return adding.st ? adding.st : st;
    if (st) lose_database(known);
    else if (broken)
        notice(known->notices, NOTICE_DATABASE,
               "winners of the database (%" PRId64
               " of the first that are needed) are passed over: they hold "
               "impossible values or belong to kernels that this library does not have",
               broken);
    return OK;
}

enum status known_load(struct known *known)
{
    if (known->loaded || !known->db) return OK;
    struct adding adding = {.known = known};
    known->problem_count = 0;
    enum status st = db_problems_each(known->db, add_problem, &adding);
    if (adding.st || st == E_MEMORY) return adding.st ? adding.st : st;
    known->loaded = st != E_BUSY;
    if (st == E_BUSY) known->problem_count = 0;
    else if (st) {
        lose_database(known);
    }
    if (st) return OK;
    struct known_problem *spread[KNOWN_SPREAD];
    const size_t step = (known->problem_count + KNOWN_SPREAD - 1) / KNOWN_SPREAD;
    int count = 0;
    for (size_t i = 0; i < known->problem_count; i += step) spread[count++] = &known->problems[i];
    return read_winners(known, spread, count);
}

enum status known_read_near(struct known *known, const struct shape *shape, double within, bool *more)
{
    struct known_problem *nearest[READ_TOGETHER];
    double distances[READ_TOGETHER];
    int count = 0;
    for (size_t i = 0; i < known->problem_count; i++) {
        struct known_problem *p = &known->problems[i];
        if (p->read || !shape_answers(&p->shape, shape)) continue;
        const double distance = shape_distance(&p->shape, shape);
        if (!(distance < (count == READ_TOGETHER ? distances[count - 1] : within))) continue;
        int at = count < READ_TOGETHER ? count++ : count - 1;
        for (; at > 0 && distances[at - 1] > distance; at--) {
            nearest[at] = nearest[at - 1];
            distances[at] = distances[at - 1];
        }
        nearest[at] = p;
        distances[at] = distance;
    }
    *more = count > 0;
    return count ? read_winners(known, nearest, count) : OK;
}
