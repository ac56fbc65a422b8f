/* describe.h — the description of an own kernel: what it computes, its parameters, its rules and how it is
 * launched, read from the comments at the head of its source, or from a file beside it. docs/own-kernels.md
 * has the language.
 *
 * Knows no file and no GPU. A description is read once, and then evaluated for configurations and problems
 * (own.c).
 */
#ifndef GT_DESCRIBE_H
#define GT_DESCRIBE_H

#include "config.h"
#include "expression.h"
#include "launch_plan.h"
#include "status.h"

#define DESCRIBE_RULES_MAX  64
#define DESCRIBE_VALUES_MAX 64
#define DESCRIBE_WHY_MAX    220

/* What an expression may use besides parameters, in this order, from CONFIG_PARAMS_MAX on. */
enum own_name {
    OWN_M,
    OWN_N,
    OWN_K,
    OWN_BATCH,
    OWN_LDA,
    OWN_LDB,
    OWN_LDC,
    OWN_STRIDE_A,
    OWN_STRIDE_B,
    OWN_STRIDE_C,
    OWN_TRANS_A, /* 0 or 1 */
    OWN_TRANS_B,
    OWN_NAMES
};

enum own_argument_kind {
    OWN_INTEGER, /* the value of an expression, in 4 or 8 bytes, as the kernel declares it */
    OWN_A,
    OWN_B,
    OWN_C,
    OWN_WORKSPACE,
    OWN_ALPHA, /* float */
    OWN_BETA
};

struct own_argument {
    enum own_argument_kind kind;
    int integer; /* OWN_INTEGER: its number in struct description */
};

/* One launch of a call, in their order. */
struct own_launch {
    char entry[256]; /* "ns::sum<BM, TYPE_C>": a name expression with the names of parameters */
    char name[128];  /* "ns::sum" */
    bool is_template;
    int line;
    struct expression grid[3], block[3], cluster[3], shared; /* steps 0: 1 each, and 0 bytes */
    struct own_argument argument[KERNEL_PARAMETERS_MAX];
    int arguments;
};

struct own_rule {
    struct expression holds;
    bool only; /* which problems it serves, rather than what is correct */
    char why[DESCRIBE_WHY_MAX];
};

struct description {
    char file[64];  /* for messages */
    unsigned types; /* GEMM_TYPE_BIT */
    bool op[2][2];  /* of TRANS_A, TRANS_B */
    char param[CONFIG_PARAMS_MAX][32];
    int params;
    int32_t value[CONFIG_PARAMS_MAX][DESCRIBE_VALUES_MAX]; /* worth trying */
    int values[CONFIG_PARAMS_MAX];
    struct own_rule rule[DESCRIBE_RULES_MAX];
    int rules;
    struct expression registers, workspace, tile[3], integer[KERNEL_PARAMETERS_MAX];
    int integers, tiles; /* tiles: 0 or 3 */
    struct own_launch launch[LAUNCH_KERNELS_MAX];
    int launches;
    const char *name[CONFIG_PARAMS_MAX + OWN_NAMES]; /* of expressions; NULL: none */
};

/* Reads a description. text: that of a source whose comments have one at a line that begins with
 * "// gemmtune:", or, if beside, of a file that consists of it. bare: NULL, or malloc'ed: what of the text a
 * kernel's identity depends on, without comments and without the values of parameters. Errors: E_INPUT with
 * file, line, column and what was expected; E_ABSENT, the source has none; E_MEMORY. */
enum status describe_read(const char *file, const char *text, bool beside, struct description *d,
                          char **bare);

static inline struct expression_names describe_names(const struct description *d)
{
    return (struct expression_names){.name = d->name, .count = CONFIG_PARAMS_MAX + OWN_NAMES};
}

#endif
