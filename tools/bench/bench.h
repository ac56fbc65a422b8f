/* bench.h — times tuned kernels against NVIDIA's libraries. The worker judges each kernel like any candidate;
 * then blocks of all run in rounds, each in a new random order, so that clock drift affects all alike. Knows
 * no options and no table.
 */
#ifndef GT_BENCH_H
#define GT_BENCH_H

#include "fastest.h"
#include "outcome.h"
#include "timing.h"

#define BENCH_ROUNDS_MAX 101

/* OWN is the tuned kernel; the others are the roles of rivals.h, CUBLAS the anchor. */
enum bench_runner { BENCH_OWN, BENCH_CUBLAS, BENCH_LT, BENCH_AUTOTUNE, BENCH_BF16X9, BENCH_RUNNERS };
extern const char *const bench_names[BENCH_RUNNERS]; /* "own", "cublas", "lt", "autotune", "bf16x9" */

struct bench_plan {
    int rounds; /* 1 .. BENCH_ROUNDS_MAX */
    double block_ms;
    bool cold;
    bool one_by_one;            /* short calls launched one by one instead of in captured graphs */
    bool wanted[BENCH_RUNNERS]; /* of the rivals; OWN runs wherever there is one */
    bool timing[TIMING_COUNT];  /* beside repeat */
    bool energy;                /* under load, in blocks of two seconds */
    uint64_t seed;
};

/* 95 % intervals of the median; of fewer than 6 rounds their range. */
struct bench_times {
    double time_us, low_us, high_us; /* median; 0: it did not run */
    double ratio, ratio_low,
        ratio_high; /* its time over OWN's in the same rounds (above 1: OWN is faster); 0 */
    double joules, joules_low, joules_high; /* under load: of a call; 0: not known */
    double watts;                           /* the same: mean power of the board */
    char detail[120];                       /* which answer of cublasLt; why it did not run */
};

struct bench_row {
    struct problem problem;
    bool known;
    struct fastest fastest; /* if known */
    struct build build;
    struct outcome outcome;       /* of judging it */
    struct accuracy rival_errors; /* of cuBLAS's product of the same operands */
    struct bench_times times[BENCH_RUNNERS];
    struct bench_times others[TIMING_COUNT][BENCH_RUNNERS]; /* of the other timings; repeat's are `times` */
    char trouble[160]; /* why a timing or the energy is missing, or what disturbed them; "" */
};

/* Look up and compile the kernels of all rows, whose problems are set. db, pretuned: NULL if there is none.
 * Errors: those of the database and of the children. */
enum status bench_choose(struct children *children, struct db *db, struct winner_store *pretuned, bool cold,
                         struct bench_row *rows, size_t count);

/* Run one row on worker 0. What cannot run is told in the row. Errors: E_GPU, E_CHILD, E_INTERRUPTED. */
enum status bench_run(struct children *children, const struct bench_plan *plan, double warm_s,
                      struct bench_row *row);

/* Geometric mean of the ratios to a runner over the rows that have one; *count: how many (0: NAN). */
double bench_mean(const struct bench_row *rows, size_t rows_count, enum bench_runner runner, size_t *count);

#endif
