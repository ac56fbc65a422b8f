/* tiled.h — families whose blocks compute tiles of C. A row says which parameter is what, and what a block
 * needs; the checks (tiled_check.c), the workspace and the launches (tiled_plan.c) follow from it. What only
 * one family refuses or launches are functions of its own.
 */
#ifndef GT_TILED_H
#define GT_TILED_H

#include "template.h"

/* Which parameter is what: its index and 1 (AT of family_template.h); 0: the family has none. */
struct tiled_at {
    int8_t sized;      /* the last one that the sizes of a block depend on */
    int8_t bm, bn, bk; /* tile */
    int8_t side;       /* 0: few rows of C, and B is streamed; 1: few columns, and A is */
    int8_t few;        /* how many at most */
    int8_t warps_k;    /* teams that divide each BK */
    int8_t swap;       /* B^T is the left operand */
    int8_t vc;         /* elements an access to C, where a second kernel adds parts */
    int8_t min_blocks, group, split_k, reduce;
    int8_t pack; /* 1: A, 2: B, 3: both are copied to the workspace first */
    /* Blocks walk from tile to tile, SMS * MIN_BLOCKS of them; with WALK 0 there is a block for each. */
    int8_t walk, sms;
    int8_t pdl, ask; /* gt_early_args.h */
};

/* A value above `above` needs an architecture. */
struct tiled_need {
    int8_t at;
    int32_t above;
    int arch;
    const char *why;
};
#define TILED_NEEDS_MAX 3

/* A parameter that is the width of an access. */
enum tiled_operand { TILED_A, TILED_B, TILED_C, TILED_STREAMED, TILED_SMALL };
struct tiled_vector {
    int8_t at;
    enum tiled_operand of;
    const char *why;
};
#define TILED_VECTORS_MAX 3
#define WIDER(name, operand, what)                                                                           \
    {                                                                                                        \
        P_##name + 1, TILED_##operand, #name " is wider than " what " is aligned"                            \
    }

/* Where a vector may end. */
enum tiled_ends {
    ENDS_WITH_LINES, /* lines are multiples of it (problem_align_a) */
    ENDS_ALONG_K,    /* the same, but for lines along k and those of C */
    ENDS_ANYWHERE    /* the kernel takes care of lines that end within one */
};

/* How operands reach shared memory. */
enum tiled_arrival {
    BY_THREADS,
    BY_MAPS,  /* tensor maps, by which packed operands are read, too */
    AS_PIECES /* kernels before the product have cut them up */
};

/* What PACK makes of an operand. */
enum tiled_pack {
    PACK_OWN,    /* the family packs */
    PACK_LINES,  /* as it lies, with lines that begin at multiples of 128 bytes (gt_workspace16.h) */
    PACK_ALONG_K /* lines of k (gt_workspace32.h) */
};

struct tiled_sizes {
    int threads, smem_bytes; /* of a block, at least */
    int sums;                /* registers of a thread for C */
    int registers;           /* that a thread cannot do without; 0: few */
    int m, n;                /* of C, a block's tile */
    int k;                   /* k is cut at multiples of it */
    int64_t part_floats;     /* of a tile where k is cut */
    int argument_bytes; /* of the kernels' argument, with what follows struct gemm_args; 0: nothing does */
    /* These for a problem: */
    int64_t k_slab;      /* k is computed in slabs of so much, one after the other; 0: at once */
    double before_bytes; /* of an item's workspace that kernels before the product fill, without PACK's */
    int64_t words;       /* of an item in the array of counters, besides a counter a tile */
};

struct tiled {
    struct tiled_at at;
    const char *computes; /* why problems of other types are refused */
    struct {
        int least, most;
        const char *why;
    } arch;
    struct tiled_need needs[TILED_NEEDS_MAX];
    struct tiled_vector vectors[TILED_VECTORS_MAX];
    enum tiled_ends ends;
    bool finds_items;      /* the kernel itself looks where the items of arrays of pointers lie */
    const char *few[2];    /* why not, with SIDE 0 and 1 */
    const char *tiles;     /* why not so many; NULL: as many as there are */
    const char *smem;      /* why not so much; NULL: it depends on k, and the family asks (refuse_last) */
    const char *registers; /* why not so many */
    bool quarters;         /* warps have their registers in the quarter of an SM that they run in */
    bool sizes_first;      /* the order of refusals: shared memory before needs, SMS last */
    int reduce; /* where there is no REDUCE, its value: 0: a second kernel adds parts, 1: the last block */
    enum tiled_arrival arrival;
    enum tiled_pack pack;
    uint16_t map_at[2], early_at; /* in the argument: maps of the left and the right operand; PDL and ASK */
    int64_t parts_bytes_max;      /* of workspace, of an item, */
    const char *parts;            /* and why not more */
    int64_t beside_floats;        /* a tile that count as workspace of an item, beside its parts */
    int64_t item_floats; /* items of a workspace with operands begin at multiples of it; 0: anywhere */

    /* The first rule that the first `known` values break, else NULL (family_template.h). The problem may be
     * NULL. */
    const char *(*rules)(const struct config *config, int known, const struct problem *problem);
    /* For a configuration that keeps the rules, the least values in place of those that are not known.
     * Without a problem (NULL) only what does not depend on it. */
    struct tiled_sizes (*sizes)(const struct config *config, const struct problem *problem);
    /* What only this family refuses, before the widths of accesses. NULL: nothing. gpu may be NULL. */
    const char *(*refuse)(const struct config *config, int known, const struct problem *problem,
                          const struct gpu *gpu);
    /* The same after all others; problem may be NULL, too. */
    const char *(*refuse_last)(const struct config *config, int known, const struct problem *problem,
                               const struct gpu *gpu);
    /* What only this family launches: adds kernels before *product, and views, and changes both. NULL:
     * nothing. */
    void (*launch)(const struct config *config, const struct problem *problem, struct launch_plan *plan,
                   struct kernel_launch *product);
};

/* The value of a parameter of the row; `absent` without one. */
#define TILED_VALUE(t, slot, absent, config) ((t)->at.slot ? (config)->value[(t)->at.slot - 1] : (absent))

/* Blocks of a cluster that adds the parts of a k; 0: no cluster does. */
static inline int tiled_cluster(const struct tiled *t, const struct config *config)
{
    const int reduce = TILED_VALUE(t, reduce, t->reduce, config);
    return reduce > 1 ? reduce : 0;
}

/* The widest access to an operand that a row allows; side: of TILED_STREAMED and TILED_SMALL. */
int tiled_align(const struct tiled *t, const struct problem *problem, enum tiled_operand operand, int side);

/* Bytes of an item's operands that PACK copies. In floating point: the largest problems pass 2^63. */
double tiled_pack_bytes(const struct tiled *t, int pack, const struct problem *problem);

/* PACK without the operands that can be read as they lie. */
int32_t tiled_unpacked(const struct tiled *t, const struct config *config, const struct problem *problem);

/* For models: blocks of all items, parts of k and the k of each, and SMs that blocks can fill (clusters do
 * not fill all). */
struct tiled_grid {
    double blocks, splits, k, sms;
};
struct tiled_grid tiled_grid(const struct config *config, const struct problem *problem,
                             const struct gpu *gpu);

/* Members of struct template, for a template with a row. */
const char *tiled_check_prefix(const struct config *config, int known, const struct problem *problem,
                               const struct gpu *gpu);
struct resources tiled_resources(const struct config *config);
void tiled_plan(const struct config *config, const struct problem *problem, struct launch_plan *plan);

#endif
