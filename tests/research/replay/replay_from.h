/* replay_from.h — what the recorded spaces of one file say of those of another: as stored trials of other
 * problems do in tune, or in none of our own, those of the same kernel elsewhere.
 */
#ifndef GT_REPLAY_FROM_H
#define GT_REPLAY_FROM_H

#include "prior.h"
#include "replay_space.h"

/* The search begins with what the spaces of `from` teach: of our own trials those of other problems on the
 * same GPU and for the same type; of other kernels all, by the names and values of their parameters. *used:
 * how much that was; nothing has changed where it is little. Errors: E_MEMORY. */
enum status replay_teach(struct replay_spaces *spaces, size_t number, const struct replay_spaces *from,
                         struct prior_used *used);

#endif
