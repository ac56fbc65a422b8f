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
    struct device_buffer exact_value, value, mass; /* one answer per element of the plan's pieces */
    struct device_buffer exact_mass;               /* only where the activation is not exact */
    struct device_buffer findings;
    bool exact_holds;     /* magnitudes of the exact test stay below its limit: exact in any order */
    double largest_value; /* |reference| of the random data */
    uint64_t answers_hash;
    uint64_t read_only_hash,
        exact_read_only_hash; /* of what is only read beside A and B, in set 0 and in the exact one */
};

struct judgement {
    bool right;
    bool exact;             /* integer data gave an equal C */
    double worst;           /* max over judged elements of |c - ref| / bound; NaN in C gives infinity */
    struct accuracy errors; /* for the random data; unknown if C was refused before */
    uint64_t hash;          /* of all elements of C for the random data */
    char detail[OUTCOME_DETAIL_MAX]; /* what is wrong; for a right C judged by rows: how many */
};

/* Computes the references of a workload. If the limits do not suffice for all of C, some rows are judged
 * (plan.sampled). work must outlive the oracle and not move. Errors: E_GPU. */
enum status oracle_open(const struct workload *work, uint64_t seed, const struct oracle_limits *limits,
                        struct oracle *oracle);
void oracle_close(struct oracle *oracle); /* takes a zeroed struct too */

/* Computes the references again after the operands were rewritten. */
enum status oracle_compute(struct oracle *oracle);

/* Judges a kernel by three calls: with integers, with random data, and with random data over another poison.
 * A wrong C is a result, not an error: OK with right = false. Errors: E_ABSENT (the launch was refused),
 * E_GPU (device_lost tells whether the process is still usable). */
enum status oracle_judge(struct oracle *oracle, const struct kernel *kernel, struct judgement *judgement);

/* The same by one call, with random data: where a call is too long for three. */
enum status oracle_judge_once(struct oracle *oracle, const struct kernel *kernel,
                              struct judgement *judgement);

/* After timing: does C in each of the first `sets` timed sets still have the judged bits? Where timing has
 * changed what a call reads (beta != 0, not out of place), one more call is made. */
enum status oracle_recheck(struct oracle *oracle, const struct kernel *kernel,
                           const struct judgement *judgement, int sets, bool *same);

/* Makes `runs` further calls, each over poison, which must give the judged bits. *different: number of calls
 * that did not. */
enum status oracle_repeat(struct oracle *oracle, const struct kernel *kernel,
                          const struct judgement *judgement, int runs, int *different);

/* A call over the right C of a judged one, of which some elements, chosen by the seed, are poison: *same, it
 * gives the judged bits. A kernel does not that looks at C and saves its work if it has been there before.
 * Where C is read no such call is made, and *same is true. */
enum status oracle_over_result(struct oracle *oracle, const struct kernel *kernel,
                               const struct judgement *judgement, uint64_t seed, bool *same);

/* Rewrites the operands and, if a stray write hit them, the answers. Called after a wrong result, so that the
 * next candidate is not blamed for writes of this one. */
enum status oracle_restore(struct oracle *oracle);

#endif
