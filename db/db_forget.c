#include "db_internal.h"

#include <stdlib.h>

#define OF_KEY       "gpu_id = ?1 AND problem_id = ?2"
#define OF_DECISIONS "decision_id IN (SELECT id FROM decisions WHERE " OF_KEY ")"
#define OF_RUNS      "problem_id = ?2 AND run_id IN (SELECT id FROM runs WHERE gpu_id = ?1)"

/* Rows of a table that belong to a problem on a GPU. */
#define ROWS(table, condition)                                                                               \
    "SELECT count(*) FROM " table " WHERE " condition, "DELETE FROM " table " WHERE " condition

/* In an order in which no row is left that refers to a removed one. */
static const struct {
    const char *count, *remove;
    size_t member; /* of struct db_known */
    bool counted;  /* else it is part of another */
} parts[] = {
    {ROWS("winners", OF_KEY), offsetof(struct db_known, winners), true},
    {ROWS("decision_runners", OF_DECISIONS), 0, false},
    {ROWS("decision_samples", OF_DECISIONS), 0, false},
    {ROWS("decision_errors", OF_DECISIONS), 0, false},
    {ROWS("decisions", OF_KEY), offsetof(struct db_known, decisions), true},
    {ROWS("preferences", OF_KEY), offsetof(struct db_known, preferences), true},
    {ROWS("search_notes", OF_RUNS), offsetof(struct db_known, notes), true},
    {ROWS("attempts", OF_RUNS), offsetof(struct db_known, attempts), true},
    {ROWS("trials", OF_KEY), offsetof(struct db_known, trials), true},
};
enum { WINNERS_ONLY = 1, EVERYTHING = sizeof parts / sizeof *parts };

/* The rows of one problem on one GPU: counted, or the first `most` parts removed. */
static enum status walk(struct db *db, const int64_t key[2], bool remove, int most, struct db_known *sum)
{
    enum status st = OK;
    for (int i = 0; i < most && !st; i++) {
        int64_t rows = 0;
        if (!remove && !parts[i].counted) continue;
        const struct binder b = db_bind_ints(db, remove ? parts[i].remove : parts[i].count, key, 2);
        if (remove) st = db_run(db, &b, &rows, "remove what is to be forgotten");
        else st = db_integer(db, &b, &rows, "count what is known");
        if (parts[i].counted) *(int64_t *)(void *)((char *)sum + parts[i].member) += rows;
    }
    return st;
}

static enum status walk_gpus(struct db *db, const struct db_filter *filter, bool remove, int most,
                             struct db_known *sum)
{
    int64_t *gpus, problem_id;
    int count;
    *sum = (struct db_known){.winners = 0};
    enum status st = db_match(db, filter, &gpus, &count, &problem_id);
    for (int i = 0; i < count && !st && problem_id; i++)
        st = walk(db, (int64_t[]){gpus[i], problem_id}, remove, most, sum);
    free(gpus);
    return st;
}

enum status db_known(struct db *db, const struct db_filter *filter, struct db_known *known)
{
    return walk_gpus(db, filter, false, EVERYTHING, known);
}

enum status db_forget(struct db *db, const struct db_filter *filter, bool everything,
                      struct db_known *removed)
{
    enum status st = db_begin(db);
    if (st) return st;
    if (everything) db_guard(db, false); /* it protects what is only ever added to */
    st = db_end(db, walk_gpus(db, filter, true, everything ? EVERYTHING : WINNERS_ONLY, removed));
    if (everything) db_guard(db, true);
    return st;
}
