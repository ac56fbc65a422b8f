/* SPDX-License-Identifier: MIT */
/* shape_weights.h — weights of everything but sizes in the distance of two problems, in octaves of one size
 * (shape.h has the formula). Exported headers contain this file. C99 and C++. */
#ifndef GT_SHAPE_WEIGHTS
#define GT_SHAPE_WEIGHTS

#define GT_SHAPE_ALIGNMENT 0.25 /* each operand whose alignment differs */
#define GT_SHAPE_DETAIL    0.02 /* another type; padding or none; another alpha or beta */

#endif
