/* template.h — the interface of a kernel template: name, parameters, rules, launch plan, which problems
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
#include "launch_plan.h"
#include "problem.h"
#include <stddef.h>

enum param_kind {
    PARAM_COMPILE, /* becomes -DNAME=value */
    PARAM_LAUNCH   /* becomes a kernel argument or a grid size; changing it needs no compilation */
};

/* What a parameter is about, whatever its name in a family (template_kind). */
enum param_role {
    ROLE_NAMED,
    ROLE_DETAIL, /* of the compiler */
    ROLE_VECTOR, /* the width of an access, which barely affects the kernel */
    ROLE_SIZE,   /* a size that grows with the tile's, of a warp or of a loop over k */
    ROLE_TILE,
    ROLE_THREAD,
    ROLE_LANES,
    ROLE_WARPS,
    ROLE_TEAMS,
    ROLE_STAGES,
    ROLE_BUFFERS,
    ROLE_SPLIT,
    ROLE_REDUCE /* who adds the parts of a split; from 2 on a cluster of so many blocks */
};

struct param {
    const char *name;
    enum param_kind kind;
    enum param_role role;
    int32_t least, most; /* hard range */
    const char *meaning; /* one line: its trade-off */
};

/* Resources of a configuration, known before compiling. */
struct resources {
    int threads;      /* per block */
    int smem_bytes;   /* dynamic shared memory per block, at least */
    int accumulators; /* least number of registers per thread for C */
};

/* The tile that a block computes at a time: rows and columns of C, and k. 0: no tile edge in that direction.
 */
struct tile {
    int m, n, k;
};

struct kernel_facts; /* outcome.h */
struct kernel_key;   /* kernel_key.h */
struct tiled;        /* kernel_templates/tiled.h */

/* Predicted time of a configuration, from arithmetic alone. */
struct prediction {
    double time_us;
    double compute_us, memory_us, overhead_us; /* parts of the model's time */
    int blocks_per_sm;                         /* occupancy */
    double waves;
};

/* Sources that NVRTC compiles: the template and the headers that it includes by name. Embedded in the
 * program. */
struct source_text {
    const char *name;
    const char *text; /* NUL-terminated */
};

/* Macros that a template's source needs besides its parameters and the op (kernel_key.h). A kernel gets only
 * what its source asks for, so that adding types or epilogues does not change the compilation of other
 * sources. */
enum {
    TEMPLATE_MACRO_TYPE = 1,     /* TYPE_SGEMM ..., and TYPE_A, TYPE_B, TYPE_C, TYPE_SUM: types of elements */
    TEMPLATE_MACRO_EPILOGUE = 2, /* EPILOGUE, a code of epilogue.h, where it is not 0 */
    TEMPLATE_MACRO_POINTERS = 4, /* POINTERS, which is 1, for arrays of the addresses of batch items */
};

/* For a non-empty problem and a legal configuration. facts may be NULL (before compiling: registers are
 * estimated). All candidates are sorted by the result, so about a million calls per second are needed.
 * kernel_templates has what families share. */
typedef struct prediction template_predict(const struct config *config, const struct problem *problem,
                                           const struct gpu *gpu, const struct kernel_facts *facts);

struct template
{
    const char *name;    /* "simt", "ladder_naive" */
    const char *summary; /* one line */
    const char *space;   /* "simt.conf", values worth trying (search/space.h); NULL: never searched */
    const struct param *params;
    int param_count;
    unsigned computes; /* bit t: its kernels compute type t (GEMM_TYPE_BIT) */
    bool one_arch;     /* its kernels use what only their architecture has: there is no PTX for later ones */
    bool invariant;    /* some of its configurations add in the order of invariant.h */
    const char *own;   /* the text that it was made of while the program runs (kernel_templates/own/own.h) */
    bool bare;         /* parameters and op are no macros, but arguments in its name expressions */
    unsigned macros;   /* TEMPLATE_MACRO_... */
    uint32_t optional; /* bit i: parameter i was added later; texts that lack it mean its least value */
    uint32_t silent;   /* bit i: so it is, and texts lack it at this value: what was stored before stays */
    /* [0] is the .cu, followed by the headers that it includes; a NULL name ends the list. CMake lists them:
     * sources_NAME of NAME.cu. Without sources nothing is compiled (template_is_library). */
    const struct source_text *sources;
    const struct tiled *tiled; /* check_prefix, resources and plan follow from it; NULL: they are its own */
    struct resources (*resources)(const struct config *config);
    /* NULL if the configuration is correct for problem on gpu, else why not (a constant sentence). problem
     * may be NULL: only what does not depend on it is checked. Makes no assumptions about the values. */
    const char *(*check)(const struct config *config, const struct problem *problem, const struct gpu *gpu);
    /* Optional, NULL if there is none: the same answer from the first `known` values in the order of params
     * alone. NULL unless a rule that needs only these values fails; then no completion is legal, and the
     * enumeration skips them all. Best implemented by one list of rules, each with the last parameter that it
     * needs: RULE(TN, WN % TN == 0, "...") is tested when known > index of TN; check() is this with all known
     * (template_check_all). */
    const char *(*check_prefix)(const struct config *config, int known, const struct problem *problem,
                                const struct gpu *gpu);
    /* Optional: a parameter whose value has hardly any effect with the others, and the value that a search
     * tries in its place; -1: there is none. From the first `known` values, as check_prefix; problem is not
     * NULL. Such a configuration is not listed where the other is; it is legal all the same. */
    int (*redundant)(const struct config *config, int known, const struct problem *problem, int32_t *instead);
    /* Fills in *plan for a legal configuration. */
    void (*plan)(const struct config *config, const struct problem *problem, struct launch_plan *plan);
    /* Optional: an operand, LAUNCH_A or LAUNCH_B, in the form that the kernels read, made once for many
     * products. Changes *product, a plan by plan(), so that it finds that form at LAUNCH_PREPARED, and fills
     * in *preparation, whose workspace it is. The form depends on the template and the operand alone: not on
     * the parameters, nor on the other operand. Returns false if this configuration has none. */
    bool (*prepare)(const struct config *config, const struct problem *problem, enum launch_operand operand,
                    struct launch_plan *product, struct launch_plan *preparation);
    const char *entry; /* of the main kernel, "ns::sgemm"; NULL: "gemm" */
    /* Optional: the kernels of the source that are C++ templates, as name expressions for the compiler:
     * "sgemm<128, 64>". Returns false if there is none of this number, or no room. */
    bool (*expression)(const struct kernel_key *key, int number, char *text, size_t room);
    struct tile (*tile)(const struct config *config); /* NULL: the parameters of ROLE_TILE are m, n and k */
    template_predict *predict;
    /* Optional: configurations to fall back on where nothing was measured, with the least value of each
     * vector width; each for any problem and GPU for which it is legal. Returns false if there are no
     * more. */
    bool (*plain)(int number, struct config *config);
};

#define TEMPLATES_MAX 64 /* rows */

/* One row per template, in the order of the search. CMake generates it from the list of families. */
extern const struct template *const templates[];
extern const size_t template_count;

/* Rows that were added while the program runs follow those of the table. A row stays, and must outlive the
 * process's use of it. template_at: of 0 to templates_all() - 1. Errors: E_BUSY, there are
 * TEMPLATES_ADDED_MAX. Thread-safe, but for two that add at once. */
#define TEMPLATES_ADDED_MAX 256
enum status template_add(const struct template *t);
size_t templates_all(void);
const struct template *template_at(size_t number);

/* Folders of families outside the source tree; their space files are there, too. NULL ends the list. */
extern const char *const template_folders[];

/* NULL if there is no template of that name. */
const struct template *template_find(const char *name);

/* Parameter index by name, -1 if the template lacks it. */
int template_param(const struct template *t, const char *name);

int template_source_count(const struct template *t);

/* A template without sources: its configurations are algorithms of NVIDIA's library, each for the problem
 * that it was proposed for. */
static inline bool template_is_library(const struct template *t)
{
    return !t->sources[0].name;
}

/* Configurations of one template that add the parts of a k alike: not at all, for nothing is split; by a
 * second kernel; by a tile's last block; or in clusters of any size. */
struct template_kind {
    const struct template *template;
    /* TEMPLATE_ADDS_NOTHING where ROLE_SPLIT is 1, whoever would add. Else the value of ROLE_REDUCE, at most
     * 2; 0 if there is no such parameter. */
    int reduce;
};
#define TEMPLATE_ADDS_NOTHING (-1)
struct template_kind template_kind(const struct config *config);
bool template_is_of_kind(const struct config *config, const struct template_kind *kind);

struct tile template_tile(const struct config *config);

/* True if the problem has a prepared operand, and the configuration, which is legal for it, reads the
 * prepared form: other products than those with a prepared operand take it longer. */
bool template_reads_prepared(const struct config *config, const struct problem *problem);

/* NULL if the first `known` values are within their parameters' ranges, else a sentence: for check_prefix. */
const char *template_check_ranges(const struct config *config, int known);

/* check() for a template that has check_prefix: check_prefix with all values known. */
const char *template_check_all(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu);

/* The type that its kernels compute for a problem that needs one: the same, else the first of the table that
 * satisfies it. Returns false if there is none. */
bool template_type(const struct template *t, enum gemm_type needed, enum gemm_type *computed);

/* The first type that its kernels compute. */
static inline enum gemm_type template_first_type(const struct template *t)
{
    return (enum gemm_type)__builtin_ctz(t->computes);
}

/* May its kernels compete for a problem of this type, with this epilogue, with pointers, or invariant?
 * check() refuses other problems. */
bool template_serves(const struct template *t, const struct problem *problem);

#endif
