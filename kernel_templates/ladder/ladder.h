/* ladder.h — the eight rungs from a naive kernel to warp tiling, in climbing order.
 *
 * They are templates like any other (template.h), but serve to explain and are never searched.
 */
#ifndef GT_LADDER_H
#define GT_LADDER_H

#include "template.h"

#define LADDER_RUNGS 8

extern const struct template *const ladder_rungs[LADDER_RUNGS];

/* A rung by its template's name ("ladder_shared") or short name ("shared"); NULL if there is none. */
const struct template *ladder_find(const char *name);

/* The configuration that a rung is shown with, the same for every problem and legal on every GPU. */
void ladder_config(const struct template *rung, struct config *config);

#endif
