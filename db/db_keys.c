#include "db_internal.h"

#include "kernel_hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Hash of the names and kinds of the parameters, which give a configuration's numbers their meaning. Their
 * ranges may grow without changing it, and silent ones be added. */
static uint64_t schema_hash(const struct template *t)
{
    uint64_t hash = 0;
    for (int i = 0; i < t->param_count; i++) {
        if (t->silent >> i & 1) continue;
        hash = XXH64(t->params[i].name, strlen(t->params[i].name), hash);
        const char kind = t->params[i].kind == PARAM_COMPILE ? 'c' : 'l';
        hash = XXH64(&kind, 1, hash);
    }
    return hash;
}

int64_t db_parameters_hash(struct db *db, const struct template *t)
{
    for (int i = 0; i < db->parameters_count; i++)
        if (db->parameters[i].template == t) return db->parameters[i].schema;
    /* If there are more templates than entries, the last entry is reused. */
    int i = db->parameters_count < DB_TEMPLATES_MAX ? db->parameters_count++ : DB_TEMPLATES_MAX - 1;
    db->parameters[i] = (struct db_parameters){t, (int64_t)schema_hash(t)};
    return db->parameters[i].schema;
}

int64_t db_kernel_hash(const struct config *config, const struct problem *problem, int arch)
{
    return (int64_t)kernel_hash_of(config, problem, arch);
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
    struct binder b = db_bind(db, "SELECT id FROM gpus WHERE hash = content_hash(?1, ?2, ?3)");
    bind_gpu(&b, gpu);
    return db_integer(db, &b, id, "look for a GPU");
}

/* --- their rates --- */

#define RATES_MAX (GPU_RATES_MAX + 1)
#define TFLOPS    "_tflops" /* after the name of an arithmetic rate */

struct rate {
    char name[DB_RATE_TEXT_MAX];
    double value;
};

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct rate *)x)->name, ((const struct rate *)y)->name);
}

/* The known rates, in the order of their names. */
static int rates_of(const struct gpu *gpu, struct rate rates[RATES_MAX])
{
    int count = 0;
    for (int i = 0; i < GPU_RATES_MAX; i++) {
        if (!(gpu->rate[i].value > 0)) continue;
        snprintf(rates[count].name, sizeof rates->name, "%s" TFLOPS, gpu->rate[i].name);
        rates[count++].value = gpu->rate[i].value;
    }
    if (gpu->memory_gb_per_s > 0)
        rates[count++] = (struct rate){.name = "memory_gb_per_s", .value = gpu->memory_gb_per_s};
    qsort(rates, (size_t)count, sizeof *rates, by_name);
    return count;
}

/* Rates that this program does not know are ignored. */
static void set_rate(struct gpu *gpu, const char *name, double value)
{
    char rate[DB_RATE_TEXT_MAX];
    const size_t length = strlen(name), tail = sizeof TFLOPS - 1;
    if (strcmp(name, "memory_gb_per_s") == 0) gpu->memory_gb_per_s = value;
    if (length <= tail || strcmp(name + length - tail, TFLOPS) != 0) return;
    snprintf(rate, sizeof rate, "%.*s", (int)(length - tail), name);
    gpu_set_rate(gpu, rate, value);
}

bool db_rate_format(const char *name, double value, char text[DB_RATE_TEXT_MAX])
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return !strpbrk(name, " =") &&
           snprintf(text, DB_RATE_TEXT_MAX, "%s=%016" PRIx64, name, word) < DB_RATE_TEXT_MAX;
}

static void format_rates(const struct gpu *gpu, char text[DB_RATES_TEXT_MAX])
{
    struct rate rates[RATES_MAX];
    char one[DB_RATE_TEXT_MAX];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0, count = rates_of(gpu, rates); i < count; i++)
        if (db_rate_format(rates[i].name, rates[i].value, one))
            used += (size_t)snprintf(text + used, DB_RATES_TEXT_MAX - used, "%s%s", used ? " " : "", one);
}

/* Reads one rate from the text. Returns the start of the next one, NULL if it is invalid. */
static const char *read_rate(const char *at, char name[DB_RATE_TEXT_MAX], double *value)
{
    const size_t length = strcspn(at, "=");
    char *end;
    if (length == 0 || length >= DB_RATE_TEXT_MAX || at[length] != '=' ||
        !isxdigit((unsigned char)at[length + 1]))
        return NULL;
    memcpy(name, at, length);
    name[length] = '\0';
    const uint64_t word = strtoull(at + length + 1, &end, 16);
    memcpy(value, &word, sizeof word);
    if (end - at != (ptrdiff_t)length + 17 || !(*value > 0 && *value <= 1e9)) return NULL;
    return *end == ' ' ? end + 1 : *end ? NULL : end;
}

static void read_rates(struct reader *r, struct gpu *gpu)
{
    char text[DB_RATES_TEXT_MAX], name[DB_RATE_TEXT_MAX];
    double value;
    if (read_is_null(r)) return;
    read_text(r, "rates", text, sizeof text);
    for (const char *at = text; !r->bad && *at;) {
        if ((at = read_rate(at, name, &value))) set_rate(gpu, name, value);
        else r->bad = "rates";
        if (!at) break;
    }
}

/* --- their figures --- */

/* rates: text made by format_rates. */
static void bind_figures(struct binder *b, int64_t gpu_id, const struct gpu *g, const char *rates)
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
    bind_text(b, g->source);
    if (rates[0]) bind_text(b, rates);
    else bind_null(b);
}

#define FIGURES_VALUES                                                                                       \
    "(SELECT ?1 AS gpu_id, (SELECT hash FROM gpus WHERE id = ?1) AS gpu_hash, ?2 AS short_name, "            \
    "?3 AS threads_per_sm, ?4 AS blocks_per_sm, ?5 AS registers_per_sm, ?6 AS smem_per_sm_bytes, "           \
    "?7 AS smem_per_block_bytes, ?8 AS smem_reserved_bytes, ?9 AS l2_bytes, ?10 AS memory_bytes, ?11 AS "    \
    "clock_mhz, ?12 AS source, ?13 AS rates)"

static enum status add_rates(struct db *db, int64_t figures_id, const struct gpu *gpu)
{
    struct rate rates[RATES_MAX];
    enum status st = OK;
    for (int i = 0, count = rates_of(gpu, rates); !st && i < count; i++) {
        struct binder b = db_bind(db, "INSERT INTO gpu_rates (figures_id, name, value) VALUES (?1, ?2, ?3)");
        bind_int(&b, figures_id);
        bind_text(&b, rates[i].name);
        bind_real(&b, rates[i].value);
        st = db_run(db, &b, NULL, "store a GPU");
    }
    return st;
}

static enum status add_figures(struct db *db, int64_t gpu_id, const struct gpu *gpu, int64_t *id)
{
    char rates[DB_RATES_TEXT_MAX];
    format_rates(gpu, rates);
    struct binder b =
        db_bind(db, "SELECT id "
                    "FROM gpu_figures "
                    "WHERE hash = (SELECT content_hash(gpu_hash, " DB_FIGURES_CONTENT ", rates) "
                    "FROM " FIGURES_VALUES ")");
    bind_figures(&b, gpu_id, gpu, rates);
    enum status st = db_integer(db, &b, id, "look for a GPU");
    if (st || *id) return st;
    b = db_bind(db, "INSERT INTO gpu_figures (hash, gpu_id, " DB_FIGURES_CONTENT ") "
                    "SELECT content_hash(gpu_hash, " DB_FIGURES_CONTENT
                    ", rates), gpu_id, " DB_FIGURES_CONTENT " "
                    "FROM " FIGURES_VALUES);
    bind_figures(&b, gpu_id, gpu, rates);
    st = db_insert(db, &b, id, "store a GPU");
    return st ? st : add_rates(db, *id, gpu);
}

/* The row's arch must be the GPU's: trials are stored under the one and looked for under the other. */
static enum status check_gpu(struct db *db, const struct gpu *gpu, int64_t id)
{
    struct binder b = db_bind(db, "SELECT name = ?1 AND arch = ?2 AND sm_count = ?3 FROM gpus WHERE id = ?4");
    bind_gpu(&b, gpu);
    bind_int(&b, id);
    int64_t same;
    enum status st = db_integer(db, &b, &same, "look at a GPU");
    return st || same ? st : db_broken(db, "gpus: another GPU than the row's hash says", id);
}

enum status db_add_gpu(struct db *db, const struct gpu *gpu, int64_t *gpu_id, int64_t *figures_id)
{
    struct binder b = db_bind(db, "INSERT INTO gpus (hash, name, arch, sm_count) "
                                  "VALUES (content_hash(?1, ?2, ?3), ?1, ?2, ?3) "
                                  "ON CONFLICT (hash) DO NOTHING");
    bind_gpu(&b, gpu);
    enum status st = db_run(db, &b, NULL, "store a GPU");
    if (st) return st;
    st = db_find_gpu(db, gpu, gpu_id);
    if (!st) st = check_gpu(db, gpu, *gpu_id);
    if (st) return st;
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
    read_text(r, "source", g->source, sizeof g->source);
    read_rates(r, g);
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
    struct binder b = db_bind(db, "SELECT g.id, g.name, g.arch, f.short_name "
                                  "FROM gpus g "
                                  "JOIN gpu_figures f ON f.gpu_id = g.id "
                                  "ORDER BY g.name, g.id");
    enum status st = OK;
    *ids = NULL;
    *count = 0;
    bool row = true;
    while (!st && !(st = db_next(db, &b, &row, "list the GPUs")) && row) {
        char name[GPU_NAME_MAX], id[32];
        struct reader r = read_start(b.stmt);
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
    db_done(&b);
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
    struct binder b = db_bind(db, "SELECT r.gpu_uuid, r.driver, r.started_us, " DB_FIGURES_COLUMNS " "
                                  "FROM runs r "
                                  "JOIN gpus g ON g.id = r.gpu_id "
                                  "JOIN gpu_figures f ON f.id = r.figures_id "
                                  "ORDER BY r.started_us DESC, r.id DESC");
    enum status st = OK;
    bool row = true;
    while (!st && !(st = db_next(db, &b, &row, "list the GPUs")) && row) {
        struct db_gpu gpu;
        struct reader r = read_start(b.stmt);
        read_text(&r, "gpu_uuid", gpu.uuid, sizeof gpu.uuid);
        read_text(&r, "driver", gpu.driver, sizeof gpu.driver);
        db_time_text(read_long(&r, "started_us", 0, DB_TIME_MAX), gpu.when);
        db_read_figures(&r, &gpu.gpu);
        if (r.bad) st = db_broken(db, r.bad, 0);
        if (!st && !visit(self, &gpu)) break;
    }
    db_done(&b);
    return st;
}

/* --- problems and configurations --- */

enum status db_find_problem(struct db *db, const struct problem *problem, int64_t *id)
{
    char text[PROBLEM_TEXT_MAX];
    problem_key(problem, text);
    struct binder b = db_bind(db, "SELECT id FROM problems WHERE text = ?1");
    bind_text(&b, text);
    return db_integer(db, &b, id, "look for a problem");
}

enum status db_add_problem(struct db *db, const struct problem *problem, int64_t *id)
{
    enum status st = db_find_problem(db, problem, id);
    if (st || *id) return st;
    char text[PROBLEM_TEXT_MAX], epilogue[EPILOGUE_TEXT_MAX];
    problem_key(problem, text);
    epilogue_format(problem->epilogue, epilogue);
    struct binder b = db_bind(
        db, "INSERT INTO problems (hash, text, type, op, epilogue, m, n, k, batch) "
            "VALUES (content_hash(?1), ?1, substr(?1, 1, instr(?1, ':') - 1), ?2, ?3, ?4, ?5, ?6, ?7)");
    bind_text(&b, text);
    bind_text(&b, problem_op_name(problem));
    bind_text(&b, epilogue);
    bind_int(&b, problem->m);
    bind_int(&b, problem->n);
    bind_int(&b, problem->k);
    bind_int(&b, problem->batch);
    return db_insert(db, &b, id, "store a problem");
}

void bind_config(struct binder *b, struct db *db, const struct config *config, const struct problem *problem,
                 int arch)
{
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    bind_text(b, config->template->name);
    bind_int(b, db_kernel_hash(config, problem, arch));
    bind_int(b, db_parameters_hash(db, config->template));
    bind_text(b, text);
}

enum status db_find_config(struct db *db, const struct config *config, const struct problem *problem,
                           int arch, int64_t *id)
{
    struct binder b = db_bind(db, "SELECT id "
                                  "FROM configs "
                                  "WHERE hash = content_hash(?1, ?2, ?3, ?4)");
    bind_config(&b, db, config, problem, arch);
    return db_integer(db, &b, id, "look for a configuration");
}

enum status db_add_config(struct db *db, const struct config *config, const struct problem *problem, int arch,
                          int64_t *id)
{
    enum status st = db_find_config(db, config, problem, arch, id);
    if (st || *id) return st;
    struct binder b = db_bind(db, "INSERT INTO configs (hash, template, kernel_hash, schema_hash, text) "
                                  "VALUES (content_hash(?1, ?2, ?3, ?4), ?1, ?2, ?3, ?4)");
    bind_config(&b, db, config, problem, arch);
    st = db_insert(db, &b, id, "store a configuration");
    return st || !config->template->own ? st : db_keep_kernel(db, config->template);
}
