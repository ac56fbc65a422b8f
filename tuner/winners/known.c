#include "known.h"

#include "env.h"
#include "pretuned.h"
#include "workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- winners ---- */

static struct known_winner describe(const struct known *known, const struct db_brief *brief, bool pretuned)
{
    struct known_winner w = {.base.problem = brief->base.problem,
                             .shape = shape_of(&brief->base.problem),
                             .config = KNOWN_CUBLAS,
                             .pretuned = pretuned,
                             .base.cold = brief->base.cold,
                             .base.predicted = brief->base.predicted,
                             .base.exact = brief->base.exact,
                             .other_gpu = brief->other_gpu,
                             .changed = brief->changed || brief->unproven,
                             .base.time_us = brief->base.time_us,
                             .base.anchor_us = brief->base.anchor_us,
                             .base.ratio = brief->base.ratio};
    bool other_driver = known->driver[0] && brief->driver[0] && strcmp(known->driver, brief->driver) != 0;
    w.stale = !brief->base.predicted && (other_driver || brief->protocol != DB_PROTOCOL);
    snprintf(w.base.when, sizeof w.base.when, "%.23s", brief->base.when);
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
    enum status st = brief->config.template ? winner_set_config(&known->set, &brief->config, &w.config) : OK;
    return st ? st : winner_set_add(&known->set, &w);
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

/* ---- what the user wants ---- */

static bool add_preference(void *self, const struct db_preference *preference)
{
    struct adding *adding = self;
    struct known *known = adding->known;
    struct known_preference p = {.problem = preference->problem, .pin = preference->pin};
    if (preference->gpu.arch != known->gpu.arch || preference->gpu.sm_count != known->gpu.sm_count)
        return true;
    if (config_parse(preference->config_text, &p.config)) return true; /* of a template that is no more */
    struct known_preference *grown =
        realloc(known->preferences, (known->preference_count + 1) * sizeof *grown);
    if (!grown) {
        adding->st = fail(E_MEMORY, "out of memory while reading preferences");
        return false;
    }
    known->preferences = grown;
    known->preferences[known->preference_count++] = p;
    return true;
}

static void lose_database(struct known *known);

/* Errors: E_MEMORY. A database that is held is asked again at the next question. */
static enum status read_preferences(struct known *known)
{
    if (!known->db || known->preferences_read) return OK;
    struct adding adding = {.known = known};
    const struct db_filter filter = {.gpu = known->gpu.name};
    known->preference_count = 0;
    enum status st = db_preferences(known->db, &filter, add_preference, &adding);
    known->preferences_read = st != E_BUSY;
    known->held |= st == E_BUSY;
    if (adding.st || st == E_MEMORY) return adding.st ? adding.st : st;
    if (st && st != E_BUSY && st != E_ABSENT) lose_database(known);
    return OK;
}

bool known_pinned(const struct known *known, const struct problem *problem, struct config *config)
{
    for (size_t i = 0; i < known->preference_count; i++) {
        const struct known_preference *p = &known->preferences[i];
        if (!p->pin || p->problem.m != problem->m || !problem_equal(&p->problem, problem)) continue;
        *config = p->config;
        return true;
    }
    return false;
}

bool known_excludes(const struct known *known, const struct problem *problem, const struct config *config)
{
    for (size_t i = 0; i < known->preference_count; i++) {
        const struct known_preference *p = &known->preferences[i];
        if (!p->pin && config_equal(&p->config, config) && problem_equal(&p->problem, problem)) return true;
    }
    return false;
}

enum status known_open(struct known *known, const struct gpu *gpu, const char *database, const char *pretuned,
                       struct notices *notices)
{
    *known = (struct known){.gpu = *gpu, .notices = notices};
    workspace_from_environment(&known->workspace_bytes); /* or the default, where it says nonsense */
    known_driver(known->driver);
    if (!database || database[0]) open_database(known, database);
    enum status st = !pretuned || pretuned[0] ? open_pretuned(known, pretuned) : OK;
    if (!st) st = read_preferences(known);
    if (st) known_close(known);
    return st;
}

/* A database that is waited for is tried at the first, second, fourth, eighth question: each takes as long as
 * a glance waits. */
static void open_waiting(struct known *known)
{
    known->asked++;
    if (known->asked & (known->asked - 1)) return;
    const enum status st = db_open(known->waiting, DB_GLANCE, &known->db);
    if (st) known->db = NULL;
    if (st == E_BUSY) return;
    free(known->waiting);
    known->waiting = NULL;
}

enum status known_ask(struct known *known)
{
    known->held = false;
    if (known->waiting) open_waiting(known);
    return read_preferences(known);
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
    free(known->preferences);
    winner_set_free(&known->set);
    *known = (struct known){.db = NULL};
}

/* The database cannot be read any further: say so, and go on without. */
static void lose_database(struct known *known)
{
    notice(known->notices, NOTICE_DATABASE, "tuned winners are no longer used: %s", status_text());
    db_close(known->db);
    known->db = NULL;
    known->problem_count = 0;
}

enum status known_recorded(struct known *known, const struct problem *problem, struct db_brief *brief)
{
    const enum status st = known->db ? db_brief_find(known->db, &known->gpu, problem, brief) : E_ABSENT;
    known->held |= st == E_BUSY;
    if (st && st != E_ABSENT && st != E_BUSY) lose_database(known);
    return st || brief->changed || brief->unproven ? E_ABSENT : OK;
}

enum status known_take(struct known *known, const struct db_brief *brief, struct known_winner *winner,
                       struct config *config)
{
    *winner = describe(known, brief, false);
    if (!brief->config.template) return OK;
    *config = brief->config;
    return winner_set_config(&known->set, config, &winner->config);
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
