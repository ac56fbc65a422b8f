/* export_geometry.h — how a configuration is launched, in numbers that a header can contain instead of the
 * template's code.
 *
 * The numbers are those that the template declares (launch_geometry.h), in the form that the formula of
 * winner_plan_code.h needs. Knows no template by name.
 */
#ifndef GT_EXPORT_GEOMETRY_H
#define GT_EXPORT_GEOMETRY_H

#include "template.h"
#include "winner_here.h"

/* The same problem as the header's caller gives it. */
struct gt_winner_shape geometry_shape(const struct problem *problem);

/* A winner that says what it was measured for, and no more: there is no launch, it has no numbers. */
struct gt_winner geometry_winner(const struct problem *problem);

/* The least alignment of A, B and C with which a legal configuration may run problem, as gt_winner_align. */
int32_t geometry_needs(const struct config *config, const struct problem *problem, const struct gpu *gpu);

/* Does the template tell how config is launched: by a geometry, or by what the bytes of its argument mean?
 * Else no header can have it. */
bool geometry_is_told(const struct config *config, const struct problem *problem, const struct gpu *gpu);

/* False if the template declares no geometry: then the configuration serves problem alone, as geometry_plan
 * says. config must be legal for problem on gpu. *entries: the names of the kernels that may be launched,
 * constants of the template, in the places of struct gt_winner_plan; NULL where there is none. */
bool geometry_find(const struct config *config, const struct problem *problem, const struct gpu *gpu,
                   struct gt_winner_geometry *geometry, const char *entries[3]);

/* What a geometry lets an item of a batch take of workspace is the usual limit, whatever the template allows.
 * Raise it to what a winner of the same configuration takes for its own problem. */
void geometry_allow(struct gt_winner_geometry *geometry, const struct config *config,
                    const struct problem *problem);

/* The template's own plan, and the kernels of that. geometry_is_told must be true. */
void geometry_plan(const struct config *config, const struct problem *problem, struct gt_winner_plan *plan,
                   const char *entries[3]);

#endif
