/* transfer.h — what stored trials of other problems on this GPU say of a field's candidates (prior.h).
 *
 * Combines field and database. What is stored for the problem itself is not asked: field_recall tells that to
 * the search.
 */
#ifndef GT_TRANSFER_H
#define GT_TRANSFER_H

#include "field.h"

struct transferred {
    size_t problems, trials;        /* 0: nothing was changed */
    char nearest[PROBLEM_TEXT_MAX]; /* of them */
};

/* Correct the order of the field by the trials of the nearest problems of the same type (hints_distance) that
 * have any with the same cache policy. known: another database with trials, or NULL; what cannot be read of
 * it is left out. Before a search is started over it. Errors: those of the database, E_MEMORY. */
enum status transfer_trials(struct field *field, struct db *db, struct db *known,
                            const struct db_context *context, const struct problem *problem,
                            struct transferred *transferred);

/* The sentence for explain, without its full stop: "the model's order was corrected by 120 trials ...". */
void transfer_note(const struct transferred *transferred, char text[256]);

#endif
