#include "db_internal.h"

enum status db_point_to(struct db *db, int64_t decision)
{
    struct binder b = db_bind(db, "INSERT INTO winners (gpu_id, problem_id, cold, decision_id) "
                                  "SELECT gpu_id, problem_id, cold, id "
                                  "FROM decisions "
                                  "WHERE id = ?1 "
                                  "ON CONFLICT DO UPDATE SET decision_id = excluded.decision_id");
    bind_int(&b, decision);
    return db_run(db, &b, NULL, "store a winner");
}

enum status db_may_win(struct db *db, int64_t decision, bool *may)
{
    int64_t yes = 0;
    struct binder b =
        db_bind(db, "SELECT 1 FROM decisions d LEFT JOIN configs c ON c.id = d.config_id "
                    "WHERE d.id = ?1 AND CASE WHEN " DB_PINNED
                    " IS NULL THEN NOT d.pinned ELSE c.text = " DB_PINNED " END AND " DB_NOT_EXCLUDED);
    bind_int(&b, decision);
    const enum status st = db_integer(db, &b, &yes, "look for preferences");
    *may = yes != 0;
    return st;
}

/* ---- updating the winner ---- */

/* A key with at most one winner. */
struct key {
    int64_t part[3]; /* GPU, problem, cold */
};

/* Runs a query about a key whose result is the id of a decision. */
static enum status ask_key(struct db *db, const char *sql, const struct key *key, int64_t *decision)
{
    const struct binder b = db_bind_ints(db, sql, key->part, 3);
    return db_integer(db, &b, decision, "look for a winner");
}

static enum status drop_winner(struct db *db, const struct key *key)
{
    const struct binder b = db_bind_ints(
        db, "DELETE FROM winners WHERE gpu_id = ?1 AND problem_id = ?2 AND cold = ?3", key->part, 3);
    return db_run(db, &b, NULL, "drop a winner");
}

/* If nothing is pinned, a decision made for a former pin stays the winner as long as there is no other: it
 * was measured. */
static enum status settle_key(struct db *db, const struct key *key)
{
    int64_t now, best = 0;
    bool may = false;
    enum status st = ask_key(db,
                             "SELECT decision_id FROM winners "
                             "WHERE gpu_id = ?1 AND problem_id = ?2 AND cold = ?3",
                             key, &now);
    if (!st && now) st = db_may_win(db, now, &may);
    if (st || (now && may)) return st;
    st = ask_key(db, DB_NEXT("?1", "?2", "?3", "true"), key, &best);
    if (st) return st;
    if (best) return db_point_to(db, best);
    return now ? drop_winner(db, key) : OK;
}

/* Settles the winners of both cache policies. */
static enum status settle(struct db *db, int64_t gpu_id, int64_t problem_id)
{
    enum status st = OK;
    for (int64_t cold = 0; cold < 2 && !st; cold++)
        st = settle_key(db, &(struct key){{gpu_id, problem_id, cold}});
    return st;
}

enum status db_settle_all(struct db *db)
{
    int64_t at[2] = {0, 0};
    for (;;) { /* one problem at a time, since the update uses the same statements */
        const struct binder b = db_bind_ints(db,
                                             "SELECT gpu_id, problem_id FROM preferences "
                                             "WHERE (gpu_id, problem_id) > (?1, ?2) "
                                             "ORDER BY gpu_id, problem_id LIMIT 1",
                                             at, 2);
        bool row;
        enum status st = db_next(db, &b, &row, "look for preferences");
        if (st || !row) return st;
        for (int i = 0; i < 2; i++) at[i] = sqlite3_column_int64(b.stmt, i);
        db_done(&b);
        if ((st = settle(db, at[0], at[1]))) return st;
    }
}

/* ---- writing ---- */

/* Both statements have the same parameters. A preference that does not change keeps its time. */
static enum status change(struct db *db, const char *sql, int64_t gpu_id, int64_t problem_id, bool pin,
                          const char *config_text, bool holds, int64_t *changes)
{
    struct binder b = db_bind_ints(db, sql, (int64_t[]){gpu_id, problem_id, pin}, 3);
    bind_text(&b, config_text);
    bind_int(&b, holds);
    bind_int(&b, db_now_us());
    return db_run(db, &b, changes, "store a preference");
}

static enum status prefer(struct db *db, int64_t gpu_id, int64_t problem_id, bool pin,
                          const char *config_text, bool holds, bool *changed)
{
    int64_t changes = 0;
    enum status st = OK;
    if (pin && holds) /* there is at most one pin */
        st = change(db,
                    "UPDATE preferences SET holds = NOT ?5, changed_us = max(?6, changed_us + 1) "
                    "WHERE gpu_id = ?1 AND problem_id = ?2 AND pin = ?3 AND config <> ?4 AND holds = ?5",
                    gpu_id, problem_id, pin, config_text, holds, NULL);
    if (!st && holds)
        st = change(db,
                    "INSERT INTO preferences (gpu_id, problem_id, pin, config, holds, changed_us) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE "
                    "SET holds = excluded.holds, changed_us = max(?6, preferences.changed_us + 1) "
                    "WHERE preferences.holds <> excluded.holds",
                    gpu_id, problem_id, pin, config_text, holds, &changes);
    else if (!st)
        st = change(db,
                    "UPDATE preferences SET holds = ?5, changed_us = max(?6, changed_us + 1) "
                    "WHERE gpu_id = ?1 AND problem_id = ?2 AND pin = ?3 AND config = ?4 AND holds <> ?5",
                    gpu_id, problem_id, pin, config_text, holds, &changes);
    *changed = changes > 0;
    return st ? st : settle(db, gpu_id, problem_id);
}

static enum status find_and_prefer(struct db *db, const struct gpu *gpu, const struct problem *problem,
                                   bool pin, const char *config_text, bool holds, bool *changed)
{
    int64_t gpu_id, figures_id, problem_id;
    enum status st = db_add_gpu(db, gpu, &gpu_id, &figures_id);
    if (!st) st = db_add_problem(db, problem, &problem_id);
    return st ? st : prefer(db, gpu_id, problem_id, pin, config_text, holds, changed);
}

enum status db_prefer(struct db *db, const struct gpu *gpu, const struct problem *problem, bool pin,
                      const char *config_text, bool holds, bool *changed)
{
    enum status st = db_check_clock();
    if (!st) st = db_begin(db);
    if (st) return st;
    return db_end(db, find_and_prefer(db, gpu, problem, pin, config_text, holds, changed));
}

enum status db_pin_decision(struct db *db, int64_t decision)
{
    bool row, changed;
    struct binder b = db_bind_ints(db,
                                   "SELECT d.gpu_id, d.problem_id, c.text FROM decisions d "
                                   "JOIN configs c ON c.id = d.config_id WHERE d.id = ?1",
                                   &decision, 1);
    enum status st = db_next(db, &b, &row, "pin a winner");
    if (st) return st;
    if (!row) return fail(E_INPUT, "only a configuration of ours can be pinned");
    struct reader r = read_start(b.stmt);
    char text[CONFIG_TEXT_MAX];
    const int64_t gpu_id = read_long(&r, "gpu_id", 1, INT64_MAX),
                  problem_id = read_long(&r, "problem_id", 1, INT64_MAX);
    read_text(&r, "configuration", text, sizeof text);
    db_done(&b);
    if (r.bad) return db_broken(db, r.bad, decision);
    if ((st = prefer(db, gpu_id, problem_id, true, text, true, &changed))) return st;
    /* The winner has the pinned configuration now; if it was measured, a prediction does not replace it. */
    int64_t stands = 0;
    b = db_bind_ints(db,
                     "SELECT 1 FROM decisions n JOIN winners w ON w.gpu_id = n.gpu_id AND "
                     "w.problem_id = n.problem_id AND w.cold = n.cold "
                     "JOIN decisions d ON d.id = w.decision_id "
                     "WHERE n.id = ?1 AND n.predicted AND NOT d.predicted",
                     &decision, 1);
    st = db_integer(db, &b, &stands, "look for a winner");
    return st || stands ? st : db_point_to(db, decision);
}

/* ---- reading ---- */

struct listing {
    bool (*visit)(void *self, const struct db_preference *preference);
    void *self;
};

static enum status list_row(struct db *db, sqlite3_stmt *stmt, void *self, bool *more)
{
    const struct listing *listing = self;
    struct reader r = read_start(stmt);
    struct db_preference p = {.pin = false};
    char text[PROBLEM_TEXT_MAX];
    const int64_t id = read_long(&r, "problem_id", 1, INT64_MAX);
    read_text(&r, "GPU name", p.gpu.name, sizeof p.gpu.name);
    p.gpu.arch = read_int(&r, "arch", 10, 9999);
    p.gpu.sm_count = read_int(&r, "sm_count", 1, 1 << 16);
    read_text(&r, "problem", text, sizeof text);
    if (!r.bad && problem_parse(text, &p.problem)) return OK; /* a later version's */
    p.pin = read_bool(&r, "pin");
    read_text(&r, "configuration", p.config_text, sizeof p.config_text);
    db_time_text(read_long(&r, "changed_us", 0, DB_TIME_MAX), p.when);
    if (r.bad) return db_broken(db, r.bad, id);
    *more = listing->visit(listing->self, &p);
    return OK;
}

enum status db_preferences(struct db *db, const struct db_filter *filter,
                           bool (*visit)(void *self, const struct db_preference *preference), void *self)
{
    static const struct db_filter all;
    struct listing listing = {visit, self};
    const struct db_list preferences = {
        .sql = "SELECT f.problem_id, g.name, g.arch, g.sm_count, p.text, f.pin, f.config, f.changed_us "
               "FROM preferences f JOIN gpus g ON g.id = f.gpu_id JOIN problems p ON p.id = f.problem_id "
               "WHERE f.gpu_id = ?1 AND (?2 = 0 OR f.problem_id = ?2) AND f.holds = 1 "
               "AND (f.pin = 0 OR NOT EXISTS (SELECT 1 FROM preferences o WHERE o.gpu_id = f.gpu_id AND "
               "o.problem_id = f.problem_id AND o.pin = 1 AND o.holds = 1 AND "
               "(o.changed_us > f.changed_us OR (o.changed_us = f.changed_us AND o.config < f.config)))) "
               "ORDER BY f.changed_us DESC, f.problem_id, f.config",
        .what = "read the preferences",
        .row = list_row,
        .self = &listing,
        .problem = DB_NO_PROBLEM};
    return db_list(db, filter ? filter : &all, &preferences);
}
