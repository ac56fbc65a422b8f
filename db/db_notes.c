#include "db_internal.h"

static enum status store_note(struct db *db, int64_t run_id, const struct problem *problem, const char *text)
{
    int64_t problem_id;
    enum status st = db_add_problem(db, problem, &problem_id);
    if (st) return st;
    struct binder b = db_bind_ints(db,
                                   "INSERT INTO search_notes (run_id, problem_id, text) "
                                   "VALUES (?1, ?2, ?3) "
                                   "ON CONFLICT DO NOTHING",
                                   (int64_t[]){run_id, problem_id}, 2);
    bind_text(&b, text);
    return db_run(db, &b, NULL, "store a note");
}

enum status db_note(struct db *db, int64_t run_id, const struct problem *problem, const char *text)
{
    enum status st = db_begin(db);
    return st ? st : db_end(db, store_note(db, run_id, problem, text));
}

struct listing {
    bool (*visit)(void *self, const struct db_search_note *note);
    void *self;
};

static enum status list_row(struct db *db, sqlite3_stmt *stmt, void *self, bool *more)
{
    const struct listing *listing = self;
    struct reader r = read_start(stmt);
    struct db_search_note note;
    note.run_id = read_long(&r, "run_id", 1, INT64_MAX);
    db_time_text(read_long(&r, "started_us", 0, DB_TIME_MAX), note.when);
    read_text(&r, "note", note.text, sizeof note.text);
    if (r.bad) return db_broken(db, r.bad, note.run_id);
    *more = listing->visit(listing->self, &note);
    return OK;
}

enum status db_notes(struct db *db, const struct db_filter *filter,
                     bool (*visit)(void *self, const struct db_search_note *note), void *self)
{
    struct listing listing = {visit, self};
    const struct db_list notes = {.sql = "SELECT n.run_id, r.started_us, n.text "
                                         "FROM search_notes n "
                                         "JOIN runs r ON r.id = n.run_id "
                                         "WHERE r.gpu_id = ?1 AND (?2 = 0 OR n.problem_id = ?2) "
                                         "ORDER BY r.started_us DESC, n.run_id DESC, n.text",
                                  .what = "read the notes",
                                  .row = list_row,
                                  .self = &listing,
                                  .problem = DB_NO_PROBLEM};
    return db_list(db, filter, &notes);
}
