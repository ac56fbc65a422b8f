/* preferred.h — what a person has pinned and excluded: taken from the command line into the database, and
 * from there to the candidates of a problem.
 */
#ifndef GT_PREFERRED_H
#define GT_PREFERRED_H

#include "field.h"
#include "tune_options.h"

/* Judge --pin, --unpin, --exclude and --include for this GPU; nothing is stored. Errors: E_INPUT (illegal for
 * the problem, excluded and pinned at once), those of the database. */
enum status preferred_check(const struct tune_options *options, struct db *db, const struct gpu *gpu);

/* Store --unpin, --exclude and --include for this GPU, and say so; also if there is nothing to take back.
 * What is to be pinned becomes so with its decision (db_set_winner). Errors: those of the database. */
enum status preferred_store(const struct tune_options *options, struct db *db, const struct gpu *gpu);

/* Is a configuration pinned for this problem on this GPU? Errors: those of the database, E_MEMORY. */
enum status preferred_pinned(struct db *db, const struct gpu *gpu, const struct problem *problem,
                             bool *pinned);

/* Is a configuration excluded for this problem on this GPU? Errors: those of the database, E_MEMORY. */
enum status preferred_excludes(struct db *db, const struct gpu *gpu, const struct problem *problem,
                               const struct config *config, bool *excluded);

/* Leave of a field what may be chosen: the pinned configuration alone, of this command (NULL: none) or as
 * stored, be it in the space or not; else all that are not excluded. *pinned: which of the two. Errors:
 * E_ABSENT (nothing is left, or the stored pin cannot be used any more), those of the database, E_MEMORY. */
enum status preferred_apply(struct field *field, struct db *db, const struct gpu *gpu,
                            const struct problem *problem, int64_t workspace_bytes,
                            const struct config *wanted, bool *pinned);

#endif
