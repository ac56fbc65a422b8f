/* template.h — what the program knows of a kernel template: name, parameters, rules, launch geometry, which
 * problems it serves.
 *
 * A template is a .cu text whose parameters arrive as -D macros. Legality lives beside the kernel: rules
 * files are read by the kernel (static_assert) and by the host (check). Knows no CUDA, no database, and no
 * family by name: the table is declared here and defined outside of this layer, and a program is linked with
 * exactly one definition of it, kernel_templates/templates.c.
 */
#ifndef GT_TEMPLATE_H
#define GT_TEMPLATE_H

#include "config.h"
#include "gemm_args.h"
#include "gpu.h"
#include "problem.h"
#include <stddef.h>

enum param_kind {
    PARAM_COMPILE, /* becomes -DNAME=value */
    PARAM_LAUNCH   /* becomes a kernel argument or a grid size; changing it needs no compilation */
};

struct param {
    const char *name;
    enum param_kind kind;
    int32_t least, most; /* hard range */
    const char *meaning; /* one line: what it trades against what */
};

/* What a configuration needs, known before compiling. */
struct resources {
    int threads;      /* a block */
    int smem_bytes;   /* dynamic shared memory a block */
    int accumulators; /* registers a thread needs for C at least */
};

#define LAUNCH_KERNELS_MAX 3

/* One kernel launch: an entry point of the compiled module, with the same struct gemm_args. */
struct kernel_launch {
    const char *entry;  /* "gemm_pack", "gemm" or "gemm_reduce" */
    unsigned grid[3];   /* grid[2] is the batch slice */
    unsigned last_slab; /* in place of grid[0] for the last slab of k, if k goes in slabs */
    unsigned threads;
    unsigned smem_bytes;
    unsigned cluster; /* blocks along y that run together, as the kernel's text says: nothing to tell a
                         launch; 0: no clusters */
};

/* How a configuration runs a problem: launch_walk.h goes through the launches of it. */
struct launch_plan {
    struct kernel_launch kernel[LAUNCH_KERNELS_MAX];
    int kernels;              /* 0: nothing to do (M, N or batch is 0) */
    struct gemm_args args;    /* everything but the pointers, alpha and beta filled in */
    int64_t workspace_bytes;  /* for the largest batch slice; the first 4 * args.counters of them are zero at
                                 first, the rest may hold anything */
    int64_t batch_per_launch; /* at most 65535; launch ceil(batch / this) times, pointers moved by the
                                 strides */
    int64_t k_slab; /* above 0: k is computed in slabs of so many, one after the other, each but the first
                       adding to C; then args.k is for the walk to fill in */
};

/* Texts that NVRTC is given: the template and the headers it includes by bare name. Embedded in the program.
 */
struct source_text {
    const char *name;
    const char *text; /* NUL-terminated */
};

/* What a template's text wants defined beside its parameters and the op (kernel_key.h). A kernel is compiled
 * for what its text asks, so that texts which ask for nothing compile to the same whatever there is. */
enum {
    TEMPLATE_ASKS_TYPE = 1,     /* TYPE_SGEMM ..., and TYPE_A, TYPE_B, TYPE_C, TYPE_SUM: types of elements */
    TEMPLATE_ASKS_EPILOGUE = 2, /* EPILOGUE */
};

struct template
{
    const char *name;        /* "simt", "ladder_naive" */
    const char *summary;     /* one line */
    const char *source_name; /* "simt.cu" */
    bool tuned;              /* false: shown by the ladder only, never searched */
    const struct param *params;
    int param_count;
    enum gemm_type delivers; /* what its kernels compute */
    unsigned asks;           /* TEMPLATE_ASKS_... */
    uint32_t optional; /* bit i: a text without parameter i means its least value, for it came after others
                          had been kept */
    const struct source_text *sources; /* [0] is the .cu, the rest its headers */
    int source_count;
    struct resources (*resources)(const struct config *config);
    /* NULL if the configuration is correct for problem on gpu, else why not (a constant sentence). problem
     * may be NULL: only what does not depend on it is checked. Never assumes that any value is sane. */
    const char *(*check)(const struct config *config, const struct problem *problem, const struct gpu *gpu);
    /* Optional, NULL if there is none: the same answer from the first `known` values in the order of params
     * alone. NULL unless a rule that needs only those already fails; then no completion is legal and
     * enumeration skips them all. Simplest from one list of rules that names the last parameter each needs:
     * RULE(TN, WN % TN == 0, "...") is tested when known > index of TN; check() is this with all known. */
    const char *(*check_prefix)(const struct config *config, int known, const struct problem *problem,
                                const struct gpu *gpu);
    /* Fill *plan for a legal configuration. */
    void (*plan)(const struct config *config, const struct problem *problem, struct launch_plan *plan);
};

#define TEMPLATES_MAX 64 /* rows */

extern const struct template *const templates[];
extern const size_t template_count;

/* NULL if there is none of that name. */
const struct template *template_find(const char *name);

/* Parameter index by name, -1 if the template lacks it. */
int template_param(const struct template *t, const char *name);

/* NULL if the first `known` values are within their parameters' ranges, else a sentence: for check_prefix. */
const char *template_check_ranges(const struct config *config, int known);

/* May its kernels compete for a problem of that type? check() refuses the others. */
bool template_serves(const struct template *t, const struct problem *problem);

#endif
