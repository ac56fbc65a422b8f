/* lt_shortcut.h — calls of cublasLt that a thread has made before, but for addresses and the values of the
 * scalars. They are known again by a hash of all that they consist of: handle, layouts, algorithm, and the
 * attributes of the descriptor, which the program has just written. What computes them is found beside the
 * hash: a program that does much between its calls has nothing of ours in the processor's caches, and each
 * table and each function on the way costs it as much as a query of the driver.
 *
 * A change of what computes any problem makes all shortcuts void (dropin_handle_changes). There are none
 * while calls are logged or captured.
 */
#ifndef GT_LT_SHORTCUT_H
#define GT_LT_SHORTCUT_H

#include "calls.h"
#include "record.h"

enum shortcut_answer {
    SHORTCUT_NONE,  /* lt_matmul.c decides */
    SHORTCUT_DONE,  /* *result is the status for the program */
    SHORTCUT_PASSES /* there is no winner for its layouts */
};

/* changes: as in struct blas_request. */
enum shortcut_answer lt_shortcut_take(const struct matmul *x, struct calls *mine, unsigned changes,
                                      int *result);

/* Keeps what has just computed a call; request->matmul is the call. */
void lt_shortcut_keep(const struct blas_request *request, struct record *record, struct gt_plan *plan,
                      struct executable *kernel);

/* Keeps that there was no winner for a call, if the thread has other shortcuts. */
void lt_shortcut_keep_passing(const struct blas_request *request, const struct matmul *x);

/* Adds the answers of a thread to those of its problems. forget: there are no shortcuts afterwards; by the
 * thread itself. */
void lt_shortcut_flush(struct calls *calls, bool forget);

#endif
