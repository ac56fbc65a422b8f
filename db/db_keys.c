#include "db_internal.h"

#include "kernel_hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Names and kinds of the parameters: what the numbers of a configuration mean. Ranges may grow without
 * changing it. */
static uint64_t schema_hash(const struct template *t)
{
    uint64_t hash = 0;
    for (int i = 0; i < t->param_count; i++) {
        hash = XXH64(t->params[i].name, strlen(t->params[i].name), hash);
        const char kind = t->params[i].kind == PARAM_COMPILE ? 'c' : 'l';
        hash = XXH64(&kind, 1, hash);
    }
    return hash;
}

int64_t db_schema_hash(struct db *db, const struct template *t)
{
    for (int i = 0; i < db->schema_count; i++)
        if (db->schemas[i].template == t) return db->schemas[i].hash;
    /* More templates than places: the last place is used again. */
    int i = db->schema_count < DB_SCHEMAS_MAX ? db->schema_count++ : DB_SCHEMAS_MAX - 1;
    db->schemas[i] = (struct db_schema){t, (int64_t)schema_hash(t)};
    return db->schemas[i].hash;
}

int64_t db_kernel_hash(const struct kernel_use *use)
{
    return (int64_t)kernel_hash_of(use->config, use->problem, use->arch);
}

/* --- GPUs --- */

void bind_gpu(struct binder *b, const struct gpu *gpu)
{
    bind_text(b, gpu->name);
    bind_int(b, gpu->arch);
    bind_int(b, gpu->sm_count);
}

enum status db_find_gpu(struct db *db, const struct gpu *gpu, int64_t *id)
{
    sqlite3_stmt *stmt = NULL;
    enum status st = db_prepare(db, "SELECT id FROM gpus WHERE hash = content_hash(?1, ?2, ?3)", &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_gpu(&b, gpu);
    return db_integer(db, &b, id, "look for a GPU");
}

static void bind_figures(struct binder *b, int64_t gpu_id, const struct gpu *g)
{
    bind_int(b, gpu_id);
    bind_text(b, g->id);
    bind_int(b, g->threads_per_sm);
    bind_int(b, g->blocks_per_sm);
    bind_int(b, g->registers_per_sm);
    bind_int(b, g->smem_per_sm_bytes);
    bind_int(b, g->smem_per_block_bytes);
    bind_int(b, g->smem_reserved_bytes);
    bind_int(b, g->l2_bytes);
    bind_int(b, g->memory_bytes);
    bind_real(b, g->clock_mhz);
    bind_real(b, g->memory_gb_per_s);
    bind_real(b, gpu_rate(g, "fp32"));
    bind_text(b, g->source);
}

#define FIGURES_VALUES                                                                                       \
    "(SELECT ?1 AS gpu_id, (SELECT hash FROM gpus WHERE id = ?1) AS gpu_hash, ?2 AS short_name, "            \
    "?3 AS threads_per_sm, ?4 AS blocks_per_sm, ?5 AS registers_per_sm, ?6 AS smem_per_sm_bytes, "           \
    "?7 AS smem_per_block_bytes, ?8 AS smem_reserved_bytes, ?9 AS l2_bytes, ?10 AS memory_bytes, ?11 AS "    \
    "clock_mhz, "                                                                                            \
    "?12 AS memory_gb_per_s, ?13 AS fp32_tflops, ?14 AS source)"

static enum status add_figures(struct db *db, int64_t gpu_id, const struct gpu *gpu, int64_t *id)
{
    sqlite3_stmt *stmt = NULL;
    enum status st =
        db_prepare(db,
                   "INSERT INTO gpu_figures (hash, gpu_id, " DB_FIGURES_CONTENT ") "
                   "SELECT content_hash(gpu_hash, " DB_FIGURES_CONTENT "), gpu_id, " DB_FIGURES_CONTENT " "
                   "FROM " FIGURES_VALUES " "
                   "WHERE true "
                   "ON CONFLICT (hash) DO NOTHING",
                   &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_figures(&b, gpu_id, gpu);
    if ((st = db_run(db, &b, NULL, "store a GPU"))) return st;
    st = db_prepare(db,
                    "SELECT id "
                    "FROM gpu_figures "
                    "WHERE hash = (SELECT content_hash(gpu_hash, " DB_FIGURES_CONTENT ") "
                    "FROM " FIGURES_VALUES ")",
                    &stmt);
    if (st) return st;
    b = bind_start(stmt);
    bind_figures(&b, gpu_id, gpu);
    return db_integer(db, &b, id, "look for a GPU");
}

enum status db_add_gpu(struct db *db, const struct gpu *gpu, int64_t *gpu_id, int64_t *figures_id)
{
    sqlite3_stmt *stmt = NULL;
    enum status st = db_prepare(db,
                                "INSERT INTO gpus (hash, name, arch, sm_count) "
                                "VALUES (content_hash(?1, ?2, ?3), ?1, ?2, ?3) "
                                "ON CONFLICT (hash) DO NOTHING",
                                &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_gpu(&b, gpu);
    if ((st = db_run(db, &b, NULL, "store a GPU"))) return st;
    if ((st = db_find_gpu(db, gpu, gpu_id))) return st;
    return add_figures(db, *gpu_id, gpu, figures_id);
}

void db_read_figures(struct reader *r, struct gpu *g)
{
    *g = (struct gpu){0};
    read_text(r, "GPU name", g->name, sizeof g->name);
    g->arch = read_int(r, "arch", 10, 9999);
    g->sm_count = read_int(r, "sm_count", 1, 1 << 16);
    read_text(r, "short_name", g->id, sizeof g->id);
    g->threads_per_sm = read_int(r, "threads_per_sm", 1, 1 << 16);
    g->blocks_per_sm = read_int(r, "blocks_per_sm", 1, 1 << 16);
    g->registers_per_sm = read_int(r, "registers_per_sm", 1, 1 << 26);
    g->smem_per_sm_bytes = read_int(r, "smem_per_sm_bytes", 1, 1 << 28);
    g->smem_per_block_bytes = read_int(r, "smem_per_block_bytes", 1, 1 << 28);
    g->smem_reserved_bytes = read_int(r, "smem_reserved_bytes", 0, 1 << 28);
    g->l2_bytes = read_long(r, "l2_bytes", 0, INT64_C(1) << 50);
    g->memory_bytes = read_long(r, "memory_bytes", 0, INT64_C(1) << 60);
    g->clock_mhz = read_real(r, "clock_mhz", 0, 1e6);
    g->memory_gb_per_s = read_real(r, "memory_gb_per_s", 0, 1e9);
    gpu_set_rate(g, "fp32", read_real(r, "fp32_tflops", 0, 1e9));
    read_text(r, "source", g->source, sizeof g->source);
}

/* "sm_90", "sm_90a", "90". */
static bool names_arch(const char *text, int arch)
{
    if (strncasecmp(text, "sm_", 3) == 0) text += 3;
    if (!isdigit((unsigned char)*text)) return false;
    char *end;
    long value = strtol(text, &end, 10);
    return value == arch && (*end == '\0' || strcmp(end, "a") == 0);
}

static enum status match_gpus(struct db *db, const char *wanted, int64_t **ids, int *count)
{
    sqlite3_stmt *stmt = NULL;
    enum status st = db_prepare(db,
                                "SELECT g.id, g.name, g.arch, f.short_name "
                                "FROM gpus g "
                                "JOIN gpu_figures f ON f.gpu_id = g.id "
                                "ORDER BY g.name, g.id",
                                &stmt);
    *ids = NULL;
    *count = 0;
    bool row = true;
    while (!st && !(st = db_step(db, stmt, &row, "list the GPUs")) && row) {
        char name[GPU_NAME_MAX], id[32];
        struct reader r = read_start(stmt);
        int64_t gpu = read_long(&r, "id", 1, INT64_MAX);
        read_text(&r, "GPU name", name, sizeof name);
        int arch = read_int(&r, "arch", 10, 9999);
        read_text(&r, "short_name", id, sizeof id);
        if (r.bad) st = db_broken(db, r.bad, gpu);
        bool known = *count > 0 && (*ids)[*count - 1] == gpu; /* another set of figures of the same GPU */
        if (st || known) continue;
        if (wanted && !gpu_same_name(wanted, name) && !(id[0] && gpu_same_name(wanted, id)) &&
            !names_arch(wanted, arch))
            continue;
        int64_t *grown = realloc(*ids, (size_t)(*count + 1) * sizeof **ids);
        if (!grown) st = fail(E_MEMORY, "out of memory while listing GPUs");
        else (*ids = grown)[(*count)++] = gpu;
    }
    if (!st) return OK;
    if (stmt) sqlite3_reset(stmt);
    free(*ids);
    *ids = NULL;
    *count = 0;
    return st;
}

enum status db_match(struct db *db, const struct db_filter *filter, int64_t **gpus, int *count,
                     int64_t *problem_id)
{
    *gpus = NULL;
    *count = 0;
    *problem_id = 0;
    enum status st = filter->problem ? db_find_problem(db, filter->problem, problem_id) : OK;
    if (st || (filter->problem && !*problem_id)) return st;
    return match_gpus(db, filter->gpu, gpus, count);
}

enum status db_gpus(struct db *db, bool (*visit)(void *self, const struct db_gpu *gpu), void *self)
{
    sqlite3_stmt *stmt = NULL;
    enum status st = db_prepare(db,
                                "SELECT r.gpu_uuid, r.driver, r.started_us, " DB_FIGURES_COLUMNS " "
                                "FROM runs r "
                                "JOIN gpus g ON g.id = r.gpu_id "
                                "JOIN gpu_figures f ON f.id = r.figures_id "
                                "ORDER BY r.started_us DESC, r.id DESC",
                                &stmt);
    bool row = true;
    while (!st && !(st = db_step(db, stmt, &row, "list the GPUs")) && row) {
        struct db_gpu gpu;
        struct reader r = read_start(stmt);
        read_text(&r, "gpu_uuid", gpu.uuid, sizeof gpu.uuid);
        read_text(&r, "driver", gpu.driver, sizeof gpu.driver);
        db_time_text(read_long(&r, "started_us", 0, DB_TIME_MAX), gpu.when);
        db_read_figures(&r, &gpu.gpu);
        if (r.bad) st = db_broken(db, r.bad, 0);
        if (!st && !visit(self, &gpu)) break;
    }
    if (stmt) sqlite3_reset(stmt);
    return st;
}

/* --- problems and configurations --- */

enum status db_find_problem(struct db *db, const struct problem *problem, int64_t *id)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(problem, text);
    sqlite3_stmt *stmt = NULL;
    enum status st = db_prepare(db, "SELECT id FROM problems WHERE text = ?1", &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_text(&b, text);
    return db_integer(db, &b, id, "look for a problem");
}

enum status db_add_problem(struct db *db, const struct problem *problem, int64_t *id)
{
    enum status st = db_find_problem(db, problem, id);
    if (st || *id) return st;
    char text[PROBLEM_TEXT_MAX];
    problem_format(problem, text);
    sqlite3_stmt *stmt = NULL;
    st = db_prepare(db,
                    "INSERT INTO problems (hash, text, m, n, k, batch) "
                    "VALUES (content_hash(?1), ?1, ?2, ?3, ?4, ?5)",
                    &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_text(&b, text);
    bind_int(&b, problem->m);
    bind_int(&b, problem->n);
    bind_int(&b, problem->k);
    bind_int(&b, problem->batch);
    st = db_run(db, &b, NULL, "store a problem");
    *id = sqlite3_last_insert_rowid(db->handle);
    return st;
}

void bind_config(struct binder *b, struct db *db, const struct kernel_use *use)
{
    const struct template *t = use->config->template;
    char text[CONFIG_TEXT_MAX];
    config_format(use->config, text);
    bind_text(b, t->name);
    bind_int(b, db_kernel_hash(use));
    bind_int(b, db_schema_hash(db, t));
    bind_text(b, text);
}

enum status db_find_config(struct db *db, const struct kernel_use *use, int64_t *id)
{
    sqlite3_stmt *stmt = NULL;
    enum status st = db_prepare(db,
                                "SELECT id "
                                "FROM configs "
                                "WHERE hash = content_hash(?1, ?2, ?3, ?4)",
                                &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_config(&b, db, use);
    return db_integer(db, &b, id, "look for a configuration");
}

enum status db_add_config(struct db *db, const struct kernel_use *use, int64_t *id)
{
    enum status st = db_find_config(db, use, id);
    if (st || *id) return st;
    sqlite3_stmt *stmt = NULL;
    st = db_prepare(db,
                    "INSERT INTO configs (hash, template, template_hash, schema_hash, text) "
                    "VALUES (content_hash(?1, ?2, ?3, ?4), ?1, ?2, ?3, ?4)",
                    &stmt);
    if (st) return st;
    struct binder b = bind_start(stmt);
    bind_config(&b, db, use);
    st = db_run(db, &b, NULL, "store a configuration");
    *id = sqlite3_last_insert_rowid(db->handle);
    return st;
}
