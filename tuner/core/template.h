/* template.h — the interface of a kernel template: name, parameters, rules, launch geometry, which problems
 * it serves.
 *
 * A template is a .cu source whose parameters are -D macros. Its rules are in a file beside the kernel, which
 * is read by the kernel (static_assert) and by the host (check). Knows no CUDA, no database, and no family by
 * name: the table is declared here and defined outside of this layer. A program is linked with exactly one
 * definition of it, which CMake generates from the list in kernel_templates/CMakeLists.txt
 * (docs/adding_a_template.md).
 */
#ifndef GT_TEMPLATE_H
#define GT_TEMPLATE_H

#include "config.h"
#include "gpu.h"
#include "launch_block.h"
#include "launch_geometry.h"
#include "launch_plan.h"
#include "problem.h"
#include <stddef.h>

enum param_kind {
    PARAM_COMPILE, /* becomes -DNAME=value */
    PARAM_LAUNCH   /* becomes a kernel argument or a grid size; changing it needs no compilation */
};

/* How people say it (config_summary). A parameter of any but the first two roles is said in the words of that
 * role, together with those of the same role. */
enum param_role {
    ROLE_NAMED,  /* by its name, unless it has its least value */
    ROLE_DETAIL, /* left out */
    ROLE_VECTOR, /* left out, too: the width of an access, which hardly makes another kernel */
    ROLE_TILE,   /* "tile 128x256x16" */
    ROLE_THREAD, /* "thread 8x8" */
    ROLE_LANES,
    ROLE_WARPS, /* "warps 1x8" */
    ROLE_TEAMS,
    ROLE_STAGES,
    ROLE_BUFFERS,
    ROLE_SPLIT
};

struct param {
    const char *name;
    enum param_kind kind;
    enum param_role role;
    int32_t least, most; /* hard range */
    const char *meaning; /* one line: what it trades against what */
};

/* What a configuration needs, known before compiling. */
struct resources {
    int threads;      /* a block */
    int smem_bytes;   /* dynamic shared memory a block */
    int accumulators; /* registers a thread needs for C at least */
};

/* What a block computes at a time: rows and columns of C, steps of k. 0: nothing that sizes could straddle.
 */
struct tile {
    int m, n, k;
};

struct kernel_facts; /* outcome.h */

/* Predicted time of a configuration, from arithmetic alone. */
struct prediction {
    double time_us;
    double compute_us, memory_us, overhead_us; /* what the model saw as the parts */
    int blocks_per_sm;                         /* occupancy */
    double waves;
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

/* For a problem that is not empty and a legal configuration. facts may be NULL (before compiling: registers
 * are estimated). A million a second, since all candidates are sorted by it. kernel_templates/model has what
 * families share. */
typedef struct prediction template_predict(const struct config *config, const struct problem *problem,
                                           const struct gpu *gpu, const struct kernel_facts *facts);

struct template
{
    const char *name;    /* "simt", "ladder_naive" */
    const char *summary; /* one line */
    const char *space;   /* "simt.conf", values worth trying (search/space.h); NULL: never searched */
    const struct param *params;
    int param_count;
    enum gemm_type delivers; /* what its kernels compute */
    unsigned asks;           /* TEMPLATE_ASKS_... */
    uint32_t optional; /* bit i: a text without parameter i means its least value, for it came after others
                          had been kept */
    /* [0] is the .cu, then the headers that it includes; a NULL name ends them. CMake lists them:
     * sources_NAME of NAME.cu. */
    const struct source_text *sources;
    struct resources (*resources)(const struct config *config);
    /* NULL if the configuration is correct for problem on gpu, else why not (a constant sentence). problem
     * may be NULL: only what does not depend on it is checked. Never assumes that any value is sane. */
    const char *(*check)(const struct config *config, const struct problem *problem, const struct gpu *gpu);
    /* Optional, NULL if there is none: the same answer from the first `known` values in the order of params
     * alone. NULL unless a rule that needs only those already fails; then no completion is legal and
     * enumeration skips them all. Simplest from one list of rules that names the last parameter each needs:
     * RULE(TN, WN % TN == 0, "...") is tested when known > index of TN; check() is this with all known
     * (template_check_all). */
    const char *(*check_prefix)(const struct config *config, int known, const struct problem *problem,
                                const struct gpu *gpu);
    /* Fill *plan for a legal configuration. */
    void (*plan)(const struct config *config, const struct problem *problem, struct launch_plan *plan);
    /* Optional: *geometry says the same as plan and check for all problems with the op of problem on gpu.
     * False: no such numbers can, of which only align is filled in; what wins serves its own problem alone.
     */
    bool (*geometry)(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                     struct launch_geometry *geometry);
    struct tile (*tile)(const struct config *config); /* NULL: the parameters of ROLE_TILE are m, n and k */
    template_predict *predict;
    /* Optional: configurations to fall back on where nothing was measured, for any problem and GPU that they
     * are legal for, with the least value of each vector width. False: there are no more of them. */
    bool (*plain)(int number, struct config *config);
    /* Optional: what the bytes of a plan's argument mean. NULL: the kernels are not exported, and what wins
     * without a geometry is not, either. */
    const struct launch_block *block;
};

#define TEMPLATES_MAX 64 /* rows */

/* One row a template, in the order of the search; made by CMake from the list of families. */
extern const struct template *const templates[];
extern const size_t template_count;

/* Folders of families from outside the tree, where their space files are, too; NULL ends them. */
extern const char *const template_folders[];

/* NULL if there is none of that name. */
const struct template *template_find(const char *name);

/* Parameter index by name, -1 if the template lacks it. */
int template_param(const struct template *t, const char *name);

int template_source_count(const struct template *t);

struct tile template_tile(const struct config *config);

/* NULL if the first `known` values are within their parameters' ranges, else a sentence: for check_prefix. */
const char *template_check_ranges(const struct config *config, int known);

/* check() of a template that has check_prefix: that with all values known. */
const char *template_check_all(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu);

/* May its kernels compete for a problem of that type? check() refuses the others. */
bool template_serves(const struct template *t, const struct problem *problem);

#endif
