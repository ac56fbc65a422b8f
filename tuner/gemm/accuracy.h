/* accuracy.h — how far a computed C is from the correct one, and whether that is close enough for a type.
 *
 * A type with limits is an accuracy class: a kernel of any kind satisfies it if its errors are at most a
 * given multiple of the strict rival's on the same data. Strict FP32 kernels are measured as well, because
 * the rival may be more accurate if it adds in a better order.
 */
#ifndef GT_ACCURACY_H
#define GT_ACCURACY_H

#include "gemm_type.h"
#include <jansson.h>

/* Errors of one C against a reference of higher precision. NaN or infinity in C gives infinity. */
struct accuracy {
    double componentwise; /* largest |c - reference| / (|A| |B|) of the same element */
    double rms, max;      /* root mean square and largest |c - reference|, over the largest |reference| */
};

struct accuracy accuracy_unknown(void); /* all NaN: not measured */
bool accuracy_is_known(const struct accuracy *accuracy);

/* {"componentwise": ..., "rms": ..., "max": ...}; NULL if it is unknown. */
json_t *accuracy_to_json(const struct accuracy *accuracy);
/* json NULL: unknown. Returns false if a value is not a valid error. */
bool accuracy_from_json(const json_t *json, struct accuracy *accuracy);

/* May a kernel with these errors answer a problem of the type? Always where the type has no limits: then only
 * the bound of its contract decides. An error within one rounding of C is never too large. An error that was
 * not measured, or that has no rival's error to compare with, always is. */
bool accuracy_answers(const struct gemm_type_row *row, const struct accuracy *own,
                      const struct accuracy *rival);

#endif
