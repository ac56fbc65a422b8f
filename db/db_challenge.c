#include "db_internal.h"

#include <math.h>
#include <string.h>

struct evidence {
    bool usable, measured, current;
    int rounds, width; /* powers of two */
    int64_t decided_us;
    char text[CONFIG_TEXT_MAX];
    unsigned char hash[DB_HASH_BYTES];
};

static int power_of_two(double x)
{
    int power = 0;
    frexp(x, &power);
    return power;
}

/* For a problem that this version cannot read no configuration is usable, and neither is cuBLAS: the rest of
 * the evidence decides. */
static void read_config_text(struct reader *r, struct evidence *e)
{
    if (read_is_null(r)) return;
    read_long(r, "kernel_hash", INT64_MIN, INT64_MAX);
    read_long(r, "schema_hash", INT64_MIN, INT64_MAX);
    read_text(r, "configuration", e->text, sizeof e->text);
}

static enum status read_evidence(struct db *db, int64_t decision, struct evidence *e)
{
    struct binder b =
        db_bind(db, "SELECT d.predicted, r.protocol, d.rounds, d.ratio, d.ratio_low, d.ratio_high, "
                    "d.decided_us, d.hash, p.text, g.arch, c.kernel_hash, c.schema_hash, c.text "
                    "FROM decisions d "
                    "JOIN runs r ON r.id = d.run_id "
                    "JOIN problems p ON p.id = d.problem_id "
                    "JOIN gpus g ON g.id = d.gpu_id "
                    "LEFT JOIN configs c ON c.id = d.config_id "
                    "WHERE d.id = ?1");
    bind_int(&b, decision);
    bool row;
    enum status st = db_next(db, &b, &row, "compare winners");
    if (st) return st;
    if (!row) return db_broken(db, "winner", decision);
    struct reader r = read_start(b.stmt);
    struct config config;
    struct problem problem;
    char text[PROBLEM_TEXT_MAX];
    memset(e, 0, sizeof *e);
    e->measured = !read_bool(&r, "predicted");
    e->current = read_int(&r, "protocol", 0, INT32_MAX) == DB_PROTOCOL;
    e->rounds = power_of_two(read_int(&r, "rounds", 0, 1 << 20));
    const double ratio = read_real(&r, "ratio", 0, 1e6), low = read_real(&r, "ratio_low", 0, 1e6);
    const double width = read_real(&r, "ratio_high", 0, 1e6) - low;
    e->width = ratio > 0 && width > 0 ? power_of_two(width / ratio) : INT_MAX;
    e->decided_us = read_long(&r, "decided_us", 0, DB_TIME_MAX);
    if (sqlite3_column_bytes(b.stmt, r.next) == DB_HASH_BYTES)
        memcpy(e->hash, sqlite3_column_blob(b.stmt, r.next), sizeof e->hash);
    r.next++;
    read_text(&r, "problem", text, sizeof text);
    const bool later = !r.bad && db_is_of_later_version(db, text);
    if (!later && problem_parse(text, &problem) && !r.bad) r.bad = "problem";
    const int arch = read_int(&r, "arch", 10, 9999);
    if (later) read_config_text(&r, e);
    else e->usable = read_is_null(&r) || db_read_config(db, &r, &problem, arch, e->text, &config);
    db_done(&b);
    return r.bad ? db_broken(db, r.bad, decision) : OK;
}

static int order(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* Positive if x is better than y; 0 only if they are identical. The order is defined in db_exchange.h. */
static int compare(const struct evidence *x, const struct evidence *y)
{
    int better = order(x->usable, y->usable);
    if (!better) better = order(x->measured, y->measured);
    if (!better) better = order(x->current, y->current);
    if (!better) better = order(x->rounds, y->rounds);
    if (!better) better = order(y->width, x->width);
    if (!better) better = order(x->decided_us, y->decided_us);
    if (!better) better = strcmp(y->text, x->text);
    return better ? better : memcmp(y->hash, x->hash, sizeof x->hash);
}

/* The winner for the key of a decision; 0: none. */
static enum status standing(struct db *db, int64_t decision, int64_t *winner)
{
    struct binder b = db_bind(db, "SELECT w.decision_id "
                                  "FROM decisions d "
                                  "JOIN winners w ON w.gpu_id = d.gpu_id AND w.problem_id = d.problem_id AND "
                                  "w.cold = d.cold "
                                  "WHERE d.id = ?1");
    bind_int(&b, decision);
    return db_integer(db, &b, winner, "look for a winner");
}

enum status db_challenge(struct db *db, int64_t decision, bool *won)
{
    struct evidence old = {.rounds = 0}, new = {.rounds = 0};
    int64_t winner;
    bool may;
    *won = false;
    enum status st = db_may_win(db, decision, &may);
    if (st || !may) return st;
    st = standing(db, decision, &winner);
    if (st || winner == decision) return st;
    if (winner) {
        if ((st = read_evidence(db, winner, &old)) || (st = read_evidence(db, decision, &new))) return st;
        if (compare(&new, &old) <= 0) return OK;
    }
    *won = true;
    return db_point_to(db, decision);
}
