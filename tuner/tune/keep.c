#include "keep.h"

#include "clock.h"
#include "db_exchange.h"
#include "file_seen.h"
#include "output_file.h"
#include "paths.h"
#include "print.h"
#include "report.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_EVERY_S 10.0
#define SAVE_EVERY_S 60.0
#define SAVE_TIMES   50.0 /* a copy costs the run at most a fiftieth of its time */
#define RETRY_S      60.0
#define SAVE_TRIES   10 /* while others write the same copy */

#define ASIDE_MAX        100 /* damaged copies that are kept */
#define ASIDE_PATIENCE_S 2.0
#define BUDGET_LEAST     0.1 /* of the budget, for a shard that goes on */

struct keep {
    const struct tune_options *options; /* not owned, as db */
    struct db *db;
    const char *path;
    char line_path[TUNE_PATH_MAX + 8];
    bool sharded;
    struct db_shard shard;
    size_t problems;
    double budget_s, spent_before_s, began_s, line_due_s, save_due_s;
    time_t began;
    json_t *gpus;     /* owned */
    struct stat copy; /* as this run has written or taken it in last */
    int64_t taken;    /* trials of others that were found in it meanwhile */
};

static const char *program_version(void)
{
    const char *blank = strchr(command_version, ' ');
    return blank ? blank + 1 : command_version;
}

/* ---- how far it is ---- */

static bool add_gpu(void *self, const struct db_clock *clock)
{
    return json_array_append_new(self, json_pack("{s:s, s:s, s:I, s:i}", "name", clock->gpu, "uuid",
                                                 clock->uuid, "trials", (json_int_t)clock->trials,
                                                 "clock_mhz", clock->median_mhz)) == 0;
}

/* JSON is UTF-8, a host's name or a path need not be. */
static json_t *json_text(const char *text)
{
    char *shown = text ? print_escaped(text) : NULL;
    json_t *json = shown ? json_string(shown) : NULL;
    free(shown);
    return json;
}

static json_t *line_of(const struct keep *k, const struct keep_state *s, const char *state, const char *why)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return json_pack(
        "{s:s, s:s, s:i, s:i, s:s, s:s, s:o*, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, "
        "s:O*}",
        "format", "gemmtune shard 1", "suite", k->shard.suite, "shard", k->shard.number, "shards",
        k->shard.count, "version", program_version(), "state", state, "why", json_text(why), "host",
        json_text(host), "problems", (json_int_t)k->problems, "done", (json_int_t)s->done, "known",
        (json_int_t)s->known, "without", (json_int_t)s->without, "left_out", (json_int_t)s->left_out,
        "trials", (json_int_t)s->trials, "began", (json_int_t)k->began, "written", (json_int_t)time(NULL),
        "budget_s", k->budget_s, "spent_s", k->shard.spent_s, "boost_mhz", s->boost_mhz, "gpus", k->gpus);
}

static enum status write_line(const struct keep *k, const struct keep_state *s, const char *state,
                              const char *why)
{
    struct outfile out;
    json_t *line = line_of(k, s, state, why);
    if (!line) return fail(E_MEMORY, "out of memory for %s", k->line_path);
    enum status st = file_refuse_irregular(k->line_path);
    if (!st) st = outfile_open(k->line_path, &out);
    if (!st) {
        if (json_dumpf(line, out.stream, JSON_COMPACT) != 0) st = fail(E_IO, "cannot write %s", k->line_path);
        print_end(out.stream);
        st = outfile_close(&out, st);
    }
    json_decref(line);
    return st;
}

/* ---- whose a file is ---- */

static struct db_shard shard_of(const struct tune_options *o)
{
    struct db_shard shard = {
        .number = o->shard.number, .count = o->shard.count, .problems = (int64_t)o->problem_count};
    snprintf(shard.suite, sizeof shard.suite, "%s", o->suite_hash);
    snprintf(shard.version, sizeof shard.version, "%s", program_version());
    return shard;
}

static enum status check_new(const struct tune_options *o, struct db *db)
{
    struct db_counts counts;
    enum status st = db_count(db, &counts);
    if (st || counts.runs == 0) return st;
    return fail(
        E_INPUT,
        "%s has results of other runs, and a shard needs a database of its own: name a new file with --db, "
        "and this one with --known",
        o->db);
}

static enum status check_same(const char *path, const char *option, const struct db_shard *is,
                              const struct db_shard *wanted)
{
    if (strcmp(is->suite, wanted->suite) != 0)
        return fail(E_INPUT, "%s is a shard of another suite (%s, this one is %s): name another file with %s",
                    path, is->suite, wanted->suite, option);
    if (is->number != wanted->number || is->count != wanted->count)
        return fail(E_INPUT, "%s is shard %d/%d, not %d/%d: name another file with %s", path, is->number,
                    is->count, wanted->number, wanted->count, option);
    if (strcmp(is->version, wanted->version) == 0) return OK;
    return fail(
        E_INPUT,
        "%s is a shard that tune %s has begun, and this is tune %s: go on with that version, or name another "
        "file with %s and this one with --known",
        path, is->version, wanted->version, option);
}

static enum status claim_shard(struct tune_options *o, struct db *db, struct db_shard *shard)
{
    struct db_shard is = {.spent_s = 0};
    enum status st = db_shard_get(db, &is);
    if (st && st != E_ABSENT) return st;
    st = st ? check_new(o, db) : check_same(o->db, "--db", &is, shard);
    if (st) return st;
    o->goes_on = *is.suite && !is.finished;
    if (!is.finished && is.spent_s > 0) {
        char spent[32], left[32];
        shard->spent_s = is.spent_s;
        if (o->budget_s > 0) {
            o->budget_s = fmax(o->budget_s - is.spent_s, BUDGET_LEAST * o->budget_s);
            format_duration(is.spent_s, spent);
            format_duration(o->budget_s, left);
            print_line(stderr, "shard %d/%d goes on: %s of its budget are spent, %s are left", shard->number,
                       shard->count, spent, left);
        }
    }
    return db_shard_set(db, shard);
}

/* ---- the copy that is there ---- */

enum copy { COPY_NONE, COPY_GOOD, COPY_DAMAGED };

/* Where it cannot be told, a file without one is judged: that refuses more. */
static bool has_line(const struct tune_options *o)
{
    char line[TUNE_PATH_MAX + 8];
    struct stat info;
    snprintf(line, sizeof line, "%s.json", o->save);
    return stat(line, &info) == 0 && info.st_size > 0;
}

/* A copy takes its place. A shard's says whose it is; that of a run that is no shard's has its line beside
 * it, which is written first. */
static enum status judge_copy(const struct tune_options *o, struct db *copy, const struct db_shard *wanted)
{
    struct db_shard is;
    struct db_counts counts;
    enum status st = db_shard_get(copy, &is);
    if (!st && o->shard.count > 0) return check_same(o->save, "--save", &is, wanted);
    if (!st)
        return fail(E_INPUT,
                    "%s is shard %d/%d, and this run is no shard's: name another file with --save, and this "
                    "one with --known",
                    o->save, is.number, is.count);
    if (st != E_ABSENT) return st;
    if (o->shard.count == 0 && has_line(o)) return OK;
    st = db_count(copy, &counts);
    if (st || counts.runs == 0) return st;
    return fail(E_INPUT,
                "%s has results of other runs and is no copy of %s, which would take its place: name another "
                "file with --save, and this one with --known",
                o->save, o->db);
}

static enum status open_copy(const struct tune_options *o, bool all, struct db **copy)
{
    const char *const usual = db_choose;
    db_choose = " with --save";
    enum status st = all ? db_open(o->save, DB_READ, copy) : db_open_copy(o->save, copy);
    db_choose = usual;
    return st;
}

/* Before it is read (all), and before each time that another takes its place; seen: as it was before that.
 * With COPY_DAMAGED, E_DB is returned. */
static enum status look_at_copy(const struct tune_options *o, const struct db_shard *wanted, bool all,
                                enum copy *is, struct stat *seen)
{
    struct db *copy;
    *is = COPY_NONE;
    enum status st = file_refuse_link(o->save);
    if (!st) st = file_refuse_irregular(o->save); /* which a copy would replace */
    if (!st) st = file_see(o->save, seen);
    if (st || seen->st_size == 0) return st;
    if (db_is_written(o->save))
        return fail(E_BUSY,
                    "%s is being written by another tuner, so it is no copy: name another file with "
                    "--save",
                    o->save);
    st = open_copy(o, all, &copy);
    if (!st) {
        st = judge_copy(o, copy, wanted);
        db_close(copy);
    }
    if (!st) *is = COPY_GOOD;
    else if (st == E_DB && has_line(o) && !db_is_newer(o->save)) *is = COPY_DAMAGED;
    return st;
}

static enum status check_names(const struct tune_options *o)
{
    if (db_same_file(o->save, o->db))
        return fail(E_INPUT, "--save and --db are the same file, %s: name another one for the copy", o->save);
    if (o->known && db_same_file(o->save, o->known))
        return fail(E_INPUT,
                    "--save and --known are the same file, %s, which is only read: name another one for the "
                    "copy",
                    o->save);
    return OK;
}

/* Also on a machine that never saw the copy, a shard goes on. */
static enum status begin_with_copy(const struct tune_options *o, struct stat *before)
{
    struct db *copy;
    size_t made;
    enum status st = open_copy(o, true, &copy);
    if (st) return st;
    const int error = paths_make_usual_folders(o->db, &made);
    st = error ? fail(E_IO, "cannot make the folder of %s: %s", o->db, strerror(error))
               : db_save(copy, o->db, before);
    if (st && !error) paths_remove_folders(o->db, made);
    db_close(copy);
    if (!st) print_line(stderr, "%s begins with the copy in %s", o->db, o->save);
    return st;
}

/* The copy as it was seen gets another name, which is free. Another may have replaced it: then it stays, and
 * is looked at anew before the next takes its place. */
static enum status move_aside(const char *copy, struct stat *seen, char aside[TUNE_PATH_MAX + 16])
{
    struct stat now;
    int name, error = EEXIST;
    *aside = '\0';
    enum status st = db_name_hold(copy, ASIDE_PATIENCE_S, &name);
    if (st) return st;
    st = file_see(copy, &now);
    if (!st && file_unchanged(seen, &now)) {
        for (int i = 1; i <= ASIDE_MAX && error == EEXIST; i++) {
            snprintf(aside, TUNE_PATH_MAX + 16, i == 1 ? "%s.damaged" : "%s.damaged.%d", copy, i);
            error = file_rename_new(copy, aside);
        }
        if (error == EEXIST)
            st = fail(E_IO,
                      "%s is damaged, and so are %d earlier ones that are there as %s.damaged: remove those",
                      copy, ASIDE_MAX, copy);
        else if (error) st = fail(E_IO, "cannot put %s aside, which is damaged: %s", copy, strerror(error));
        else *seen = (struct stat){0};
    }
    db_name_release(copy, name);
    return st;
}

/* What status_text() says is wrong with it need not stop a run that has its own database. seen: what is
 * damaged; nothing afterwards. */
static enum status put_aside(const struct tune_options *o, struct stat *seen)
{
    char aside[TUNE_PATH_MAX + 16], why[1024];
    snprintf(why, sizeof why, "%s", status_text());
    enum status st = move_aside(o->save, seen, aside);
    if (st || !*aside) return st;
    print_line(stderr, "tune: %s", why);
    print_line(stderr, "tune: that copy is now %s, and the run goes on from %s", aside, o->db);
    return OK;
}

struct trouble {
    enum status st;
    char why[1024];
};

static void note_trouble(void *self, int number, enum status st)
{
    (void)number;
    struct trouble *t = self;
    t->st = st;
    snprintf(t->why, sizeof t->why, "%s", status_text());
}

/* seen: as it was looked at; nothing, if it was put aside. taken: trials that were new. */
static enum status add_copy(const struct tune_options *o, struct db *db, struct stat *seen, int64_t *taken)
{
    struct db_merged merged;
    struct trouble trouble = {.st = OK};
    const struct db_refusal refusal = {.visit = note_trouble, .self = &trouble};
    const char *const copy = o->save;
    char untrusted[DB_LACKING_MAX];
    *taken = 0;
    db_accepts_kernels = db_is_trusted(copy, untrusted);
    enum status st = db_merge_sound(db, &copy, 1, &refusal, &merged);
    if (st) return st;
    if (trouble.st) fail(trouble.st, "%s", trouble.why);
    if (trouble.st) return trouble.st == E_DB ? put_aside(o, seen) : trouble.st;
    *taken = merged.trials;
    return OK;
}

static void say_taken(const struct tune_options *o, int64_t trials)
{
    if (trials > 0)
        print_line(stderr, "%s takes in %lld trial%s of the copy in %s", o->db, (long long)trials,
                   PRINT_S(trials), o->save);
}

/* ---- opening ---- */

static void say_network(const struct tune_options *o)
{
    const char *name = db_on_network(o->db);
    if (name && strncmp(name, "GEMMTUNE", 8) != 0)
        print_line(stderr,
                   "tune: %s is on a network file system (%s), where SQLite's log does not work: every trial "
                   "is written "
                   "with a rollback journal, which is slower; better --db on a local disk, and --save there",
                   o->db, name);
}

/* A shard's database, and what SQLite would read beside it, has been made by this user, however predictable
 * its name is. */
static enum status refuse_foreign(const char *db)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char path[TUNE_PATH_MAX + 16];
    struct stat seen;
    enum status st = file_refuse_folder(db);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !st; i++) {
        snprintf(path, sizeof path, "%s%s", db, suffixes[i]);
        if (!(st = file_refuse_link(path)) && !(st = file_see(path, &seen)))
            st = file_refuse_foreign(path, &seen);
    }
    return st;
}

/* Whose the files are is asked before anything is written. seen: the copy that is in the database. */
static enum status open_db(struct tune_options *o, struct db_shard *shard, struct db **db, struct stat *seen)
{
    enum copy copy = COPY_NONE;
    char why[1024];
    size_t made = 0;
    int64_t taken;
    struct stat before;
    const int error = *o->save ? paths_make_open_folders(o->save, &made) : 0;
    if (error) return fail(E_IO, "cannot make the folder of %s: %s", o->save, strerror(error));
    enum status st = file_see(o->db, &before);
    if (!st && o->shard.count > 0) st = refuse_foreign(o->db);
    const bool begun = before.st_size > 0;
    if (!st && *o->save) st = check_names(o);
    if (!st && *o->save) st = look_at_copy(o, shard, true, &copy, seen);
    snprintf(why, sizeof why, "%s", status_text());
    if (copy == COPY_DAMAGED && begun) st = OK;
    if (!st && copy == COPY_GOOD && !begun) st = begin_with_copy(o, &before);
    if (!st) st = db_open(o->db, DB_WRITE, db);
    if (st) {
        paths_remove_folders(o->save, made);
        return st;
    }
    say_network(o);
    if (o->shard.count > 0 && (st = refuse_foreign(o->db)))
        return st; /* made by another since the first look */
    if (o->shard.count > 0 && (st = claim_shard(o, *db, shard))) return st;
    if (copy == COPY_DAMAGED) {
        fail(E_DB, "%s", why);
        return put_aside(o, seen);
    }
    if (copy == COPY_NONE || !begun) return OK;
    st = add_copy(o, *db, seen, &taken);
    if (!st) say_taken(o, taken);
    return st;
}

enum status keep_open(struct tune_options *o, struct db **db, struct keep **keep)
{
    *keep = NULL;
    struct db_shard shard = shard_of(o);
    struct stat seen = {0};
    enum status st = open_db(o, &shard, db, &seen);
    if (st || (!*o->save && o->shard.count == 0)) return st;
    struct keep *k = calloc(1, sizeof *k);
    if (!k) return fail(E_MEMORY, "out of memory for the run");
    k->options = o;
    k->db = *db;
    k->path = *o->save ? o->save : NULL;
    k->copy = seen;
    snprintf(k->line_path, sizeof k->line_path, "%s.json", o->save);
    k->sharded = o->shard.count > 0;
    k->shard = shard;
    k->problems = o->problem_count;
    k->budget_s = o->budget_s;
    k->spent_before_s = k->shard.spent_s;
    k->began_s = now_s();
    k->began = time(NULL);
    k->save_due_s = k->began_s + SAVE_EVERY_S;
    *keep = k;
    /* That it cannot be written is better known now than in eight hours. */
    return k->path ? write_line(k, &(struct keep_state){0}, "running", NULL) : OK;
}

void keep_close(struct keep *k)
{
    if (!k) return;
    json_decref(k->gpus);
    free(k);
}

/* ---- a copy, when it is due ---- */

/* What is there and was not put there by this run has results of another: of a second task of this shard. */
static enum status take_in_others(struct keep *k)
{
    struct stat now;
    enum copy is;
    int64_t taken = 0;
    enum status st = file_see(k->path, &now);
    if (st || file_unchanged(&k->copy, &now)) return st;
    st = look_at_copy(k->options, &k->shard, false, &is, &now);
    if (is == COPY_GOOD) st = add_copy(k->options, k->db, &now, &taken);
    if (is == COPY_DAMAGED) st = put_aside(k->options, &now);
    k->taken += taken;
    if (!st) k->copy = now;
    return st;
}

/* Another may do the same at the same time: whoever comes second finds the first's copy. */
static enum status replace_copy(struct keep *k)
{
    enum status st = E_BUSY;
    for (int i = 0; i < SAVE_TRIES && st == E_BUSY; i++) {
        if ((st = take_in_others(k))) return st;
        st = db_save(k->db, k->path, &k->copy);
    }
    return st;
}

static enum status save(struct keep *k)
{
    k->shard.spent_s = k->shard.finished ? 0 : k->spent_before_s + now_s() - k->began_s;
    enum status st = k->sharded ? db_shard_set(k->db, &k->shard) : OK;
    if (st || !k->path) return st;
    json_decref(k->gpus);
    if (!(k->gpus = json_array())) return fail(E_MEMORY, "out of memory for %s", k->line_path);
    st = db_clocks(k->db, add_gpu, k->gpus);
    return st ? st : replace_copy(k);
}

enum status keep_tick(struct keep *k, const struct keep_state *state)
{
    if (!k) return OK;
    enum status st = OK;
    const double began_s = now_s();
    if (began_s >= k->save_due_s) {
        st = save(k);
        const double took_s = now_s() - began_s;
        k->save_due_s = now_s() + (st ? RETRY_S : fmax(SAVE_EVERY_S, SAVE_TIMES * took_s));
    }
    if (st || !k->path || began_s < k->line_due_s) return st;
    st = write_line(k, state, "running", NULL);
    k->line_due_s = now_s() + (st ? RETRY_S : LINE_EVERY_S);
    return st;
}

enum status keep_end(struct keep *k, const struct keep_state *state, enum status st)
{
    if (!k) return st;
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    k->shard.finished = st == OK;
    enum status kept = save(k);
    say_taken(k->options, k->taken);
    if (!kept && k->path)
        kept = write_line(k, state,
                          st == OK              ? "finished"
                          : st == E_INTERRUPTED ? "interrupted"
                                                : "failed",
                          st ? sentence : NULL);
    if (!st) return kept;
    if (kept) print_line(stderr, "tune: %s", status_text());
    return fail(st, "%s", sentence);
}
