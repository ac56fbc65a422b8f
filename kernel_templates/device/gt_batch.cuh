/* SPDX-License-Identifier: MIT */
/* gt_batch.cuh — where the block's batch item of an operand lies: a stride after the one before it or, with
 * the macro POINTERS, where an array of addresses says.
 *
 * The host does not see these addresses: all that is known is that they are multiples of an element.
 */
#ifndef GT_BATCH_CUH
#define GT_BATCH_CUH

/* operand: a, b or c. A macro, because a function that says the same changes how the compiler allocates
 * registers. */
#if POINTERS
#define ITEM_OF_BATCH(args, operand)                                                                         \
    (reinterpret_cast<decltype((args).operand) const *>((args).operand)[blockIdx.z])
#else
#define ITEM_OF_BATCH(args, operand) ((args).operand + blockIdx.z * (args).stride_##operand)
#endif

/* Of an operand that is not read unless `used`: there may then be no array. */
#if POINTERS
#define USED_ITEM_OF_BATCH(used, args, operand) ((used) ? ITEM_OF_BATCH(args, operand) : (args).operand)
#else
#define USED_ITEM_OF_BATCH(used, args, operand) ITEM_OF_BATCH(args, operand)
#endif

#endif
