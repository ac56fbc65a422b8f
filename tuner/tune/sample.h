/* sample.h — how a field grows that holds a sample of its space (space.h). Included by field.c alone;
 * field.h has what others need.
 */
#ifndef GT_SAMPLE_H
#define GT_SAMPLE_H

#include "field.h"

/* Room for more candidates: field->room. space must outlive the field. Errors: E_MEMORY. */
enum status sample_open(struct field *field, const struct space *space, const struct problem *problem,
                        const struct gpu *gpu, int64_t workspace_bytes);

/* Before the field is ranked: add what the model likes of the whole space, by descending from its favourites
 * of the sample. Errors: E_MEMORY. */
enum status sample_descend(struct field *field);

void sample_free(struct sample *sample); /* takes NULL */

/* This configuration is not to become a candidate. Errors: E_MEMORY. */
enum status sample_exclude(struct sample *sample, const struct config *config);

#endif
