/* launch_plan.h — how a configuration runs a problem, in plain data: kernels, grids, the argument and the
 * parts of it that a launch fills in, workspace. Knows no template and no CUDA.
 *
 * The argument is opaque: one block of bytes that every kernel of the plan takes by value. The plan gives the
 * offsets of pointers, scalars and k; launch_walk.h writes only these for each launch. Tensor maps (TMA) are
 * only described here; the code that loads the kernel encodes them (launcher.h), and sets maps_items and
 * maps_k. Exported headers contain this file, with other names (tools/export/launch_text.sh): C99 that is
 * C++, too.
 */
#ifndef GT_LAUNCH_PLAN_H
#define GT_LAUNCH_PLAN_H

#include "gemm_type.h"
#include "kernel_parameters.h"
#include "operand.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LAUNCH_KERNELS_MAX  3
#define LAUNCH_ARGUMENT_MAX 1536 /* bytes: eight tensor maps and 512 more; the driver takes 4096 */
#define LAUNCH_VIEWS_MAX    8
#define LAUNCH_VIEW_BYTES   128 /* of a tensor map in the argument, at a multiple of 64 */

/* Offset of a slot that the argument lacks: a value written there lies after the argument and is not
 * passed. */
#define LAUNCH_NOWHERE LAUNCH_ARGUMENT_MAX

/* One kernel launch: an entry point of the compiled module. */
struct kernel_launch {
    const char *entry;  /* "gemm_maxima", "gemm_pack", "gemm" or "gemm_reduce" */
    unsigned grid[3];   /* grid[2]: the items of a launch, one block deep each, unless walks_items */
    unsigned last_slab; /* replaces grid[0] for the last slab of k, if k is computed in slabs */
    unsigned threads;
    unsigned smem_bytes;
    unsigned cluster[3];    /* size in blocks along x, y, z; all 0: no clusters */
    bool cluster_at_launch; /* false: the kernel declares its cluster itself */
    bool walks_items;       /* grid[2] stays as planned: the blocks find their items by slots.items */
    bool dependent;   /* may begin while the kernel before it on the stream still runs: it waits for that
                         one itself (programmatic dependent launch) */
    uint16_t zero_at; /* an int of the argument that this kernel gets as 0; 0: none */
    struct kernel_parameters own;
};

/* Where a launch writes into the argument: offsets in bytes, LAUNCH_NOWHERE for values that the argument
 * lacks. */
struct launch_slots {
    uint16_t at[OPERANDS], workspace;   /* pointers */
    uint16_t alpha_device, beta_device; /* pointers; null: use alpha and beta */
    uint16_t alpha, beta;               /* floats */
    uint16_t k;                         /* int: k of this launch, if k is computed in slabs */
    uint16_t items;                     /* int: items of this launch, for kernels with walks_items */
};

/* What a launch has addresses of: the operands of the product, by their numbers, and memory beside them. */
enum launch_operand {
    LAUNCH_A = OPERAND_A,
    LAUNCH_B = OPERAND_B,
    LAUNCH_C = OPERAND_C,
    LAUNCH_WORKSPACE = OPERANDS,
    LAUNCH_PREPARED, /* the form of A or B that was made before, of a plan by template.prepare */
    LAUNCH_OPERANDS
};

#define TENSOR_RANK_MAX 5

/* Description of a tensor map of an operand. Axis 0 is contiguous. Elements beyond the extents are read as 0
 * and not written. */
struct tensor_view {
    enum launch_operand operand;
    enum element element;
    int rank;                              /* 1 to 5 */
    int64_t offset_bytes;                  /* of the first element from the operand's pointer */
    int64_t extent[TENSOR_RANK_MAX];       /* elements */
    int64_t stride_bytes[TENSOR_RANK_MAX]; /* from one element to the next; unused for axis 0 */
    unsigned box[TENSOR_RANK_MAX];         /* elements per copy, at most 256 */
    unsigned swizzle_bytes;                /* 32, 64 or 128; 0: none */
    int k_axis, batch_axis;                /* set to the k and the items of a launch; -1: none */
    uint16_t at;                           /* offset in the argument */
};

/* launch_walk.h iterates over its launches. */
struct launch_plan {
    struct kernel_launch kernel[LAUNCH_KERNELS_MAX];
    int kernels;  /* 0: nothing to do (M, N or batch is 0) */
    int first;    /* of the kernels that the configuration's plain plan has, for each of which a function
                     is bound: those before it are left out (template.prepare) */
    int counters; /* 32-bit words at the start of the workspace, 0 before the first launch; every
                     launch leaves them 0 */
    int64_t workspace_bytes; /* for the largest batch slice; only its counters need initial values */
    int64_t batch, k;        /* of the problem */
    int64_t
        batch_per_launch; /* at most 65535; launch ceil(batch / this) times, pointers moved by the steps */
    int64_t k_slab; /* above 0: k is computed in slabs of this size, one after the other; each but the first
                       adds to C, and the walk sets the slot k */
    int64_t batch_step_bytes[LAUNCH_OPERANDS]; /* from one item to the next; 0 for the workspace */
    int64_t k_step_bytes[2];                   /* of A, B: from one k to the next */
    struct launch_slots slots;
    int64_t maps_items, maps_k; /* of launches whose maps the argument holds; 0 items: of none */
    int views, argument_bytes;  /* used part of the arrays that follow */
    struct tensor_view view[LAUNCH_VIEWS_MAX];
    unsigned char argument[LAUNCH_ARGUMENT_MAX]; /* with 0 in the slots, and in views without maps */
};

/* A plan that launches nothing. */
static inline void launch_plan_clear(struct launch_plan *plan)
{
    memset(plan, 0, offsetof(struct launch_plan, view)); /* the rest is long, and candidates are many */
}

/* True if a launch of the kernel needs attributes besides grid, threads and shared memory. */
static inline bool launch_has_attributes(const struct kernel_launch *kernel)
{
    return kernel->cluster_at_launch || kernel->dependent;
}

#endif
