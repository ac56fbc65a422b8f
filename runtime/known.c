#include "known.h"

#include "pretuned.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGS_MAX (1 << 20)

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
                             .log_m = log2f(1 + (float)brief->problem.m),
                             .log_n = log2f(1 + (float)brief->problem.n),
                             .log_k = log2f(1 + (float)brief->problem.k),
                             .log_batch = log2f(1 + (float)brief->problem.batch),
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
    bool named = path || getenv("GEMMTUNE_DB");
    enum status st = path ? OK : db_default_path(usual, sizeof usual);
    if (!st) st = db_open(path ? path : usual, DB_GLANCE, &known->db);
    if (!st) return;
    known->db = NULL;
    if (st != E_ABSENT || named) /* that somebody has not tuned yet is nothing to complain of */
        notice(known->notices, NOTICE_DATABASE, "tuned winners are not used: %s", status_text());
}

enum status known_open(struct known *known, const struct gpu *gpu, const char *database, const char *pretuned,
                       struct notices *notices)
{
    *known = (struct known){.gpu = *gpu, .notices = notices};
    known_driver(known->driver);
    if (!database || database[0]) open_database(known, database);
    enum status st = !pretuned || pretuned[0] ? open_pretuned(known, pretuned) : OK;
    if (st) known_close(known);
    return st;
}

void known_close(struct known *known)
{
    db_close(known->db);
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

enum status known_exact(struct known *known, const struct problem *problem, struct known_winner *winner,
                        struct config *config)
{
    struct db_brief brief;
    enum status st = known->db ? db_brief_find(known->db, &known->gpu, problem, &brief) : E_ABSENT;
    if (st && st != E_ABSENT) lose_database(known);
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

enum status known_load(struct known *known)
{
    if (known->loaded || !known->db) return OK;
    struct adding adding = {.known = known};
    int64_t broken = 0;
    enum status st = db_brief_each(known->db, &known->gpu, add_own, &adding, &broken);
    if (st == E_MEMORY || adding.st) return st ? st : adding.st;
    known->loaded = true;
    if (st) lose_database(known); /* what was read until then has been checked row by row */
    else if (broken)
        notice(known->notices, NOTICE_DATABASE,
               "%" PRId64
               " winners of the database are passed over: they hold impossible values or belong to "
               "kernels that this library does not have",
               broken);
    return OK;
}
