#include "damage.h"
#include "fuzz_h200.h"

#include "ask.h"
#include "db_internal.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fuzz_words[] = {"old\n",
                                  "byte ",
                                  "\nrehash\n",
                                  "\nset 5 3 7 0\nrehash\n",
                                  "\nset 6 12 13 2\n",
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
                                  "kernel_hash",
                                  "gpu_rates",
                                  "decision_errors",
                                  "ratio",
                                  NULL};

#define CONFIG                                                                                               \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=3 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=1 SPLIT_K="

struct image {
    uint8_t *bytes;
    size_t size;
};
static struct image whole, old;
struct db_context damage_context;

void damage_remove(const char *name)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", ".lock"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s%s", name, ends[i]);
        unlink(text);
    }
}

struct config damage_config(int splits)
{
    struct config config;
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, CONFIG "%d", splits);
    WORKS(config_parse(text, &config));
    return config;
}

struct outcome damage_outcome(double time_us)
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
    const struct config config = damage_config(splits);
    const struct outcome outcome = damage_outcome(time_us);
    WORKS(db_attempt(db, run, p, &config, &attempt));
    WORKS(db_record(db, attempt, &outcome));
}

/* The database as it was before anything happened to it. */
static struct image read_image(const char *path)
{
    struct image image;
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) abort();
    image.size = (size_t)ftell(file);
    rewind(file);
    image.bytes = malloc(image.size);
    if (!image.bytes || fread(image.bytes, 1, image.size, file) != image.size) abort();
    fclose(file);
    return image;
}

static void make_whole(const char *path)
{
    struct db *db;
    damage_context = (struct db_context){
        .gpu = fuzz_gpu, .gpu_uuid = "GPU-1", .driver = "580.95.05", .nvrtc = "13.0", .cold = true};
    damage_remove(path);
    WORKS(db_open(path, DB_WRITE, &db));
    for (int r = 0; r < 2; r++) {
        int64_t run;
        WORKS(db_run_start(db, &damage_context, "tune", (uint64_t)r, &run));
        for (int i = 0; i < 4; i++) {
            const struct problem p = problem_make(64 + 64 * i, 128, 256);
            const struct config runner = damage_config(2);
            const struct db_race_sample samples[] = {{.time_us = 5},
                                                     {.runner = -1, .time_us = 6},
                                                     {.round = 1, .time_us = 5.1},
                                                     {.runner = -1, .round = 1, .time_us = 6}};
            struct db_winner w = {.base.problem = p,
                                  .base.cold = true,
                                  .base.exact = true,
                                  .base.time_us = 5,
                                  .base.anchor_us = 6,
                                  .base.ratio = 1.2,
                                  .base.ratio_low = 1.1,
                                  .base.ratio_high = 1.3,
                                  .rounds = 2,
                                  .trials = 3,
                                  .base.predicted = i == 3};
            if (i != 2) w.config = runner;
            for (int splits = 1; splits < 4; splits++) store(db, run, &p, splits, 5 + splits);
            WORKS(db_set_winner(db, run, &w, &runner, 1, samples, i == 3 ? 0 : 4));
        }
        WORKS(db_run_end(db, run, "finished"));
    }
    db_close(db);
    whole = read_image(path);
    damage_remove(path);
}

/* ---- damage ---- */

static int too_long(void *unused)
{
    (void)unused;
    return 1;
}

static void run_sql(const char *path, const char *sql)
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

static void make_old(const char *path)
{
    char command[600];
    snprintf(command, sizeof command, "gzip -dc '%s/tests/data/version2.db.gz' > '%s'", GT_SOURCE_DIR, path);
    if (system(command) != 0) abort(); /* NOLINT(bugprone-command-processor): both names are ours */
    run_sql(path,
            "DROP TABLE search_notes; DROP TABLE preferences; ALTER TABLE decisions DROP COLUMN pinned");
    old = read_image(path);
    damage_remove(path);
}

/* One value of some table: all by number, so that edited numbers still say something. */
static void set_value(const char *path, unsigned table, unsigned column, unsigned value, unsigned row)
{
    static const char *const tables[] = {
        "gpus",     "gpu_figures", "problems",         "configs",          "runs",
        "trials",   "decisions",   "decision_runners", "decision_samples", "winners",
        "attempts", "gpu_rates",   "decision_errors"};
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "65536",
                                         "2147483647",
                                         "2147483648",
                                         "-2147483649",
                                         "9223372036854775807",
                                         "-9223372036854775807 - 1",
                                         "0.5",
                                         "1e-300",
                                         "1e15",
                                         "1e300",
                                         "9e999",
                                         "-9e999",
                                         "NULL",
                                         "''",
                                         "'x'",
                                         "'cublas'",
                                         "'simt BM=1'",
                                         "'sgemm:nn:1x1x1'",
                                         "'sgemm:nn:2147418112x2147418112x0:batch=2'",
                                         "'measured'",
                                         "char(27) || '[31m' || char(10)",
                                         "cast(x'ff00fe' AS TEXT)",
                                         "hex(zeroblob(20000))",
                                         "x''",
                                         "zeroblob(8)",
                                         "zeroblob(16)",
                                         "zeroblob(512)",
                                         "x'000000000000f87f'",
                                         "x'000000000000f0ff'"};
    const size_t table_count = sizeof tables / sizeof *tables, value_count = sizeof values / sizeof *values;
    const char *name = tables[table % table_count];
    char sql[400];
    sqlite3 *handle;
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('%s') LIMIT -1 OFFSET %u", name,
             column % 24);
    if (sqlite3_open(path, &handle) == SQLITE_OK &&
        sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s", name, (const char *)sqlite3_column_text(stmt, 0),
                 values[value % value_count]);
        if (row && table % table_count < 7)
            snprintf(sql + strlen(sql), sizeof sql - strlen(sql), " WHERE id = %u", row);
        sqlite3_finalize(stmt);
        stmt = NULL;
        sqlite3_exec(handle, "PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON", NULL, NULL,
                     NULL);
        sqlite3_exec(handle, sql, NULL, NULL, NULL);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(handle);
}

/* Whoever wrote to it knows how rows are protected. */
static void give_right_hashes(const char *path)
{
    static const char sql[] =
        "UPDATE gpus SET hash = content_hash(name, arch, sm_count);"
        "UPDATE gpu_figures AS f SET hash = content_hash((SELECT hash FROM gpus WHERE id = "
        "f.gpu_id), " DB_FIGURES_CONTENT ", " DB_FIGURES_RATES ");"
        "UPDATE problems SET hash = content_hash(text);"
        "UPDATE configs SET hash = content_hash(template, kernel_hash, schema_hash, text);"
        "UPDATE runs AS r SET hash = content_hash((SELECT hash FROM gpus WHERE id = r.gpu_id), "
        "(SELECT hash FROM gpu_figures WHERE id = r.figures_id), " DB_RUN_CONTENT ");"
        "UPDATE trials AS x SET hash = content_hash((SELECT hash FROM runs WHERE id = x.run_id), "
        "(SELECT hash FROM problems WHERE id = x.problem_id), (SELECT hash FROM configs WHERE id = "
        "x.config_id), " DB_TRIAL_CONTENT ");"
        "UPDATE decisions AS x SET hash = content_hash((SELECT hash FROM runs WHERE id = x.run_id), "
        "(SELECT hash FROM problems WHERE id = x.problem_id), (SELECT hash FROM configs WHERE id = "
        "x.config_id), " DB_EVIDENCE ", " DB_DECISION_CONTENT ");";
    sqlite3 *handle;
    if (sqlite3_open(path, &handle) == SQLITE_OK && db_register_functions(handle) == SQLITE_OK)
        sqlite3_exec(handle, sql, NULL, NULL, NULL);
    sqlite3_close(handle);
}

void damage(const char *path, char *list)
{
    if (!whole.bytes) make_whole(path);
    if (!old.bytes) make_old(path);
    damage_remove(path);
    const struct image *image = strncmp(list, "old\n", 4) == 0 ? &old : &whole;
    uint8_t *bytes = malloc(image->size);
    size_t size = image->size;
    unsigned table, column, value_index, row;
    char *rest = NULL, *copy = strdup(list);
    if (!bytes || !copy) abort();
    memcpy(bytes, image->bytes, image->size);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        unsigned long offset, value;
        if (sscanf(line, "byte %lu %lu", &offset, &value) == 2) bytes[offset % image->size] = (uint8_t)value;
        else if (sscanf(line, "cut %lu", &offset) == 1) size = offset % image->size;
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size) abort();
    fclose(file);
    free(bytes);
    free(copy);
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "sql ", 4) == 0) run_sql(path, line + 4);
        else if (strcmp(line, "rehash") == 0) give_right_hashes(path);
        else if (sscanf(line, "set %u %u %u %u", &table, &column, &value_index, &row) == 4)
            set_value(path, table, column, value_index, row);
    }
}
