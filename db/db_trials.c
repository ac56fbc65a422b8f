#include "db_internal.h"
#include "driver_version.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#define TIME_MAX_US 1e15 /* 30 years */

/* --- writing --- */

#define TRIAL_VALUES                                                                                         \
    "(SELECT a.id AS id, a.run_id AS run_id, r.gpu_id AS gpu_id, a.problem_id AS problem_id, "               \
    "a.config_id AS config_id, r.hash AS run_hash, p.hash AS problem_hash, c.hash AS config_hash, "          \
    "coalesce(?2, r.cold) AS cold, a.started_us AS started_us, max(?3, a.started_us) AS ended_us, "          \
    "?4 AS recovered_us, ?5 AS verdict, ?6 AS detail, ?7 AS registers, ?8 AS spill_bytes, "                  \
    "?9 AS static_smem_bytes, ?10 AS cubin_bytes, ?11 AS compile_ms, ?12 AS time_us, ?13 AS samples_us, "    \
    "?14 AS worst_error, ?15 AS exact, ?16 AS sm_clock_mhz, ?17 AS memory_clock_mhz, ?18 AS power_w, "       \
    "?19 AS temperature_c, ?20 AS throttle_reasons, ?21 AS wall_ms "                                         \
    "FROM attempts a JOIN runs r ON r.id = a.run_id JOIN problems p ON p.id = a.problem_id "                 \
    "JOIN configs c ON c.id = a.config_id WHERE a.id = ?1)"

/* Little-endian doubles on every machine. Returns the number of bytes. */
static int pack_samples(const struct outcome *o, uint64_t packed[OUTCOME_SAMPLES_MAX])
{
    int count = o->sample_count < 0 ? 0 : o->sample_count;
    if (count > OUTCOME_SAMPLES_MAX) count = OUTCOME_SAMPLES_MAX;
    for (int i = 0; i < count; i++) {
        memcpy(&packed[i], &o->samples_us[i], sizeof packed[i]);
        packed[i] = htole64(packed[i]);
    }
    return count * (int)sizeof *packed;
}

void db_bind_outcome(struct binder *b, const struct outcome *o)
{
    uint64_t samples[OUTCOME_SAMPLES_MAX];
    int bytes = pack_samples(o, samples);
    bind_text(b, verdict_name(o->verdict));
    bind_text(b, o->detail);
    bind_int(b, o->facts.registers);
    bind_int(b, o->facts.spill_bytes);
    bind_int(b, o->facts.static_smem_bytes);
    bind_int(b, o->facts.cubin_bytes);
    bind_finite(b, o->facts.compile_ms);
    bind_finite(b, o->time_us);
    bind_blob(b, samples, bytes);
    bind_real(b, o->worst_error);
    bind_int(b, o->exact);
    bind_int(b, o->state.sm_clock_mhz);
    bind_int(b, o->state.memory_clock_mhz);
    bind_finite(b, o->state.power_w);
    bind_int(b, o->state.temperature_c);
    bind_int(b, (int64_t)o->state.throttle_reasons);
    bind_finite(b, o->wall_ms);
}

/* Reads the trial back: values that could not be read later are refused now. */
static enum status read_back(struct db *db, int64_t id)
{
    struct binder b = db_bind(db, "SELECT " DB_OUTCOME_COLUMNS " FROM trials t WHERE t.id = ?1");
    bind_int(&b, id);
    bool row;
    enum status st = db_next(db, &b, &row, "read a trial back");
    if (st) return st;
    struct reader r = read_start(b.stmt);
    struct outcome outcome;
    db_read_outcome(&r, &outcome);
    db_done(&b);
    return r.bad ? fail(E_INPUT, "an outcome with an impossible value (%s) was not stored", r.bad) : OK;
}

enum status db_insert_trial(struct db *db, int64_t attempt_id, const struct outcome *outcome,
                            int64_t recovered_us)
{
    struct binder b = db_bind(
        db, "INSERT INTO trials (id, hash, run_id, gpu_id, problem_id, config_id, " DB_TRIAL_CONTENT ") "
            "SELECT id, content_hash(run_hash, problem_hash, config_hash, " DB_TRIAL_CONTENT
            "), run_id, gpu_id, problem_id, config_id, " DB_TRIAL_CONTENT " "
            "FROM " TRIAL_VALUES);
    bind_int(&b, attempt_id);
    if (outcome_usable(outcome)) bind_int(&b, outcome->cold);
    else bind_null(&b); /* never timed: belongs to the cache policy of its run */
    bind_int(&b, recovered_us ? recovered_us : db_now_us());
    if (recovered_us) bind_int(&b, recovered_us);
    else bind_null(&b);
    db_bind_outcome(&b, outcome);
    int64_t changes;
    enum status st = db_run(db, &b, &changes, "store a trial");
    if (st) return st;
    if (changes == 1) return read_back(db, attempt_id);
    return fail(E_ABSENT, "attempt %lld is not under way in %s", (long long)attempt_id, db->path);
}

/* --- reading --- */

static void read_samples(struct reader *r, struct outcome *o)
{
    int bytes = sqlite3_column_bytes(r->stmt, r->next);
    const unsigned char *blob = sqlite3_column_blob(r->stmt, r->next);
    bool good = sqlite3_column_type(r->stmt, r->next) == SQLITE_BLOB && bytes % 8 == 0 &&
                bytes <= OUTCOME_SAMPLES_MAX * 8;
    o->sample_count = good ? bytes / 8 : 0;
    for (int i = 0; i < o->sample_count; i++) {
        uint64_t word;
        memcpy(&word, blob + 8 * i, sizeof word);
        word = le64toh(word);
        memcpy(&o->samples_us[i], &word, sizeof word);
        if (!(o->samples_us[i] >= 0 && o->samples_us[i] <= TIME_MAX_US)) good = false;
    }
    if (!good && !r->bad) r->bad = "samples_us";
    r->next++;
}

/* between: columns between cold and the verdict. */
static void read_outcome(struct reader *r, int between, struct outcome *o)
{
    memset(o, 0, offsetof(struct outcome, samples_us)); /* samples beyond the count are not read */
    o->errors = accuracy_unknown();
    char verdict[24];
    o->cold = read_bool(r, "cold");
    r->next += between;
    read_text(r, "verdict", verdict, sizeof verdict);
    if (verdict_parse(verdict, &o->verdict) && !r->bad) r->bad = "verdict";
    read_text(r, "detail", o->detail, sizeof o->detail);
    o->facts.registers = read_int(r, "registers", 0, 1 << 20);
    o->facts.spill_bytes = read_int(r, "spill_bytes", 0, INT_MAX);
    o->facts.static_smem_bytes = read_int(r, "static_smem_bytes", 0, INT_MAX);
    o->facts.cubin_bytes = read_int(r, "cubin_bytes", 0, INT_MAX);
    o->facts.compile_ms = read_real(r, "compile_ms", 0, 1e12);
    o->time_us = read_time_us(r, "time_us");
    read_samples(r, o);
    o->worst_error = read_is_null(r) ? (double)NAN : read_real(r, "worst_error", 0, INFINITY);
    o->exact = read_bool(r, "exact");
    o->state.sm_clock_mhz = read_int(r, "sm_clock_mhz", 0, 1 << 20);
    o->state.memory_clock_mhz = read_int(r, "memory_clock_mhz", 0, 1 << 20);
    o->state.power_w = read_real(r, "power_w", 0, 1e6);
    o->state.temperature_c = read_int(r, "temperature_c", -300, 100000);
    o->state.throttle_reasons = (uint64_t)read_long(r, "throttle_reasons", INT64_MIN, INT64_MAX);
    o->wall_ms = read_real(r, "wall_ms", 0, 1e12);
}

void db_read_outcome(struct reader *r, struct outcome *o)
{
    read_outcome(r, 0, o);
}

void db_read_trial_content(struct reader *r, struct outcome *o)
{
    read_outcome(r, 3 /* started_us, ended_us, recovered_us */, o);
}

/* Parameters 1 to 5: GPU, problem and cache policy; a value that the file does not contain is NULL and
 * matches nothing. One statement instead of several, since each one takes and releases the file's locks. */
#define OF_KEY                                                                                               \
    "t.gpu_id = (SELECT id FROM gpus WHERE hash = content_hash(?1, ?2, ?3)) AND t.problem_id = (SELECT id "  \
    "FROM "                                                                                                  \
    "problems WHERE text = ?4) AND t.cold = ?5"
#define OF_CONFIG "t.config_id = (SELECT id FROM configs WHERE hash = content_hash(?6, ?7, ?8, ?9))"

static void bind_key(struct binder *b, const struct db_context *context, const struct problem *problem)
{
    char text[PROBLEM_TEXT_MAX];
    problem_key(problem, text);
    bind_gpu(b, &context->gpu);
    bind_text(b, text);
    bind_int(b, context->cold);
}

/* Reads DB_PROTOCOL_COLUMNS: was it obtained with another driver, compiler, power limit or protocol than in
 * now? Values that either side does not know are ignored. */
static bool read_stale(struct reader *r, const struct db_context *now)
{
    char driver[DB_TEXT_MAX], nvrtc[DB_TEXT_MAX];
    read_text(r, "driver", driver, sizeof driver);
    read_text(r, "nvrtc", nvrtc, sizeof nvrtc);
    double power = read_real(r, "power_limit_w", 0, 1e6);
    int64_t protocol = read_long(r, "protocol", 0, INT32_MAX);
    return driver_differs(driver, now->driver) || db_differ(nvrtc, now->nvrtc) ||
           (power > 0 && now->power_limit_w > 0 && power != now->power_limit_w) || protocol != DB_PROTOCOL;
}

enum status db_find(struct db *db, const struct db_context *context, const struct problem *problem,
                    const struct config *config, struct outcome *outcome, bool *stale)
{
    struct binder b = db_bind(db, "SELECT t.id, " DB_PROTOCOL_COLUMNS ", " DB_OUTCOME_COLUMNS " "
                                  "FROM trials t INDEXED BY trials_by_key "
                                  "JOIN runs r ON r.id = t.run_id "
                                  "WHERE " OF_KEY " AND " OF_CONFIG " AND t.recovered_us IS NULL "
                                  "ORDER BY t.ended_us DESC, t.id DESC LIMIT 1");
    bind_key(&b, context, problem);
    bind_config(&b, db, config, problem, context->gpu.arch);
    bool row;
    enum status st = db_next(db, &b, &row, "look for a trial");
    if (st) return st;
    if (!row) return fail(E_ABSENT, "this configuration has not been tried yet");
    struct reader r = read_start(b.stmt);
    int64_t id = read_long(&r, "id", 1, INT64_MAX);
    *stale = read_stale(&r, context);
    db_read_outcome(&r, outcome);
    db_done(&b);
    return r.bad ? db_broken(db, r.bad, id) : OK;
}

bool db_read_config(struct db *db, struct reader *r, const struct problem *problem, int arch,
                    char text[CONFIG_TEXT_MAX], struct config *config)
{
    int64_t kernel = read_long(r, "kernel_hash", INT64_MIN, INT64_MAX);
    int64_t schema = read_long(r, "schema_hash", INT64_MIN, INT64_MAX);
    read_text(r, "configuration", text, CONFIG_TEXT_MAX);
    if (r->bad || config_parse(text, config)) return false;
    return db_parameters_hash(db, config->template) == schema &&
           db_kernel_hash(config, problem, arch) == kernel;
}

enum status db_best(struct db *db, const struct db_context *context, const struct problem *problem,
                    struct db_best *best, int room, int *count)
{
    *count = 0;
    struct binder b =
        db_bind(db, "SELECT t.id, c.kernel_hash, c.schema_hash, c.text, " DB_OUTCOME_COLUMNS " "
                    "FROM trials t INDEXED BY trials_fastest "
                    "CROSS JOIN configs c ON c.id = t.config_id "
                    "WHERE " OF_KEY " AND t.verdict IN ('measured', 'slow') AND t.recovered_us IS NULL "
                    "AND NOT EXISTS (SELECT 1 "
                    "FROM trials n INDEXED BY trials_by_key "
                    "WHERE n.gpu_id = t.gpu_id AND n.problem_id = t.problem_id "
                    "AND n.cold = t.cold AND n.config_id = t.config_id "
                    "AND n.recovered_us IS NULL AND (n.ended_us, n.id) > (t.ended_us, t.id)) "
                    "ORDER BY t.time_us, t.id");
    bind_key(&b, context, problem);
    enum status st = OK;
    bool row;
    while (*count < room && !(st = db_next(db, &b, &row, "look for the best trials")) && row) {
        struct reader r = read_start(b.stmt);
        int64_t id = read_long(&r, "id", 1, INT64_MAX);
        char text[CONFIG_TEXT_MAX];
        bool current = db_read_config(db, &r, problem, context->gpu.arch, text, &best[*count].config);
        if (!current && !r.bad) continue;
        db_read_outcome(&r, &best[*count].outcome);
        if (r.bad && (st = db_broken(db, r.bad, id))) break;
        if (best[*count].outcome.time_us > 0) ++*count;
    }
    db_done(&b);
    return st;
}

/* The first and the last crash of each configuration with this text, for each problem; those cut off by the
 * same kill are one. Configurations have no index by text: those that ever crashed here are few, and the
 * recursion finds them without reading each crash. */
#define CRASHES                                                                                              \
    "WITH RECURSIVE fatal (config_id) AS (SELECT min(config_id) FROM trials INDEXED BY trials_fatal "        \
    "WHERE gpu_id = ?1 AND verdict IN ('crashed', 'hung') "                                                  \
    "UNION ALL SELECT (SELECT min(t.config_id) FROM trials t INDEXED BY trials_fatal "                       \
    "WHERE t.gpu_id = ?1 AND t.config_id > f.config_id AND t.verdict IN ('crashed', 'hung')) "               \
    "FROM fatal f WHERE f.config_id IS NOT NULL) "                                                           \
    "SELECT c.id, min(coalesce(t.recovered_us, -t.id)), max(coalesce(t.recovered_us, -t.id)), p.text, "      \
    "c.kernel_hash, c.schema_hash, c.text "                                                                  \
    "FROM fatal f CROSS JOIN configs c ON c.id = f.config_id "                                               \
    "CROSS JOIN trials t INDEXED BY trials_fatal ON t.config_id = c.id "                                     \
    "CROSS JOIN problems p ON p.id = t.problem_id "                                                          \
    "WHERE t.gpu_id = ?1 AND t.verdict IN ('crashed', 'hung') AND c.text = ?2 GROUP BY c.id, p.id"

/* Only crashes of present kernels count. A problem that this version cannot read has none. */
static enum status read_crashes(struct db *db, sqlite3_stmt *stmt, int arch, int64_t *first, int64_t *last)
{
    char problem_text[PROBLEM_TEXT_MAX], text[CONFIG_TEXT_MAX];
    struct problem problem;
    struct config config;
    struct reader r = read_start(stmt);
    const int64_t id = read_long(&r, "id", 1, INT64_MAX);
    const int64_t from = read_long(&r, "trial", INT64_MIN, INT64_MAX);
    const int64_t to = read_long(&r, "trial", INT64_MIN, INT64_MAX);
    read_text(&r, "problem", problem_text, sizeof problem_text);
    if (!r.bad && problem_parse(problem_text, &problem)) return OK;
    const bool current = !r.bad && db_read_config(db, &r, &problem, arch, text, &config);
    if (r.bad) return db_broken(db, r.bad, id);
    if (current && from < *first) *first = from;
    if (current && to > *last) *last = to;
    return OK;
}

enum status db_quarantined(struct db *db, const struct db_context *context, const struct config *config,
                           bool *yes)
{
    int64_t gpu_id, first = INT64_MAX, last = INT64_MIN;
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    enum status st = db_find_gpu(db, &context->gpu, &gpu_id);
    if (st) return st;
    struct binder b = db_bind(db, CRASHES);
    bind_int(&b, gpu_id);
    bind_text(&b, text);
    bool row;
    while (!st && !(st = db_next(db, &b, &row, "count crashes")) && row)
        st = read_crashes(db, b.stmt, context->gpu.arch, &first, &last);
    db_done(&b);
    *yes = first < last;
    return st;
}
