/* A database that was damaged. The input is a list of what happened to a whole one, a line each:
 *
 *     byte OFFSET VALUE     one byte is another
 *     cut SIZE              the file ends there
 *     sql STATEMENT         somebody else's program wrote to it
 *
 * However it looks then: readers give what can be computed with or a sentence; the library launches nothing
 * unchecked; what a tuner stores in it is there afterwards or was refused; merging it into another leaves
 * that one whole. */
#include "ask.h"
#include "db_exchange.h"
#include "fuzz.h"
#include "templates.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fuzz_words[] = {"byte ",
                                  "\nbyte 100 255\n",
                                  "\ncut 8192\n",
                                  "\nsql UPDATE ",
                                  "trials",
                                  "winners",
                                  "decisions",
                                  "configs",
                                  "problems",
                                  "runs",
                                  "gpus",
                                  "gpu_figures",
                                  "attempts",
                                  " SET ",
                                  " = ",
                                  " WHERE id = 1",
                                  "DELETE FROM ",
                                  "NULL",
                                  "'simt BM=1'",
                                  "'sgemm:nn:1x1x1'",
                                  "9e999",
                                  "zeroblob(17)",
                                  "randomblob(16)",
                                  "hex(randomblob(300))",
                                  "-1",
                                  "9223372036854775807",
                                  "text",
                                  "time_us",
                                  "samples_us",
                                  "hash",
                                  "template_hash",
                                  "ratio",
                                  NULL};

#define CONFIG                                                                                               \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 "                                                                                            \
    "MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K="

static uint8_t *whole;
static size_t whole_size;
static char path[256], other_path[256];
static struct db_context context;

static void remove_file(const char *name)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", ".lock"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s%s", name, ends[i]);
        unlink(text);
    }
}

#define WORKS(call) PROMISE((call) == OK, "%s", status_text())

static struct config some_config(int splits)
{
    struct config config;
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, CONFIG "%d", splits);
    WORKS(config_parse(text, &config));
    return config;
}

static struct outcome some_outcome(double time_us)
{
    return (struct outcome){.verdict = VERDICT_MEASURED,
                            .facts = {.registers = 128, .cubin_bytes = 9000},
                            .time_us = time_us,
                            .sample_count = 2,
                            .samples_us = {time_us, time_us * 1.25},
                            .exact = true,
                            .cold = true,
                            .wall_ms = 3};
}

static void store(struct db *db, int64_t run, const struct problem *p, int splits, double time_us)
{
    int64_t attempt;
    const struct config config = some_config(splits);
    const struct outcome outcome = some_outcome(time_us);
    WORKS(db_attempt(db, run, p, &config, &attempt));
    WORKS(db_record(db, attempt, &outcome));
}

/* The database as it was before anything happened to it. */
static void make_whole(void)
{
    struct db *db;
    context = (struct db_context){
        .gpu = ask_gpu, .gpu_uuid = "GPU-1", .driver = "580.95.05", .nvrtc = "13.0", .cold = true};
    snprintf(path, sizeof path, "%s/damaged.db", fuzz_folder());
    snprintf(other_path, sizeof other_path, "%s/other.db", fuzz_folder());
    WORKS(db_open(path, DB_WRITE, &db));
    for (int r = 0; r < 2; r++) {
        int64_t run;
        WORKS(db_run_start(db, &context, "tune", (uint64_t)r, &run));
        for (int i = 0; i < 4; i++) {
            const struct problem p = problem_make(64 + 64 * i, 128, 256);
            const struct config runner = some_config(2);
            const struct db_race_sample samples[] = {{0, 0, 5}, {-1, 0, 6}, {0, 1, 5.1}, {-1, 1, 6}};
            struct db_winner w = {.problem = p,
                                  .cold = true,
                                  .exact = true,
                                  .time_us = 5,
                                  .anchor_us = 6,
                                  .ratio = 1.2,
                                  .ratio_low = 1.1,
                                  .ratio_high = 1.3,
                                  .rounds = 2,
                                  .trials = 3,
                                  .predicted = i == 3};
            if (i != 2) w.config = runner;
            for (int splits = 1; splits < 4; splits++) store(db, run, &p, splits, 5 + splits);
            WORKS(db_set_winner(db, run, &w, &runner, 1, samples, i == 3 ? 0 : 4));
        }
        WORKS(db_run_end(db, run, "finished"));
    }
    db_close(db);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) abort();
    whole_size = (size_t)ftell(file);
    rewind(file);
    whole = malloc(whole_size);
    if (!whole || fread(whole, 1, whole_size, file) != whole_size) abort();
    fclose(file);
    remove_file(path);
}

/* ---- damage ---- */

static int too_long(void *unused)
{
    (void)unused;
    return 1;
}

static void run_sql(const char *sql)
{
    sqlite3 *handle;
    if (strcasestr(sql, "attach") || strcasestr(sql, "vacuum")) return; /* other files are not ours */
    if (sqlite3_open(path, &handle) == SQLITE_OK) {
        sqlite3_progress_handler(handle, 100000, too_long, NULL);
        sqlite3_exec(handle, "PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON", NULL, NULL,
                     NULL);
        sqlite3_exec(handle, sql, NULL, NULL, NULL);
    }
    sqlite3_close(handle);
}

static void damage(char *list)
{
    uint8_t *bytes = malloc(whole_size);
    size_t size = whole_size;
    char *rest = NULL, *copy = strdup(list);
    if (!bytes || !copy) abort();
    memcpy(bytes, whole, whole_size);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        unsigned long offset, value;
        if (sscanf(line, "byte %lu %lu", &offset, &value) == 2) bytes[offset % whole_size] = (uint8_t)value;
        else if (sscanf(line, "cut %lu", &offset) == 1) size = offset % whole_size;
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size) abort();
    fclose(file);
    free(bytes);
    free(copy);
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "sql ", 4) == 0) run_sql(line + 4);
}

/* ---- readers ---- */

static void check_outcome(const struct outcome *o)
{
    PROMISE((unsigned)o->verdict < VERDICT_COUNT && o->sample_count >= 0 &&
                o->sample_count <= OUTCOME_SAMPLES_MAX,
            "verdict %d, %d samples", (int)o->verdict, o->sample_count);
    PROMISE(memchr(o->detail, 0, sizeof o->detail), "a text does not end");
    PROMISE(isfinite(o->time_us) && o->time_us >= 0, "a time of %g", o->time_us);
    for (int i = 0; i < o->sample_count; i++)
        PROMISE(isfinite(o->samples_us[i]) && o->samples_us[i] >= 0, "a time of %g", o->samples_us[i]);
}

static bool see_winner(void *self, const struct db_winner *w)
{
    (void)self;
    PROMISE(problem_check(&w->problem) == OK, "%s", status_text());
    PROMISE(isfinite(w->time_us) && w->time_us >= 0 && isfinite(w->ratio) && w->ratio >= 0, "%g us",
            w->time_us);
    PROMISE(memchr(w->config_text, 0, sizeof w->config_text) && memchr(w->gpu.name, 0, sizeof w->gpu.name),
            "a text does not end");
    if (w->unusable || !w->config.template) return true;
    const char *why = w->config.template->check(&w->config, &w->problem, &w->gpu);
    PROMISE(!why, "a winner that may be used, but %s", why);
    return true;
}

static bool see_trial(void *self, const struct db_trial *t)
{
    (void)self;
    check_outcome(&t->outcome);
    PROMISE(memchr(t->config_text, 0, sizeof t->config_text), "a text does not end");
    return true;
}

static bool see_full(void *self, const struct db_full_trial *t)
{
    (void)self;
    check_outcome(&t->outcome);
    PROMISE(problem_check(&t->problem) == OK, "%s", status_text());
    PROMISE(t->current == (t->config.template != NULL), "%s", t->config_text);
    PROMISE(t->context.gpu.sm_count >= 1 && t->context.gpu.threads_per_sm >= 1, "an impossible GPU");
    return true;
}

static bool see_gpu(void *self, const struct db_gpu *gpu)
{
    (void)self;
    PROMISE(memchr(gpu->gpu.name, 0, sizeof gpu->gpu.name) && gpu->gpu.sm_count >= 1, "an impossible GPU");
    return true;
}

/* Whatever the file is like, one of these. */
static enum status bearable(enum status st)
{
    PROMISE(st == OK || st == E_DB || st == E_ABSENT || st == E_BUSY || st == E_INPUT, "%d: %s", (int)st,
            status_text());
    PROMISE(!st || status_text()[0], "no sentence");
    return st;
}

static void read_all(struct db *db)
{
    const struct db_filter all = {.gpu = NULL};
    const struct problem p = problem_make(64, 128, 256);
    struct db_best best[8];
    struct db_counts counts;
    struct db_evidence evidence = {0};
    char findings[2048];
    bool clean;
    int count = 0;
    bearable(db_winners(db, &all, &context, see_winner, NULL));
    bearable(db_trials(db, &all, see_trial, NULL));
    bearable(db_dump(db, &all, see_full, NULL));
    bearable(db_gpus(db, see_gpu, NULL));
    if (bearable(db_best(db, &context, &p, best, 8, &count)) == OK)
        for (int i = 0; i < count; i++) {
            check_outcome(&best[i].outcome);
            PROMISE(outcome_usable(&best[i].outcome) && best[i].config.template, "the best is none");
        }
    if (bearable(db_evidence(db, 1, &evidence)) == OK)
        for (int i = 0; i < evidence.sample_count; i++)
            PROMISE(evidence.samples[i].runner >= -1 && evidence.samples[i].runner < evidence.runner_count,
                    "runner %d", evidence.samples[i].runner);
    db_evidence_free(&evidence);
    bearable(db_count(db, &counts));
    if (bearable(db_check(db, findings, sizeof findings, &clean)) == OK)
        PROMISE(clean || findings[0], "no finding");
}

/* A trial that is stored is found, or was refused with a sentence. */
static void tune(void)
{
    struct db *db = NULL;
    const struct problem p = problem_make(77, 88, 99);
    const struct config config = some_config(7);
    const struct outcome outcome = some_outcome(42);
    struct outcome found;
    int64_t run = 0, attempt = 0, count;
    bool stale = true;
    if (bearable(db_open(path, DB_WRITE, &db))) return;
    enum status st = bearable(db_recover(db, &count));
    if (!st) st = bearable(db_run_start(db, &context, "tune", 9, &run));
    if (!st) st = bearable(db_attempt(db, run, &p, &config, &attempt));
    if (!st) st = bearable(db_record(db, attempt, &outcome));
    db_close(db);
    if (st) return;
    WORKS(db_open(path, DB_READ, &db));
    WORKS(db_find(db, &context, &p, &config, &found, &stale));
    PROMISE(found.time_us == 42 && !stale, "another trial than was stored: %g us", found.time_us);
    db_close(db);
}

static void merge(void)
{
    struct db *db = NULL;
    struct db_merged merged;
    char findings[2048];
    bool clean;
    const char *const from[] = {path};
    remove_file(other_path);
    WORKS(db_open(other_path, DB_WRITE, &db));
    const enum status st = bearable(db_merge(db, from, 1, &merged));
    WORKS(db_check(db, findings, sizeof findings, &clean));
    PROMISE(clean, "%s", findings);
    if (!st) fuzz_accept();
    db_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct notices quiet = {.quiet = true};
    struct db *db = NULL;
    struct known known;
    const struct problem p = problem_make(64, 128, 256);
    if (!whole) make_whole();
    remove_file(path);
    damage(fuzz_text(data, size));
    WORKS(known_open(&known, &ask_gpu, path, "", &quiet));
    ask(&known, &p);
    known_close(&known);
    if (bearable(db_open(path, DB_READ, &db)) == OK) read_all(db);
    db_close(db);
    merge();
    tune();
    return 0;
}
