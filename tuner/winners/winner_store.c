#include "winner_store.h"

#include "driver_version.h"
#include "env.h"
#include "pretuned.h"
#include "workspace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_TOGETHER 128 /* problems whose winners are read in one query */

/* ---- winners ---- */

static struct stored_winner describe(const struct winner_store *store, const struct db_brief *brief,
                                     bool pretuned)
{
    struct stored_winner w = {.base.problem = brief->base.problem,
                              .shape = shape_of(&brief->base.problem),
                              .config = CUBLAS_WON,
                              .pretuned = pretuned,
                              .base.cold = brief->base.cold,
                              .base.predicted = brief->base.predicted,
                              .base.exact = brief->base.exact,
                              .other_gpu = brief->other_gpu,
                              .changed = brief->changed || brief->unproven,
                              .base.time_us = brief->base.time_us,
                              .base.anchor_us = brief->base.anchor_us,
                              .base.ratio = brief->base.ratio,
                              .claim = brief->claim};
    w.stale = !brief->base.predicted &&
              (driver_differs(store->driver, brief->driver) || brief->protocol != DB_PROTOCOL);
    snprintf(w.base.when, sizeof w.base.when, "%.23s", brief->base.when);
    return w;
}

struct adding {
    struct winner_store *store;
    bool pretuned;
    enum status st;
};

static enum status add(struct winner_store *store, const struct db_brief *brief, bool pretuned)
{
    struct stored_winner w = describe(store, brief, pretuned);
    enum status st = brief->config.template ? winner_set_config(&store->set, &brief->config, &w.config) : OK;
    return st ? st : winner_set_add(&store->set, &w);
}

static void add_pretuned(void *self, const struct db_brief *brief)
{
    struct adding *adding = self;
    if (!adding->st) adding->st = add(adding->store, brief, true);
}

static bool add_own(void *self, const struct db_brief *brief)
{
    struct adding *adding = self;
    adding->st = add(adding->store, brief, false);
    return !adding->st;
}

static enum status open_pretuned(struct winner_store *store, const char *folder)
{
    char path[4096], first[1400];
    int64_t broken = 0;
    if (!folder) {
        if (pretuned_folder(path, sizeof path)) return OK;
        folder = path;
    }
    struct adding adding = {.store = store, .pretuned = true};
    enum status st = pretuned_read(folder, &store->gpu, add_pretuned, &adding, &broken, first, sizeof first);
    if (st) notice(store->notices, NOTICE_PRETUNED, "pretuned winners are not used: %s", status_text());
    else if (broken)
        notice(store->notices, NOTICE_PRETUNED, "%" PRId64 " pretuned winners are passed over, the first: %s",
               broken, first);
    return adding.st;
}

static void open_database(struct winner_store *store, const char *path)
{
    char usual[4096];
    bool named = path || env_text("GEMMTUNE_DB");
    enum status st = path ? OK : db_default_path(usual, sizeof usual);
    if (!st) st = db_open(path ? path : usual, DB_GLANCE, &store->db);
    if (!st) return;
    if (st == E_BUSY && !store->waiting) store->waiting = strdup(path ? path : usual);
    store->held = store->waiting != NULL;
    if (st != E_ABSENT || named) /* a default database that does not exist yet is not worth a message */
        notice(store->notices, NOTICE_DATABASE, "tuned winners are not used: %s", status_text());
}

/* ---- the system's database ---- */

#define TOGETHER 128

struct system_reading {
    struct winner_store *store;
    int64_t *ids;
    size_t count, room;
    enum status st;
};

static bool add_id(void *self, int64_t id, const struct problem *problem)
{
    struct system_reading *r = self;
    (void)problem;
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 256;
        int64_t *grown = realloc(r->ids, room * sizeof *grown);
        if (!grown) return r->st = fail(E_MEMORY, "out of memory while reading problems"), false;
        r->ids = grown;
        r->room = room;
    }
    r->ids[r->count++] = id;
    return true;
}

static bool add_of_system(void *self, const struct db_brief *brief)
{
    struct system_reading *r = self;
    if (brief->base.predicted) return true;
    r->st = add(r->store, brief, true);
    if (!r->st) r->store->set.winners[r->store->set.count - 1].system = true;
    return !r->st;
}

/* An administrator may mean it for some users only: others need not hear of it from every program. `tune
 * query` and `tune doctor` say it. */
static bool is_closed_on_purpose(const char *path)
{
    return access(path, R_OK) != 0 && errno == EACCES && !env_text("GEMMTUNE_SYSTEM_DB") &&
           !env_is_on("GEMMTUNE_LOG");
}

/* Its winners are read at once, as the pretuned ones are, before which they come. Errors: E_MEMORY. */
static enum status open_system(struct winner_store *store)
{
    char path[4096];
    struct db *db = NULL;
    struct system_reading r = {.store = store};
    enum status st = db_system_path(path, sizeof path);
    if (st == E_ABSENT) return OK;
    if (!st) st = db_open(path, DB_GLANCE, &db);
    if (!st) st = db_problems_each(db, add_id, &r);
    for (size_t i = 0; !st && !r.st && i < r.count; i += TOGETHER) {
        int64_t broken = 0;
        const size_t left = r.count - i;
        st = db_brief_of(db, &store->gpu, r.ids + i, (int)(left < TOGETHER ? left : TOGETHER), add_of_system,
                         &r, &broken);
    }
    if (st && st != E_MEMORY && !is_closed_on_purpose(path))
        notice(store->notices, NOTICE_SYSTEM, "the system's winners are not used: %s", status_text());
    db_close(db);
    free(r.ids);
    return st == E_MEMORY ? st : r.st;
}

/* The database has become unreadable: print a notice, and continue without it. */
static void lose_database(struct winner_store *store)
{
    notice(store->notices, NOTICE_DATABASE, "tuned winners are no longer used: %s", status_text());
    db_close(store->db);
    store->db = NULL;
    store->problem_count = 0;
}

/* Errors: E_MEMORY. If the database is held, the next lookup tries again. */
static enum status read_preferences(struct winner_store *store)
{
    const enum status st = preferences_read(&store->preferences, store->db, &store->gpu);
    store->preferences_read = st != E_BUSY && st != E_MEMORY;
    switch (st) {
    case OK:
    case E_MEMORY:
        break;
    case E_BUSY:
        store->held = true;
        break;
    case E_DB: /* winners are read row by row, and need not be broken too */
        notice(store->notices, NOTICE_DATABASE, "pins and exclusions are not used: %s", status_text());
        break;
    default:
        lose_database(store);
        break;
    }
    return st == E_MEMORY ? st : OK;
}

static void start(struct winner_store *store, const struct gpu *gpu, struct notices *notices)
{
    *store = (struct winner_store){.gpu = *gpu, .notices = notices};
    store->workspace_bytes = workspace_from_environment();
    driver_release(store->driver);
}

enum status winner_store_open(struct winner_store *store, const struct gpu *gpu, const char *database,
                              const char *pretuned, struct notices *notices)
{
    start(store, gpu, notices);
    if (!database || database[0]) open_database(store, database);
    enum status st = !database || database[0] ? open_system(store) : OK;
    if (!st && (!pretuned || pretuned[0])) st = open_pretuned(store, pretuned);
    if (!st && store->db) st = read_preferences(store);
    if (st) winner_store_close(store);
    return st;
}

enum status winner_store_open_shared(struct winner_store *store, const struct gpu *gpu, struct db *own,
                                     struct notices *notices)
{
    start(store, gpu, notices);
    enum status st = open_system(store);
    if (!st) st = open_pretuned(store, NULL);
    if (!st && own) {
        st = preferences_read(&store->preferences, own, gpu);
        if (st && st != E_MEMORY) {
            notice(notices, NOTICE_DATABASE, "pins and exclusions are not used: %s", status_text());
            st = OK;
        }
    }
    if (st) winner_store_close(store);
    return st;
}

enum status winner_store_ask(struct winner_store *store)
{
    store->held = store->waiting != NULL;
    if (store->held) {
        /* The first, second, fourth, eighth question: each attempt takes as long as a glance waits. */
        store->lookups++;
        const bool due = (store->lookups & (store->lookups - 1)) == 0;
        store->held = !due || db_open(store->waiting, DB_GLANCE, &store->db) == E_BUSY;
    }
    if (store->waiting && !store->held) {
        free(store->waiting);
        store->waiting = NULL;
    }
    return store->db && !store->preferences_read ? read_preferences(store) : OK;
}

bool winner_store_renew(struct winner_store *store, const char *database)
{
    char usual[4096];
    struct db *fresh = NULL;
    if (!database && db_default_path(usual, sizeof usual)) return false;
    if (db_open(database ? database : usual, DB_GLANCE, &fresh)) return false;
    db_close(store->db);
    free(store->waiting);
    store->waiting = NULL;
    store->db = fresh;
    store->held = store->loaded = false;
    store->problem_count = 0;
    while (store->set.count > 0 && !store->set.winners[store->set.count - 1].pretuned) store->set.count--;
    read_preferences(store);
    return store->db != NULL;
}

void winner_store_close(struct winner_store *store)
{
    db_close(store->db);
    free(store->waiting);
    free(store->problems);
    preferences_free(&store->preferences);
    winner_set_free(&store->set);
    *store = (struct winner_store){.db = NULL};
}

static bool read_recorded(struct winner_store *store, const struct problem *problem,
                          struct stored_winner *winner, struct config *config)
{
    struct db_brief brief;
    const enum status st = store->db ? db_brief_find(store->db, &store->gpu, problem, &brief) : E_ABSENT;
    store->held |= st == E_BUSY;
    if (st && st != E_ABSENT && st != E_BUSY) lose_database(store);
    const bool usable = !st && !brief.changed && !brief.unproven;
    if (usable) {
        *winner = describe(store, &brief, false);
        *config = brief.config;
    }
    return usable;
}

bool winner_store_recorded(struct winner_store *store, const struct problem *problem,
                           struct stored_winner *winner, struct config *config)
{
    bool found = read_recorded(store, problem, winner, config);
    struct problem alike[DB_ALIKE_MAX];
    int count = 0;
    if (found && !winner->base.predicted) return true;
    if (store->db && db_problems_alike(store->db, problem, alike, &count) == E_BUSY) store->held = true;
    for (int i = 0; i < count; i++) {
        struct stored_winner w;
        struct config its;
        if (!read_recorded(store, &alike[i], &w, &its) || (found && w.base.predicted)) continue;
        found = true;
        *winner = w;
        *config = its;
        if (!w.base.predicted) break;
    }
    return found;
}

bool winner_store_failed(struct winner_store *store, const struct problem *problem,
                         const struct config *config, const char *since)
{
    bool failed = false;
    if (!store->db) return false;
    const enum status st = db_has_failed(store->db, &store->gpu, problem, config, since, &failed);
    store->held |= st == E_BUSY;
    if (st && st != E_BUSY) lose_database(store);
    return failed;
}

/* ---- neighbours ---- */

static bool add_problem(void *self, int64_t id, const struct problem *problem)
{
    struct adding *adding = self;
    struct winner_store *store = adding->store;
    if (store->problem_count == store->problem_room) {
        size_t room = store->problem_room ? 2 * store->problem_room : 256;
        struct stored_problem *grown = realloc(store->problems, room * sizeof *grown);
        if (!grown) {
            adding->st = fail(E_MEMORY, "out of memory while reading problems");
            return false;
        }
        store->problems = grown;
        store->problem_room = room;
    }
    store->problems[store->problem_count++] = (struct stored_problem){.shape = shape_of(problem), .id = id};
    return true;
}

/* Reads the winners of some problems. Winners read before a failure were checked row by row and are kept. */
static enum status read_winners(struct winner_store *store, struct stored_problem *const problems[],
                                int count)
{
    struct adding adding = {.store = store};
    int64_t ids[WINNERS_SPREAD], broken = 0;
    for (int i = 0; i < count; i++) {
        problems[i]->read = true;
        ids[i] = problems[i]->id;
    }
    enum status st = db_brief_of(store->db, &store->gpu, ids, count, add_own, &adding, &broken);
    if (adding.st || st == E_MEMORY) return adding.st ? adding.st : st;
    if (st) lose_database(store);
    else if (broken)
        notice(store->notices, NOTICE_DATABASE,
               "winners of the database (%" PRId64
               " of the first that are needed) are passed over: they hold "
               "impossible values or belong to kernels that this library does not have",
               broken);
    return OK;
}

enum status winner_store_load(struct winner_store *store)
{
    if (!store->db && !store->loaded) store->model_configs = store->set.config_count;
    if (store->loaded || !store->db) return OK;
    struct adding adding = {.store = store};
    store->problem_count = 0;
    enum status st = db_problems_each(store->db, add_problem, &adding);
    if (adding.st || st == E_MEMORY) return adding.st ? adding.st : st;
    store->loaded = st != E_BUSY;
    if (st == E_BUSY) store->problem_count = 0;
    else if (st) {
        lose_database(store);
    }
    if (st) return OK;
    struct stored_problem *spread[WINNERS_SPREAD];
    const size_t step = (store->problem_count + WINNERS_SPREAD - 1) / WINNERS_SPREAD;
    int count = 0;
    for (size_t i = 0; i < store->problem_count; i += step) spread[count++] = &store->problems[i];
    st = read_winners(store, spread, count);
    store->model_configs = store->set.config_count;
    return st;
}

enum status winner_store_read_near(struct winner_store *store, const struct shape *shape, double within,
                                   bool *more)
{
    struct stored_problem *nearest[READ_TOGETHER];
    double distances[READ_TOGETHER];
    int count = 0;
    for (size_t i = 0; i < store->problem_count; i++) {
        struct stored_problem *p = &store->problems[i];
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
    return count ? read_winners(store, nearest, count) : OK;
}
