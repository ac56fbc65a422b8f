/* reference.h — plain CPU answers to a problem, for the tests.
 *
 * Two orders of the loops that share no line of their inner part, so that each can be held against the other;
 * the kernels are held against them. Every batch item is computed; the problem gives shapes, leading
 * dimensions, strides, alpha and beta. As in BLAS: beta == 0 means that C is not read, alpha == 0 or K == 0
 * that A and B are not. None of them looks at the problem's epilogue but the last three.
 */
#ifndef GT_REFERENCE_H
#define GT_REFERENCE_H

#include <problem.h>

/* One dot product after another, accumulated in float. */
void reference_ijk(const struct problem *p, const float *a, const float *b, float *c);

/* C scaled first, then one multiple of a row of op(B) after another added to a row of C, in float. */
void reference_ikj(const struct problem *p, const float *a, const float *b, float *c);

/* As ijk but accumulated in double. c_in is C before the call; answer and magnitude are dense, batch x M x N.
 * magnitude = |alpha| |op(A)| |op(B)| + |beta| |C|: what an error bound is proportional to. */
void reference_double(const struct problem *p, const float *a, const float *b, const float *c_in,
                      double *answer, double *magnitude);

/* The bias of element (row, column) of a batch item; 0 without one. */
float reference_bias(const struct problem *p, const float *bias, int64_t item, int64_t row, int64_t column);

/* act(x) of the problem's epilogue. */
double reference_activated(const struct problem *p, double x);

/* How far from it a kernel may be that computes it in float: 0 without GELU. */
double reference_activation_error(const struct problem *p, double x);

#endif
