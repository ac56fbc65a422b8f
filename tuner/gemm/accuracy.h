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
#include <stdint.h>

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

/* What is proven of |c - reference| / (|A| |B|) in FP32, whatever the order of the sums and however a class
 * of FP32 computes them, for elements of A and B that are 0 or at least 2^-100 and for sums that are normal
 * numbers: (K + 160) 2^-24. Where it comes from: docs/accuracy.md. */
double accuracy_bound(int64_t k);

/* May a kernel with these errors answer a problem of the type? Always where the type has no limits: then only
 * the bound of its contract decides. An error within one rounding of C is never too large. An error that was
 * not measured, or that has no rival's error to compare with, always is. */
bool accuracy_answers(const struct gemm_type_row *row, const struct accuracy *own,
                      const struct accuracy *rival);

#endif
