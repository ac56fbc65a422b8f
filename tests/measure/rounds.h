/* rounds.h — compares the host times of calls on a real GPU.
 *
 * Rounds of all runners alternate, so that a drifting clock affects all equally. A round has so few calls
 * that the queue to the GPU never fills. The figure is the median over the rounds.
 */
#ifndef GT_ROUNDS_H
#define GT_ROUNDS_H

#include "device.h"
#include "kernel_hash.h"
#include "least_config.h"
#include "template.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUND_CALLS = 200, ROUNDS = 301 };

struct runner {
    const char *name;
    int (*run)(void);
    double ns[ROUNDS]; /* per call; ascending once printed */
};

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static inline void must(int failed, const char *what)
{
    if (!failed) return;
    printf("%s: %s\n", what, status_text());
    exit(1);
}

static inline void round_of(struct runner *r, int round, const struct device *device)
{
    double start = now_ns();
    int failed = 0;
    for (int i = 0; i < ROUND_CALLS; i++) failed |= r->run();
    r->ns[round] = (now_ns() - start) / ROUND_CALLS;
    must(failed, r->name);
    must(device_check(cuda.StreamSynchronize(device->stream), "wait") != OK, r->name);
}

static inline int round_ascending(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static inline double round_median(const struct runner *r)
{
    return r->ns[ROUNDS / 2];
}

/* Runs them all and prints a table with each median relative to the first one. */
static inline void rounds_run(struct runner *runners, int count, const struct device *device,
                              const char *title)
{
    for (int i = 0; i < count; i++) round_of(&runners[i], 0, device); /* first calls, not timed */
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++) round_of(&runners[i], round, device);
    printf("%s: %s, ns (median of %d rounds of %d calls)\n", device->gpu.name, title, ROUNDS, ROUND_CALLS);
    printf("%-38s %8s %8s %8s %8s\n", "", "median", "p10", "p90", "to first");
    for (int i = 0; i < count; i++) {
        qsort(runners[i].ns, ROUNDS, sizeof(double), round_ascending);
        printf("%-38s %8.0f %8.0f %8.0f %8.2f\n", runners[i].name, runners[i].ns[ROUNDS / 2],
               runners[i].ns[ROUNDS / 10], runners[i].ns[ROUNDS * 9 / 10],
               round_median(&runners[i]) / round_median(&runners[0]));
    }
}

/* A configuration of simt that is legal for 128x128x128. */
static inline void round_config(struct config *config, int splits)
{
    *config = least_config("simt");
    config_change(config,
                  "BM=32 BN=64 BK=16 WM=16 WN=32 TM=4 TN=4 STAGES=2 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8");
    config_set(config, "SPLIT_K", splits);
}

/* Writes a winner as in the files that ship; config NULL: cuBLAS won. */
static inline void round_winner(FILE *file, const struct device *device, const char *problem,
                                const struct config *config)
{
    char config_line[CONFIG_TEXT_MAX] = "cublas";
    if (config) config_format(config, config_line);
    struct problem of;
    if (problem_parse(problem, &of)) abort();
    /* Of a type with limits a winner without errors is none. These are stated, not measured: data_errors
     * measures. */
    static const char errors[] = "{\"componentwise\": 1e-7, \"rms\": 1e-7, \"max\": 1e-7}";
    fprintf(file,
            "{\"problem\": \"%s\", \"gpu\": \"%s\", \"arch\": %d, \"sm_count\": %d, \"config\": \"%s\", "
            "\"template_hash\": \"%016" PRIx64 "\", \"time_us\": 5, \"cublas_us\": 6, \"ratio\": 1.2, "
            "\"errors\": %s, \"rival_errors\": %s}\n",
            problem, device->gpu.name, device->gpu.arch, device->gpu.sm_count, config_line,
            config ? kernel_hash_of(config, &of, device->gpu.arch) : 0, errors, errors);
}

#endif
