/* oracle.h — the correct result of a problem, and the allowed error.
 *
 * The reference never comes from one of our templates or from cuBLAS: a tuner that judged its kernels by its
 * own kernels would repeat their mistakes. Separate FP64 kernels (oracle.cu) compute it once per problem, and
 * it stays on the device. The rules are in docs/measuring.md, "Judging right and wrong".
 */
#ifndef GT_ORACLE_H
#define GT_ORACLE_H

#include "accuracy.h"
#include "outcome.h"
#include "workload.h"

struct oracle {
    const struct oracle_kernels *kernels;
    const struct workload *work;
    struct oracle_plan plan;
    struct device_buffer exact_value, value, mass; /* one answer an element of the plan's pieces */
    struct device_buffer findings;
    bool exact_holds; /* the exact test's magnitudes stay below its limit, so its answer is exact in any order
                       */
    double largest_value; /* |reference| of the random data */
    uint64_t answers_hash;
};

struct judgement {
    bool right;
    bool exact;             /* whole-number data gave an equal C */
    double worst;           /* max over judged elements of |c - ref| / bound; NaN in C gives infinity */
    struct accuracy errors; /* for the random data; unknown where C was refused before */
    uint64_t hash;          /* of all elements of C for the random data: equal bits give equal hashes */
    char detail[OUTCOME_DETAIL_MAX]; /* what is wrong; for a right C of which only rows were judged: how many
                                      */
};

/* Compute the references of a workload. room_bytes: device memory that may be used; when that or 20 s of FP64
 * are not enough for all of C, some rows are judged (plan.sampled). work must stay where it is. Errors:
 * E_GPU. */
enum status oracle_open(const struct workload *work, uint64_t seed, int64_t room_bytes,
                        struct oracle *oracle);
void oracle_close(struct oracle *oracle); /* takes a zeroed struct too */

/* Compute the references again, after the operands were written again. */
enum status oracle_compute(struct oracle *oracle);

/* Judge a kernel by three calls: whole numbers, random data, and random data again over another poison. A
 * wrong C is an answer, not an error: OK with right = false. Errors: E_ABSENT (the launch was refused), E_GPU
 * (device_lost says whether the process is still good). */
enum status oracle_judge(struct oracle *oracle, const struct kernel *kernel, struct judgement *judgement);

/* After timing: is the C in each of the timed sets (sets of them) still that of the judgement, bit by bit?
 * With beta != 0 timing has changed C, so one more call decides. */
enum status oracle_recheck(struct oracle *oracle, const struct kernel *kernel,
                           const struct judgement *judgement, int sets, bool *same);

/* `runs` further calls, each over poison, must give the judged bits. *different: how many did not. */
enum status oracle_repeat(struct oracle *oracle, const struct kernel *kernel,
                          const struct judgement *judgement, int runs, int *different);

/* Write operands and, if a stray write hit them, answers again. Called when something was judged wrong: so
 * that the next candidate is not blamed for what this one did. */
enum status oracle_restore(struct oracle *oracle);

#endif
