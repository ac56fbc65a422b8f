/* invariant.h — the one order of additions of an invariant problem (problem.h): it depends on N and K alone,
 * so that whichever kernel and M it is, an element of C is the same sum. How the 16 products of an
 * instruction are added is the GPU's.
 *
 *     k:   | 0 ... part_k - 1 | part_k ... |   ...   |      each part in the order of k, 16 at a time, in one
 *               sum 0      +     sum 1     +   ...          accumulator; the sums in the order of parts
 *
 * Families whose kernels can add so say it in their row (template.h, invariant), and check_order (split_k.h)
 * leaves those of their configurations that do.
 */
#ifndef GT_INVARIANT_H
#define GT_INVARIANT_H

#include <stdint.h>

/* Parts begin at multiples of it. */
#define INVARIANT_UNIT 64
/* So many blocks of so many columns of C each are enough, where C has few rows. Where it has many, each part
 * costs the time that its sums take: 1536x1024x4096 in eight parts takes three times the time of one. */
#define INVARIANT_COLUMNS 16
#define INVARIANT_BLOCKS  64
/* The blocks of a cluster, which need no workspace, whatever M is. */
#define INVARIANT_PARTS_MAX 8
/* K over the number of parts is at least this: shorter parts end before their copies have reached their
 * speed. */
#define INVARIANT_PART_K_LEAST 1024

/* The least power of two that gives INVARIANT_BLOCKS, within the two limits. */
int invariant_parts(int64_t n, int64_t k);

/* k of all parts but the last, which is not empty; a multiple of INVARIANT_UNIT. */
int64_t invariant_part_k(int64_t n, int64_t k);

#endif
