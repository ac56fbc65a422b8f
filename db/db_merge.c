#include "db_merging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- copying ---- */

static bool map_add(struct merge_map *map, int64_t from, int64_t to)
{
    if (map->count == map->room) {
        size_t room = map->room ? 2 * map->room : 64;
        void *grown = realloc(map->pairs, room * sizeof *map->pairs);
        if (!grown) return false;
        map->pairs = grown;
        map->room = room;
    }
    map->pairs[map->count][0] = from;
    map->pairs[map->count++][1] = to;
    return true;
}

/* A table: columns id, hash, references to others, content. Rows of a checked file have the hash of their
 * content, so the hash is copied; a row whose hash exists in the target is the same row. */
struct table {
    const char *name, *select, *insert, *find;
    int references[4]; /* in the order of columns; -1 ends them */
    bool numbered;     /* ids of new rows are assigned here */
};

static const struct table tables[MERGE_TABLES] = {
    [MERGE_GPUS] = {"gpus",
                    "SELECT id, hash, name, arch, sm_count FROM gpus ORDER BY id",
                    "INSERT INTO gpus (id, hash, name, arch, sm_count) VALUES (?1, ?2, ?3, ?4, ?5) "
                    "ON CONFLICT (hash) DO NOTHING",
                    "SELECT id FROM gpus WHERE hash = ?1",
                    {-1},
                    false},
    [MERGE_FIGURES] = {"gpu_figures",
                       "SELECT id, hash, gpu_id, " DB_FIGURES_CONTENT " FROM gpu_figures ORDER BY id",
                       "INSERT INTO gpu_figures (id, hash, gpu_id, " DB_FIGURES_CONTENT
                       ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
                       "?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT (hash) DO NOTHING",
                       "SELECT id FROM gpu_figures WHERE hash = ?1",
                       {MERGE_GPUS, -1},
                       false},
    [MERGE_PROBLEMS] = {"problems",
                        "SELECT id, hash, text, type, op, epilogue, m, n, k, batch FROM problems ORDER BY id",
                        "INSERT INTO problems (id, hash, text, type, op, epilogue, m, n, k, batch) "
                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (hash) DO NOTHING",
                        "SELECT id FROM problems WHERE hash = ?1",
                        {-1},
                        false},
    [MERGE_CONFIGS] = {"configs",
                       "SELECT id, hash, template, kernel_hash, schema_hash, text FROM configs ORDER BY id",
                       "INSERT INTO configs (id, hash, template, kernel_hash, schema_hash, text) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (hash) DO NOTHING",
                       "SELECT id FROM configs WHERE hash = ?1",
                       {-1},
                       false},
    [MERGE_RUNS] =
        {"runs",
         "SELECT id, hash, gpu_id, figures_id, " DB_RUN_CONTENT ", ended_us, how FROM runs ORDER BY id",
         "INSERT INTO runs (id, hash, gpu_id, figures_id, " DB_RUN_CONTENT
         ", ended_us, how) VALUES (?1, ?2, ?3, "
         "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) ON CONFLICT (hash) DO NOTHING",
         "SELECT id FROM runs WHERE hash = ?1",
         {MERGE_GPUS, MERGE_FIGURES, -1},
         false},
    [MERGE_DECISIONS] =
        {"decisions",
         "SELECT id, hash, run_id, gpu_id, problem_id, config_id, " DB_DECISION_CONTENT ", " DB_DECISION_GROWN
         " FROM decisions ORDER BY id",
         "INSERT INTO decisions (id, hash, run_id, gpu_id, problem_id, config_id, " DB_DECISION_CONTENT
         ", " DB_DECISION_GROWN
         ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
         "?19, "
         "?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29) ON CONFLICT (hash) DO NOTHING",
         "SELECT id FROM decisions WHERE hash = ?1",
         {MERGE_RUNS, MERGE_GPUS, MERGE_PROBLEMS, MERGE_CONFIGS},
         true},
};

static enum status bind_row(struct merge *m, const struct table *t, sqlite3_stmt *from, struct binder *b,
                            int64_t id)
{
    int column = 2;
    if (id) bind_int(b, id);
    else bind_null(b);
    bind_value(b, from, 1);
    for (; column < 6 && t->references[column - 2] >= 0; column++) {
        const int64_t old = sqlite3_column_int64(from, column);
        const int64_t new = merge_map_find(&m->maps[t->references[column - 2]], old);
        if (sqlite3_column_type(from, column) == SQLITE_NULL) bind_null(b);
        else if (new) bind_int(b, new);
        else return db_broken(m->from, t->name, sqlite3_column_int64(from, 0));
    }
    for (; column < sqlite3_column_count(from); column++) bind_value(b, from, column);
    return OK;
}

/* How a run ended is not part of its content. A known end is preferred to an unknown one and to "killed",
 * which only means that no end was reported; then the later end is preferred. */
static enum status end_run(struct merge *m, sqlite3_stmt *from, int64_t run_id)
{
    struct binder b = db_bind(
        m->to, "UPDATE runs SET ended_us = ?2, how = ?3 "
               "WHERE id = ?1 AND ?3 IS NOT NULL AND (how IS NULL OR "
               "(?3 <> 'killed', coalesce(?2, 0), ?3) > (how <> 'killed', coalesce(ended_us, 0), how))");
    const int last = sqlite3_column_count(from) - 1;
    bind_int(&b, run_id);
    bind_value(&b, from, last - 1);
    bind_value(&b, from, last);
    return db_run(m->to, &b, NULL, "store the end of a run");
}

static enum status copy_race(struct merge *m, int64_t from, int64_t to);
static enum status copy_rates(struct merge *m, int64_t from, int64_t to);

static enum status find_row(struct merge *m, const struct table *t, sqlite3_stmt *from, int64_t *id)
{
    struct binder b = db_bind(m->to, t->find);
    bind_value(&b, from, 1);
    return db_integer(m->to, &b, id, "look for a row");
}

static enum status copy_row(struct merge *m, int number, sqlite3_stmt *from, int64_t *next, int64_t *added)
{
    const struct table *t = &tables[number];
    const int64_t old = sqlite3_column_int64(from, 0);
    int64_t changes = 0, id = 0;
    struct binder b = db_bind(m->to, t->insert);
    enum status st = bind_row(m, t, from, &b, t->numbered ? *next : 0);
    if (!st) st = db_run(m->to, &b, &changes, "copy a row");
    if (st) return st;
    if (changes) {
        id = sqlite3_last_insert_rowid(m->to->handle);
        ++*added;
        if (t->numbered) ++*next;
        if (number == MERGE_DECISIONS) st = copy_race(m, old, id);
        if (number == MERGE_FIGURES) st = copy_rates(m, old, id);
    } else {
        if (number == MERGE_RUNS || number == MERGE_DECISIONS) m->merged->known++;
        st = find_row(m, t, from, &id);
    }
    if (!st && number == MERGE_RUNS) st = end_run(m, from, id);
    if (st) return st;
    return map_add(&m->maps[number], old, id) ? OK : fail(E_MEMORY, "out of memory while merging");
}

static enum status copy_table(struct merge *m, int number, int64_t *added)
{
    const struct binder from = db_bind(m->from, tables[number].select);
    int64_t next = 0;
    enum status st = OK;
    *added = 0;
    if (number == MERGE_DECISIONS) st = db_next_decision(m->to, &next);
    bool row;
    while (!st && !(st = db_next(m->from, &from, &row, "read it")) && row)
        st = copy_row(m, number, from.stmt, &next, added);
    db_done(&from);
    return st;
}

/* Copies rows that belong to one of the rows above; their first column is its id. */
static enum status copy_parts(struct merge *m, int64_t from, int64_t to, const char *select,
                              const char *insert, bool runners)
{
    const struct binder read = db_bind_ints(m->from, select, &from, 1);
    enum status st = OK;
    bool row;
    while (!st && !(st = db_next(m->from, &read, &row, "read a part")) && row) {
        struct binder b = db_bind_ints(m->to, insert, &to, 1);
        for (int i = 0; !b.rc && i < sqlite3_column_count(read.stmt); i++) {
            if (runners && i == 1)
                bind_int(&b, merge_map_find(&m->maps[MERGE_CONFIGS], sqlite3_column_int64(read.stmt, 1)));
            else bind_value(&b, read.stmt, i);
        }
        st = db_run(m->to, &b, NULL, "copy a part");
    }
    db_done(&read);
    return st;
}

static enum status copy_race(struct merge *m, int64_t from, int64_t to)
{
    enum status st = copy_parts(
        m, from, to, "SELECT runner, config_id FROM decision_runners WHERE decision_id = ?1 ORDER BY runner",
        "INSERT INTO decision_runners (decision_id, runner, config_id) VALUES (?1, ?2, ?3)", true);
    if (!st)
        st = copy_parts(m, from, to, "SELECT who, name, value FROM decision_errors WHERE decision_id = ?1",
                        "INSERT INTO decision_errors (decision_id, who, name, value) VALUES (?1, ?2, ?3, ?4)",
                        false);
    if (st) return st;
    return copy_parts(m, from, to,
                      "SELECT position, runner, round, time_us, timing, joules, sm_clock_mhz, power_w, "
                      "throttle_reasons FROM decision_samples WHERE decision_id = ?1 ORDER BY position",
                      "INSERT INTO decision_samples (decision_id, position, runner, round, time_us, timing, "
                      "joules, sm_clock_mhz, power_w, throttle_reasons) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                      false);
}

static enum status copy_rates(struct merge *m, int64_t from, int64_t to)
{
    return copy_parts(m, from, to, "SELECT name, value FROM gpu_rates WHERE figures_id = ?1",
                      "INSERT INTO gpu_rates (figures_id, name, value) VALUES (?1, ?2, ?3)", false);
}

/* Copies rows of two references and content that have no hash. */
static enum status copy_unhashed(struct merge *m, const char *select, const char *insert, int first,
                                 int second)
{
    const struct binder read = db_bind(m->from, select);
    enum status st = OK;
    bool row;
    while (!st && !(st = db_next(m->from, &read, &row, "read it")) && row) {
        struct binder b = db_bind(m->to, insert);
        bind_int(&b, merge_map_find(&m->maps[first], sqlite3_column_int64(read.stmt, 0)));
        bind_int(&b, merge_map_find(&m->maps[second], sqlite3_column_int64(read.stmt, 1)));
        for (int i = 2; !b.rc && i < sqlite3_column_count(read.stmt); i++) bind_value(&b, read.stmt, i);
        st = db_run(m->to, &b, NULL, "copy a row");
    }
    db_done(&read);
    return st;
}

/* Preferences: of two for the same configuration the one changed last is kept. */
static enum status copy_notes_and_preferences(struct merge *m)
{
    enum status st = copy_unhashed(
        m, "SELECT run_id, problem_id, text FROM search_notes ORDER BY run_id, problem_id, text",
        "INSERT INTO search_notes (run_id, problem_id, text) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        MERGE_RUNS, MERGE_PROBLEMS);
    if (st) return st;
    return copy_unhashed(
        m,
        "SELECT gpu_id, problem_id, pin, config, holds, changed_us FROM preferences "
        "ORDER BY gpu_id, problem_id, pin, config",
        "INSERT INTO preferences (gpu_id, problem_id, pin, config, holds, changed_us) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
        "ON CONFLICT DO UPDATE SET holds = excluded.holds, changed_us = excluded.changed_us "
        "WHERE (excluded.changed_us, excluded.holds) > (preferences.changed_us, preferences.holds)",
        MERGE_GPUS, MERGE_PROBLEMS);
}

static enum status copy_winners(struct merge *m)
{
    const struct binder from = db_bind(m->from, "SELECT decision_id FROM winners ORDER BY decision_id");
    enum status st = OK;
    bool row, won;
    while (!st && !(st = db_next(m->from, &from, &row, "read its winners")) && row) {
        st = db_challenge(
            m->to, merge_map_find(&m->maps[MERGE_DECISIONS], sqlite3_column_int64(from.stmt, 0)), &won);
        m->merged->winners += !st && won;
    }
    db_done(&from);
    return st;
}

static enum status copy_all(struct merge *m)
{
    struct db_merged *merged = m->merged;
    int64_t figures = 0;
    int64_t *const totals[MERGE_TABLES] = {&merged->gpus,    &figures,      &merged->problems,
                                           &merged->configs, &merged->runs, &merged->decisions};
    enum status st = db_copy_own(m->to, m->from, merged);
    for (int i = 0; !st && i < MERGE_TABLES; i++) {
        int64_t added = 0;
        if (i == MERGE_DECISIONS) st = merge_trials(m);
        if (!st) st = copy_table(m, i, &added);
        *totals[i] += added;
    }
    if (!st) st = copy_notes_and_preferences(m);
    if (!st) st = copy_winners(m);
    return st ? st : db_settle_all(m->to);
}

/* ---- files ---- */

static bool same_file(const char *x, const char *y)
{
    struct stat a, b;
    return stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Will the file grow to more than its threefold? That the files to come have rows that are in it already is
 * not known before they are read. */
static bool outgrows(const char *path, const char *const *paths, int count)
{
    struct stat info;
    off_t more = 0;
    for (int i = 0; i < count; i++)
        if (!same_file(paths[i], path) && stat(paths[i], &info) == 0) more += info.st_size;
    return stat(path, &info) == 0 && more / 2 > info.st_size;
}

static enum status copy_file(struct db *to, struct db *from, struct db_merged *merged)
{
    struct merge m = {.from = from, .to = to, .merged = merged};
    const enum status st = copy_all(&m);
    for (int i = 0; i < MERGE_TABLES; i++) free(m.maps[i].pairs);
    return st;
}

/* A file that is given to be merged is thought to hold something; a shard may have had nothing to do. */
static enum status say_lacking(const struct db_refusal *refusal, int number, struct db *from)
{
    char why[DB_LACKING_MAX];
    struct db_shard shard;
    int64_t holds;
    const struct binder b =
        db_bind(from, "SELECT EXISTS (SELECT 1 FROM runs) OR EXISTS (SELECT 1 FROM preferences)");
    const enum status st = db_integer(from, &b, &holds, "look whether it holds anything");
    if (st) return st;
    if (db_lacks_log(from, why)) refusal->lacking(refusal->self, number, !holds, why);
    else if (!holds && (db_shard_get(from, &shard) || !shard.finished))
        refusal->lacking(refusal->self, number, true, "no run and no preference was ever stored in it");
    return OK;
}

/* The file after number i, without the database itself; count: there is none. */
static int next_file(const struct db *db, const char *const *paths, int count, int i)
{
    do i++;
    while (i < count && same_file(paths[i], db->path));
    return i;
}

/* While a file is copied the next one is being checked. */
static enum status merge_all(struct db *db, const char *const *paths, int count,
                             const struct db_refusal *refusal, struct db_merged *merged)
{
    struct db_ahead ahead = {.path = NULL};
    struct db *from;
    enum status st = OK;
    int i = next_file(db, paths, count, -1);
    if (i < count) db_ahead_start(&ahead, paths[i]);
    while (!st && i < count) {
        const int next = next_file(db, paths, count, i);
        enum status sound = db_ahead_end(&ahead, &from);
        if (sound && refusal && refusal->visit && sound != E_MEMORY) refusal->visit(refusal->self, i, sound);
        else st = sound;
        if (!st && next < count) db_ahead_start(&ahead, paths[next]);
        if (!sound) st = copy_file(db, from, merged);
        if (!sound && !st && refusal && refusal->lacking) st = say_lacking(refusal, i, from);
        db_close(from);
        i = next;
    }
    if (!st) return OK;
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    db_ahead_end(&ahead, &from);
    db_close(from);
    return fail(st, "%s", sentence);
}

enum status db_merge_sound(struct db *db, const char *const *paths, int count,
                           const struct db_refusal *refusal, struct db_merged *merged)
{
    struct db_bulk bulk;
    *merged = (struct db_merged){0};
    enum status st = db_bulk_start(db, outgrows(db->path, paths, count), &bulk);
    if (!st) st = merge_all(db, paths, count, refusal, merged);
    return db_bulk_end(db, &bulk, st);
}

enum status db_merge(struct db *db, const char *const *paths, int count, struct db_merged *merged)
{
    return db_merge_sound(db, paths, count, NULL, merged);
}
