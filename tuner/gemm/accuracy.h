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

/* The root mean square error over the rival's; NAN if one of them is unknown, or the rival's is 0. */
double accuracy_over(const struct accuracy *own, const struct accuracy *rival);

/* What the last check of a winner has measured on the kinds of data of an accuracy class. All 0: unknown. */
struct accuracy_checked {
    int kinds;   /* of data on which its errors were compared with FP32's */
    int bounded; /* of data on which they were held to accuracy_bound alone */
    int m, n, k; /* of the products that were measured */
    double rms;  /* the largest of its root mean square errors over FP32's, where they were compared */
};

/* "error at most 0.30 of FP32's on 12 kinds of data, within its bound on 3, at 512x512x4096"; "" if it is
 * unknown. Returns text. */
#define ACCURACY_TEXT_MAX 256
const char *accuracy_checked_format(const struct accuracy_checked *checked, char text[ACCURACY_TEXT_MAX]);

/* {"kinds": ..., "bounded": ..., "m": ..., "n": ..., "k": ..., "rms": ...}; NULL if it is unknown. */
json_t *accuracy_checked_to_json(const struct accuracy_checked *checked);
/* json NULL: unknown. Returns false if a value is impossible. */
bool accuracy_checked_from_json(const json_t *json, struct accuracy_checked *checked);

/* What is told of the errors of a winner of an accuracy class. All 0: nothing is known. */
struct accuracy_claim {
    double rms; /* accuracy_over, of the tuned problem with uniform data; 0: unknown */
    struct accuracy_checked checked;
};

struct accuracy_claim accuracy_claim_of(const struct accuracy *own, const struct accuracy *rival,
                                        const struct accuracy_checked *checked);
/* "root mean square error 0.30 of cuBLAS's on uniform data; error at most ..."; "" if nothing is known.
 * by_ffma: it begins with "computed by FFMA". Returns text. */
const char *accuracy_claim_format(const struct accuracy_claim *claim, bool by_ffma,
                                  char text[ACCURACY_TEXT_MAX]);

/* A bound of |c - reference| / (|A| |B|) in FP32, by FFMA in any order or by pieces on tensor cores, for
 * elements of A and B that are 0 or at least 2^-100 and for sums that are normal numbers: (K + 200) 2^-24.
 * How it is derived, and what it assumes of tensor cores: docs/accuracy.md. */
double accuracy_bound(int64_t k);

/* May a kernel with these errors answer a problem of the type? Always where the type has no limits: then only
 * the bound of its contract decides. An error within one rounding of C is never too large. An error that was
 * not measured, or that has no rival's error to compare with, always is. */
bool accuracy_answers(const struct gemm_type_row *row, const struct accuracy *own,
                      const struct accuracy *rival);

#endif
