/* nearest.h — finds measured problems that are similar to a given one, and estimates their winners' times for
 * it.
 *
 * Plain arithmetic over struct winner_store; knows neither GPU nor database.
 */
#ifndef GT_NEAREST_H
#define GT_NEAREST_H

#include "winner_store.h"

#define NEAREST_MAX    16
#define NEAREST_RADIUS 1.5 /* beyond it, winners are no guide: one size has nearly tripled */

struct neighbour {
    const struct stored_winner *winner;
    double distance; /* of the shapes, plus 0.1 for times with a hot cache; includes waves once known */
    double time_us;  /* expected time of its configuration, or of cuBLAS, for the problem */
    bool bucket; /* tuned for the least M from the problem's on, below twice that, and alike otherwise: its
                    winner answers, whatever is expected of others, so that the M that were tuned divide
                    all M into ranges */
};

/* Finds the winners of this GPU within the radius that were measured and judged exactly, and whose
 * configuration is legal for the problem and for operands aligned to `alignment` bytes; nearest first, at
 * most NEAREST_MAX. decides: of types whose race was against the problem's own rival (gemm_type_decides),
 * or else of the others that answer. The distance includes the difference in how full the last wave is. Reads
 * only near winners from the database. Errors: E_MEMORY. */
enum status nearest_find(struct winner_store *store, const struct problem *problem, int alignment,
                         bool decides, struct neighbour neighbours[NEAREST_MAX], int *count);

/* The problem with leading dimensions, or batch strides, that allow no vector access wider than the alignment
 * in bytes. A template's check of it is then valid for the problem with operands of that alignment. */
struct problem nearest_as_aligned(const struct problem *problem, int alignment);

/* NULL if the configuration may be used for the problem with such operands, else the reason: a rule, more
 * workspace than store->workspace_bytes, or an exclusion. */
const char *nearest_illegal(const struct winner_store *store, const struct config *config,
                            const struct problem *problem, int alignment);

/* True if the configuration (NULL: cuBLAS) was timed for `tuned`, whose operand was prepared, without work
 * that the problem, which has none prepared, needs; or if it is no longer legal there. What reads no prepared
 * operand computes both alike. */
bool nearest_saves_work(const struct gpu *gpu, const struct problem *tuned, const struct config *config,
                        const struct problem *problem);

/* The expected time of cuBLAS for another problem, in the arithmetic of the winner's race. 0: there was no
 * cuBLAS in the race. */
double nearest_cublas_us(const struct gpu *gpu, const struct stored_winner *winner,
                         const struct problem *problem);

#endif
