#include "db_internal.h"

#include <stdlib.h>
#include <string.h>

/* Many winners share few configurations: recently parsed ones are kept. */
#define PARSED_MAX 512

struct parsed {
    int64_t id;     /* of the configuration; 0: empty */
    const char *op; /* the op and the architecture for which its kernel was compared */
    enum gemm_type type;
    int arch;
    struct config config;
    bool usable, changed;
};

#define BRIEF_COLUMNS                                                                                        \
    "d.id, p.text, w.gpu_id, w.cold, d.predicted, d.exact, d.time_us, d.anchor_us, d.ratio, d.ratio_low, "   \
    "d.ratio_high, r.protocol, r.driver, d.decided_us, g.arch, d.config_id, c.kernel_hash, c.schema_hash, "  \
    "c.text"

static void parse_config(struct db *db, struct reader *r, const struct problem *problem,
                         struct parsed *parsed)
{
    char text[CONFIG_TEXT_MAX];
    struct config config = {0};
    parsed->changed = !db_read_config(db, r, problem, parsed->arch, text, &config);
    parsed->usable = !r->bad && config.template;
    parsed->config = config;
}

/* Of a type with limits: do the measured errors show that it is within them? */
static bool is_unproven(struct db *db, int64_t decision, enum gemm_type type, struct accuracy_claim *claim)
{
    struct db_errors errors = {.measured = false}, rival_errors = {.measured = false};
    struct accuracy_checked checked = {.kinds = 0};
    if (!gemm_type_has_limits(type)) return false;
    if (db_read_errors(db, decision, &errors, &rival_errors, &checked)) return true;
    const struct accuracy own = db_errors_accuracy(&errors), rival = db_errors_accuracy(&rival_errors);
    *claim = accuracy_claim_of(&own, &rival, &checked);
    return !accuracy_answers(gemm_type_row(type), &own, &rival);
}

/* Columns: BRIEF_COLUMNS. Returns false if the row contains a value that we never write, or a configuration
 * that is not known any more. */
static bool read_brief(struct db *db, sqlite3_stmt *stmt, int64_t own_gpu, struct parsed *table,
                       unsigned places, struct db_brief *brief)
{
    char problem[PROBLEM_TEXT_MAX];
    struct reader r = read_start(stmt);
    memset(brief, 0, sizeof *brief);
    const int64_t decision = read_long(&r, "decision_id", 1, INT64_MAX);
    read_text(&r, "problem", problem, sizeof problem);
    if (r.bad || problem_parse(problem, &brief->base.problem)) return false;
    brief->other_gpu = read_long(&r, "gpu_id", 1, INT64_MAX) != own_gpu;
    brief->base.cold = read_bool(&r, "cold");
    brief->base.predicted = read_bool(&r, "predicted");
    brief->base.exact = read_bool(&r, "exact");
    brief->base.time_us = read_time_us(&r, "time_us");
    brief->base.anchor_us = read_time_us(&r, "anchor_us");
    brief->base.ratio = read_real(&r, "ratio", 0, 1e6);
    brief->base.ratio_low = read_real(&r, "ratio_low", 0, 1e6);
    brief->base.ratio_high = read_real(&r, "ratio_high", 0, 1e6);
    brief->protocol = read_int(&r, "protocol", 0, INT32_MAX);
    read_text(&r, "driver", brief->driver, sizeof brief->driver);
    db_time_text(read_long(&r, "decided_us", 0, DB_TIME_MAX), brief->base.when);
    if (r.bad) return false;
    const int arch = read_int(&r, "arch", 10, 9999);
    if (r.bad) return false;
    if (read_is_null(&r)) return true; /* no configuration: the rival won */
    int64_t config_id = read_long(&r, "config_id", 1, INT64_MAX);
    if (r.bad) return false;
    struct parsed *parsed = &table[(uint64_t)config_id % places];
    const char *op = problem_op_name(&brief->base.problem);
    if (!parsed->op || parsed->id != config_id || parsed->arch != arch ||
        parsed->type != brief->base.problem.type || strcmp(parsed->op, op) != 0) {
        *parsed = (struct parsed){.id = config_id, .op = op, .type = brief->base.problem.type, .arch = arch};
        parse_config(db, &r, &brief->base.problem, parsed);
    }
    brief->config = parsed->config;
    brief->changed = parsed->changed;
    brief->unproven = is_unproven(db, decision, brief->base.problem.type, &brief->claim);
    return parsed->usable;
}

enum status db_brief_find(struct db *db, const struct gpu *gpu, const struct problem *problem,
                          struct db_brief *brief)
{
    char text[PROBLEM_TEXT_MAX];
    problem_key(problem, text);
    struct binder b = db_bind(db, "SELECT " BRIEF_COLUMNS " "
                                  "FROM problems p "
                                  "CROSS JOIN gpus g "
                                  "CROSS JOIN " DB_STANDING " w ON w.gpu_id = g.id AND w.problem_id = p.id "
                                  "CROSS JOIN decisions d ON d.id = w.decision_id "
                                  "JOIN runs r ON r.id = d.run_id "
                                  "LEFT JOIN configs c ON c.id = d.config_id "
                                  "WHERE p.text = ?4 AND g.hash = content_hash(?1, ?2, ?3) "
                                  "ORDER BY d.predicted, w.cold DESC");
    bind_gpu(&b, gpu);
    bind_text(&b, text);
    enum status st = OK;
    bool row, found = false;
    while (!found && !(st = db_next(db, &b, &row, "look for a winner")) && row) {
        struct parsed one = {.id = 0};
        found = read_brief(db, b.stmt, sqlite3_column_int64(b.stmt, 2), &one, 1, brief);
    }
    db_done(&b);
    if (st || found) return st;
    return fail(E_ABSENT, "%s has no winner for %s on %s", db->path, text, gpu->name);
}

enum status db_has_failed(struct db *db, const struct gpu *gpu, const struct problem *problem,
                          const struct config *config, const char *since, bool *failed)
{
    int64_t key[3] = {0};
    bool row;
    *failed = false;
    enum status st =
        db_find_problem(db, problem, &key[1]); /* most are not stored: the quickest answer first */
    if (!st && key[1]) st = db_find_gpu(db, gpu, &key[0]);
    if (!st && key[0]) st = db_find_config(db, config, problem, gpu->arch, &key[2]);
    if (st || !key[2]) return st;
    const struct binder b =
        db_bind_ints(db, "SELECT " DB_IS_FAILURE ", t.ended_us " DB_NEWEST_OUTCOME("?1", "?2", "?3"), key, 3);
    st = db_next(db, &b, &row, "look for the newest outcome");
    if (st || !row) return st;
    struct reader r = read_start(b.stmt);
    char when[32];
    const bool is_failure = read_bool(&r, "verdict");
    db_time_text(read_long(&r, "ended_us", 0, DB_TIME_MAX), when);
    db_done(&b);
    if (r.bad) return db_broken(db, r.bad, key[2]);
    *failed = is_failure && strcmp(when, since) > 0;
    return OK;
}

/* Keys differ only in what follows the part before alpha, so that they lie together in the index. */
enum status db_problems_alike(struct db *db, const struct problem *problem,
                              struct problem alike[DB_ALIKE_MAX], int *count)
{
    const struct problem of_class = problem_class(problem);
    struct problem first = of_class;
    char key[PROBLEM_TEXT_MAX], class_key[PROBLEM_TEXT_MAX], begin[PROBLEM_TEXT_MAX];
    first.alpha = 1, first.beta = 0, first.epilogue = 0, first.stride_bias = 0;
    problem_key(problem, key);
    problem_key(&of_class, class_key);
    problem_key(&first, begin);
    struct binder b =
        db_bind(db, "SELECT p.text "
                    "FROM problems p "
                    "WHERE (p.text = ?2 OR (p.text > ?3 || ':alpha=' AND p.text < ?3 || ':alpha>') "
                    "OR (p.text > ?3 || ':beta=' AND p.text < ?3 || ':beta>')) AND p.text <> ?1 "
                    "ORDER BY (SELECT max(d.decided_us) "
                    "FROM gpus g "
                    "CROSS JOIN winners w ON w.gpu_id = g.id AND w.problem_id = p.id "
                    "CROSS JOIN decisions d ON d.id = w.decision_id) DESC");
    bind_text(&b, key);
    bind_text(&b, class_key);
    bind_text(&b, begin);
    enum status st = OK;
    bool row;
    *count = 0;
    while (*count < DB_ALIKE_MAX && !(st = db_next(db, &b, &row, "look for like problems")) && row) {
        char text[PROBLEM_TEXT_MAX];
        struct reader r = read_start(b.stmt);
        read_text(&r, "problem", text, sizeof text);
        if (!r.bad && !problem_parse(text, &alike[*count]) && problem_alike(&alike[*count], problem))
            ++*count;
    }
    db_done(&b);
    return st;
}

enum status db_problems_each(struct db *db,
                             bool (*visit)(void *self, int64_t number, const struct problem *problem),
                             void *self)
{
    const struct binder b = db_bind(db, "SELECT id, text FROM problems");
    enum status st;
    bool row;
    while (!(st = db_next(db, &b, &row, "read the problems")) && row) {
        char text[PROBLEM_TEXT_MAX];
        struct problem problem;
        struct reader r = read_start(b.stmt);
        const int64_t number = read_long(&r, "problem_id", 1, INT64_MAX);
        read_text(&r, "problem", text, sizeof text);
        if (!r.bad && !problem_parse(text, &problem) && !visit(self, number, &problem)) break;
    }
    db_done(&b);
    return st;
}

/* The winners of one problem. */
struct brief_reading {
    struct db *db;
    int64_t own_gpu;
    int arch;
    struct parsed *table;
    bool (*visit)(void *self, const struct db_brief *brief);
    void *self;
    int64_t *broken;
};

static enum status read_problem(const struct brief_reading *r, int64_t problem, bool *go_on)
{
    struct binder b = db_bind(r->db, "SELECT " BRIEF_COLUMNS " "
                                     "FROM gpus g "
                                     "CROSS JOIN " DB_STANDING " w ON w.gpu_id = g.id AND w.problem_id = ?2 "
                                     "CROSS JOIN decisions d ON d.id = w.decision_id "
                                     "CROSS JOIN problems p ON p.id = w.problem_id "
                                     "JOIN runs r ON r.id = d.run_id "
                                     "LEFT JOIN configs c ON c.id = d.config_id "
                                     "WHERE g.arch = ?1");
    bind_int(&b, r->arch);
    bind_int(&b, problem);
    enum status st = OK;
    bool row;
    while (*go_on && !(st = db_next(r->db, &b, &row, "read the winners")) && row) {
        struct db_brief brief;
        if (!read_brief(r->db, b.stmt, r->own_gpu, r->table, PARSED_MAX, &brief)) ++*r->broken;
        else *go_on = r->visit(r->self, &brief);
    }
    db_done(&b);
    return st;
}

enum status db_brief_of(struct db *db, const struct gpu *gpu, const int64_t *problems, int count,
                        bool (*visit)(void *self, const struct db_brief *brief), void *self, int64_t *broken)
{
    struct brief_reading reading = {
        .db = db, .arch = gpu->arch, .visit = visit, .self = self, .broken = broken};
    *broken = 0;
    enum status st = db_find_gpu(db, gpu, &reading.own_gpu);
    if (st) return st;
    if (!(reading.table = calloc(PARSED_MAX, sizeof *reading.table)))
        return fail(E_MEMORY, "out of memory while reading winners");
    bool go_on = true;
    for (int i = 0; !st && go_on && i < count; i++) st = read_problem(&reading, problems[i], &go_on);
    free(reading.table);
    return st;
}
