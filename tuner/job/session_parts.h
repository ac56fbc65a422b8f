/* session_parts.h — the state of a run, shared by session.c (GPUs, events, begin and end), session_deal.c
 * (which GPU works on which problem) and session_close.c (what becomes of a problem whose job has ended).
 */
#ifndef GT_SESSION_PARTS_H
#define GT_SESSION_PARTS_H

#include "session.h"

#include "slices.h"

/* A GPU and what it is doing. */
struct gpu_slot {
    int worker;
    bool gone;
    struct db_context context;
    int64_t run_id;
    struct job *now, *next; /* next: not begun, its first kernels are compiled while `now` is measured */
    size_t now_at, next_at; /* their problems */
    bool fresh;             /* now has begun, and its search has not */
};

/* A problem that has a winner and waits for a further slice is WAITING, too. */
enum turn { WAITING, TAKEN, ENDED };

struct lot {
    enum turn turn;
    struct slice_history history;
    bool begun;          /* in this run */
    bool raced;          /* its winner, in this run, against all trials there were before its last slice */
    bool searched;       /* nothing is left to search */
    bool closing;        /* TAKEN for its closing race */
    int fruitless;       /* later slices in a row without a winner */
    struct job *resting; /* kept for the next slice; NULL: there is none */
};

struct state {
    struct session *s;
    struct job_env env;
    struct gpu_slot *slot;
    int slots;
    struct lot *lot; /* of each problem */
    int ended;
    int left_out; /* problems that the budget had no time for */
    double began_s, budget_s;
    double even_s; /* what an even division of the budget gives each problem */
    bool slices;
    bool stopping;
    char gone_reason[OUTCOME_DETAIL_MAX];
};

/* GPUs that have not been given up. */
int session_slots_alive(const struct state *x);
/* What is left of the budget. */
double session_left_s(const struct state *x);
/* No more is done for this problem in this run. */
void session_settle(struct state *x, size_t at);
/* What a second of the problem's next slice promises. */
double session_promise(const struct state *x, size_t at);
/* Of the waiting problems the one whose next slice promises most, of equals the first; false: no slice is
 * due.
 */
bool session_choose(const struct state *x, size_t *at);
/* Where no slice is due: the problem whose closing race is, if there is one. */
bool session_choose_closing(const struct state *x, size_t *at);
/* Opens and explores the job that a GPU works on next, if there is one. */
enum status session_deal_ahead(struct state *x, struct gpu_slot *slot);
/* No GPU works on the problem yet: it waits, or is the next one of a GPU. */
bool session_is_ahead(const struct state *x, size_t at);
/* Keeps a job for the next slice of its problem, with its search and what that has proposed. If all together
 * take too much memory, those of problems that promise least are closed. Only where there are slices, so that
 * all GPUs are of one model. */
void session_let_rest(struct state *x, size_t at, struct job *job);
/* Gives back the problem that a GPU would work on next. */
void session_drop_next(struct state *x, struct gpu_slot *slot);
/* Begins the next problem of an idle GPU, if there is one: the GPU is prepared for it. */
enum status session_begin(struct state *x, struct gpu_slot *slot);
/* Meanwhile: opens the search of a problem that has just begun, unless that was done ahead. slot->now is NULL
 * where nothing is legal. */
enum status session_start_search(struct state *x, struct gpu_slot *slot);
/* Takes the result of a GPU's job that has ended, and closes the job. */
void session_close_ended(struct state *x, struct gpu_slot *slot);

#endif
