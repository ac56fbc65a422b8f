/* SPDX-License-Identifier: MIT */
/* winner_lookup.h — the part that is common to all headers written by `tune export --header`: shapes, winners
 * and their look-up. C99 and C++; needs no library.
 *
 *     const struct gt_winner_gpu *gpu = gt_winner_gpu_find(&gt_NAME, "NVIDIA H200", 90, 132);
 *     struct gt_winner_shape shape = gt_winner_shape_make(0, 0, m, n, k);
 *     struct gt_winner_match match;
 *     shape.adds_to_c = beta != 0;
 *     if (gt_winner_find(gpu, &shape, &match)) puts(match.winner->config);
 *
 * A product is row-major C[m,n] = alpha * op(A) * op(B) + beta * C. The type of a shape says of which
 * elements, and how exact it must be; gt_winner_shape_make asks for strict FP32. Column-major callers pass n
 * for m and m for n, B as A and A as B, with their ops and leading dimensions.
 */
#ifndef GT_WINNER_LOOKUP
#define GT_WINNER_LOOKUP 8 /* of what follows: headers with another one do not go together */

#include <stddef.h>
#include <stdint.h>

#if defined(GT_WINNERS_STATIC)
#define GT_WINNERS_API static inline
#elif defined(__GNUC__) && defined(__ELF__)
#define GT_WINNERS_API __attribute__((visibility("hidden")))
#else
#define GT_WINNERS_API
#endif

#include "winner_types.h" /* enum gt_winner_type, GT_WINNER_TYPES */

/* A: m x k with lda >= k, or if trans_a: k x m with lda >= m. B: k x n, or if trans_b: n x k. C: m x n.
 * Elements, not bytes. Item i of the batch starts i * stride_x elements after the first: with a stride_a or
 * stride_b of 0 all items share the matrix. */
struct gt_winner_shape {
    int trans_a, trans_b;
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    int64_t batch;
    int64_t stride_a, stride_b, stride_c;
    int adds_to_c; /* 1: beta is not 0, C is read as well as written, which takes longer */
    int type;      /* an enum gt_winner_type: what is needed */
};

struct gt_winner {
    int32_t m, n, k, batch;               /* measured for */
    int32_t type;                         /* an enum gt_winner_type: measured for */
    int32_t op;                           /* 2 * trans_a + trans_b */
    int32_t adds_to_c;                    /* as in struct gt_winner_shape */
    int32_t tight;                        /* 1: with rows without padding */
    int32_t shared;                       /* matrices that the items of a batch share: 1 A, 2 B */
    int32_t align;                        /* of the operands it was measured with: gt_winner_align */
    int32_t needs;                        /* the least alignment that it takes, in the same form */
    int32_t most[3];                      /* m, n and k that it takes with the others as measured */
    float log_m, log_n, log_k, log_batch; /* gt_winner_log */
    float time_us;                        /* one call; predicted: an estimate */
    float ratio, ratio_low, ratio_high; /* time of cuBLAS over that of the fastest kernel, and its interval: 1
                                           or less with "cublas"; 0: not compared */
    int32_t kernel;     /* number of its gt_winner_planned; -1: none was exported, or cuBLAS is the fastest */
    int32_t source;     /* number of its gt_winner_source */
    const char *config; /* "simt BM=128 ...", or "cublas": no kernel was faster, and none was pinned */
    const char *when;   /* measured or predicted, UTC */
};

/* What winners were measured with. */
struct gt_winner_source {
    int predicted; /* 1: by the model, nothing was measured */
    int cold;      /* 1: operands not in the L2 cache */
    const char *driver, *nvrtc, *cublas;
};

struct gt_winner_planned; /* in headers with kernels: how a winner is launched */

/* The winners of one GPU, by type, op, m, n, k, batch, alignment, adds_to_c and what items share. */
struct gt_winner_gpu {
    const char *name; /* as the driver gives it */
    int32_t arch;     /* compute capability, 10 * major + minor */
    int32_t sm_count;
    int32_t substitute; /* 1: asked for another GPU, which has no table of its own: nothing here is exact */
    const struct gt_winner *winners;
    int32_t count; /* of winners */
    int32_t
        first[4 * GT_WINNER_TYPES + 1]; /* of type t and op i: first[4 * t + i] .. first[4 * t + i + 1] - 1 */
    uint32_t slot_mask;                 /* slots - 1 */
    const uint32_t *slots;              /* hash table: number of a winner + 1; 0: empty */
    const struct gt_winner_planned *plans;
    const struct gt_winner_source *sources;
};

/* One exported header. */
struct gt_winner_set {
    const char *generator; /* version of gemmtune */
    const char *generated; /* UTC */
    int32_t gpu_count;
    const struct gt_winner_gpu *gpus;
    const struct gt_winner_gpu *substitutes; /* the same ones, for other GPUs */
};

struct gt_winner_match {
    const struct gt_winner *winner;
    int exact;      /* 1: found for this shape, alignment, adds_to_c and what items share on this GPU (its
                       source says how); 0: for the nearest that fits, or on another GPU */
    float distance; /* to that shape: gt_winner_distance */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Any arguments do no harm: with NULL, negative sizes, or some beyond what a kernel or an address can hold
 * (2^31 - 2^16 for m, n, k and batch; 2^31 for a leading dimension, that is no less than its row; 2^60
 * elements for an operand; a batch of overlapping C) there is no table and no winner, and none fits. */

/* A shape without padding, one item, beta = 0, in strict FP32. */
GT_WINNERS_API struct gt_winner_shape gt_winner_shape_make(int trans_a, int trans_b, int64_t m, int64_t n,
                                                           int64_t k);

/* Widest vectors (1, 2 or 4 elements; 8 of 16 bits) that A, B and C allow if they start at multiples of 16
 * bytes: A in the lowest four bits, B in the next, then C. */
GT_WINNERS_API int32_t gt_winner_align(const struct gt_winner_shape *shape);

/* The table for a GPU: by its name as the driver gives it, architecture and number of multiprocessors; else,
 * as a substitute, one of the same architecture, of the same name or with sm_count nearest to its own; else
 * of the latest architecture before it. NULL if there is none. */
GT_WINNERS_API const struct gt_winner_gpu *gt_winner_gpu_find(const struct gt_winner_set *set,
                                                              const char *name, int arch, int sm_count);

/* 1 if what won for one type (an enum gt_winner_type) may answer for another that is needed. */
GT_WINNERS_API int gt_winner_answers(int tuned, int needed);

/* The winner found for this very shape with operands so aligned, of its type or else the fastest of one that
 * answers it and has the same rival; NULL if there is none, or none on this GPU. What won in strict FP32
 * is not exact for TF32GEMM: cuBLAS, which it was raced against in FP32, may be faster there. As the nearest
 * it may be found all the same. */
GT_WINNERS_API const struct gt_winner *gt_winner_exact(const struct gt_winner_gpu *gpu,
                                                       const struct gt_winner_shape *shape);

/* How far the shape is from what a winner was measured for: the root of the summed squares of log2 of the
 * ratio of m, n, k and batch, 1 where one size has doubled; to that 0.25 for each operand that is aligned in
 * another way, 0.02 each for another type, for padding that only one of them has, for a beta that is 0 in
 * only one of them, and for a matrix that items share in only one of them. */
GT_WINNERS_API float gt_winner_distance(const struct gt_winner *winner, const struct gt_winner_shape *shape);

/* 1 if the winner would suit the shape: it has the same op and a type that answers the shape's, the shape is
 * aligned as the winner needs, and each of m, n and k is within what its rules allow; for an accuracy class k
 * is no smaller than the winner's. They may still refuse several sizes together, for their workspace, say.
 * "cublas" fits everything of its op and type. Launches are for the shape that a winner was measured for: see
 * gt_winner_plan_make in a header with kernels. */
GT_WINNERS_API int gt_winner_fits(const struct gt_winner *winner, const struct gt_winner_shape *shape);

/* The winner that fits the shape and is nearest to it. NULL if there is none. */
GT_WINNERS_API const struct gt_winner *
gt_winner_nearest(const struct gt_winner_gpu *gpu, const struct gt_winner_shape *shape, float *distance);

/* The exact winner, else the nearest. 0 if none fits the shape: then match->winner is NULL. */
GT_WINNERS_API int gt_winner_find(const struct gt_winner_gpu *gpu, const struct gt_winner_shape *shape,
                                  struct gt_winner_match *match);

#ifdef __cplusplus
}
#endif

#elif GT_WINNER_LOOKUP != 8
#error "headers exported by different versions of gemmtune do not go together: export them again"
#endif
