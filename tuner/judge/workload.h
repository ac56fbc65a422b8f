/* workload.h — the operands of a problem on the device: sets of A, B and C, and for an epilogue of the bias
 * and the C that is only read, with guard bands, from one seed. With pointers a set also has the arrays of
 * addresses; the items lie in another order than the addresses, with gaps between them that are guard bands,
 * too. In the exact set they begin at any element, in the others at lines, as memory that was allocated for
 * each.
 *
 * All timed sets have the same data, so that one reference judges each of them; rotating over them keeps the
 * operands out of L2 (cache policy `cold`). One more set has the small integers of the exact test. Every
 * operand is surrounded by NaN, and so is the padding of all that is only read: an out-of-bounds read shows
 * in the result.
 */
#ifndef GT_WORKLOAD_H
#define GT_WORKLOAD_H

#include "kernel.h"
#include "oracle_kernels.h"
#include "oracle_plan.h"

#define WORKLOAD_SETS_MAX 1024
#define WORKLOAD_GUARD    1024 /* words before and after each operand */
#define WORKLOAD_EXACT    (-1) /* the set of the exact test */

/* Content of C before a judged call, for elements of one word: NaN, or about 1e7, which is larger than any
 * right answer to random data for K < 1e7. */
#define POISON_NAN    0x7fc0beefu
#define POISON_NUMBER 0x4b1dbeefu

/* Offsets in words of 4 bytes from the start of a set; of arrays (those of A, B and C, one after the other)
 * and operands other than A, B and C 0 where the problem has none. What lies between B and C is only read. C,
 * or out of place D, is the last. */
struct workload_layout {
    int64_t at[OPERANDS], arrays, set_words;
    int sets; /* timed sets; the exact one follows them */
};

/* Number of sets for the cache policy: cold needs 2x L2 in operands, at least 2 sets and at most
 * WORKLOAD_SETS_MAX; hot needs one. Fewer if they do not fit in room_bytes. sets = 0: there is not even room
 * for one beside the exact set. */
struct workload_layout workload_layout(const struct problem *problem, bool cold, int64_t l2_bytes,
                                       int64_t room_bytes);

struct workload {
    const struct oracle_kernels *kernels;
    struct problem problem;
    struct workload_layout layout;
    struct random_test random;
    struct exact_test exact;
    struct device_buffer slab;
};

/* Allocates and fills. Errors: E_GPU, with the sizes if memory does not suffice. */
enum status workload_open(const struct oracle_kernels *kernels, const struct problem *problem, bool cold,
                          uint64_t seed, int64_t room_bytes, struct workload *work);
void workload_close(struct workload *work); /* takes a zeroed struct too */

/* Rewrites all operands: a candidate with stray writes may have changed them. */
enum status workload_fill(const struct workload *work);

/* The problem whose operands lie as those of a set do: the same but, with pointers, the strides of the items,
 * and no pointers. */
struct problem workload_placed(const struct problem *problem, int set);

/* The operands of a kernel: with pointers the arrays. */
struct operands workload_operands(const struct workload *work, int set);

/* The batch of an operand in memory; no rows where there is none. The source is C as it is read: mostly C.
 * With pointers the order is not that of the addresses: workload_item. */
struct matrices workload_matrices(const struct workload *work, int set, enum operand which);
struct matrices workload_a(const struct workload *work, int set);
struct matrices workload_b(const struct workload *work, int set);
struct matrices workload_c(const struct workload *work, int set); /* as it is written */

/* The timed set that these operands are of. */
int workload_set_of(const struct workload *work, const struct operands *operands);

/* All of them, for the judge's kernels. */
void workload_list(const struct workload *work, int set, struct matrices at[OPERANDS]);

/* The item of the batch that lies at a place. */
int64_t workload_item(const struct problem *problem, int64_t place);

/* All that is only read of a set beside A and B, and what lies between, as words; none if there are none. */
struct matrices workload_read_only(const struct workload *work, int set);

/* True if a call changes what the next one reads: C, with a beta that is not 0. */
bool workload_feeds_back(const struct workload *work);

/* alpha and beta of a set: the problem's, or those of the exact test. */
void workload_scalars(const struct workload *work, int set, double *alpha, double *beta);

/* Elements of C in a guard band. */
int64_t workload_guard(const struct workload *work);

/* A poison value as a word of C's elements: the value itself, or its upper half twice if elements are half a
 * word. */
unsigned workload_poison_word(const struct workload *work, unsigned poison);

/* Before a judged call: fills C with poison, including guard bands and padding; if it is read, too (beta !=
 * 0, not out of place), its elements get the values used for the reference. */
enum status workload_poison(const struct workload *work, int set, unsigned poison, double beta);

#endif
