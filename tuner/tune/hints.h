/* hints.h — what to try first: winners of similar problems on this GPU, in earlier runs and in this one, and
 * winners shipped with the program for GPUs of its architecture.
 *
 * Combines field, database and search. A hint is a candidate like any other: it is measured before it counts.
 */
#ifndef GT_HINTS_H
#define GT_HINTS_H

#include "field.h"

#define HINTS_WINNERS_MAX 16 /* the nearest problems whose winners are looked at */

/* How far apart two problems are for a hint: shape_distance, and 1 for each other op and another type. */
double hints_distance(const struct problem *x, const struct problem *y);

/* Suggest to the search the candidates most like the winners of the nearest problems, nearest first. A winner
 * of an older kernel, or one that is out of date, still is a hint; one of a template that cannot answer the
 * problem's type is none, nor is one that the model predicts to be several times slower here than its
 * favourite. pretuned: those that ship count, too. May be called again when more winners are known: nothing
 * is given twice. known: another database with winners, or NULL; what cannot be read of it is no hint.
 * *given: how many were suggested that had not been tried. Errors: those of the database, E_MEMORY. */
enum status hints_give(struct field *field, struct db *db, struct db *known, const struct db_context *context,
                       const struct problem *problem, bool pretuned, struct search *search, size_t *given);

#endif
