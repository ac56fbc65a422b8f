/* lt_descriptor.h — the attributes of cublasLt's descriptors of products, and of layouts beyond those known.
 *
 * A query takes tens of nanoseconds, and a call needs a dozen. So where a library keeps its attributes is
 * found out once, on descriptors of our own. Where that cannot be found out, and for descriptors of older
 * forms, the library is asked each time. With cublasLt 12.4 and 13.1 a query takes 22 ns, and a look at all
 * attributes 34.
 */
#ifndef GT_LT_DESCRIPTOR_H
#define GT_LT_DESCRIPTOR_H

#include "engine.h"

enum { LT_DESC_WORDS = 128 }; /* more than a descriptor of any version has */

/* An attribute of that many bytes. False: this version does not know it. */
bool lt_desc_read(const struct matmul *x, int what, void *value, size_t bytes);

/* One of 4 bytes; -1: this version does not know it. */
static inline int32_t lt_desc_get(const struct matmul *x, int what)
{
    int32_t value = -1;
    return lt_desc_read(x, what, &value, sizeof value) ? value : -1;
}

/* All attributes that the library knows have their defaults, those that this program knows nothing of too;
 * except for what lt_matmul.c reads: compute type, pointer mode, ops, epilogue and bias. */
bool lt_desc_is_usual(const struct matmul *x);

/* The attributes of a layout that this program knows nothing of have their defaults. */
bool lt_layout_is_usual(const struct real_lt *real, lt_layout layout);

/* All that the descriptor says except where its bias is. Returns the number of words; 0: it cannot be told.
 */
size_t lt_desc_words(const struct matmul *x, uint64_t words[LT_DESC_WORDS]);

/* Where its bias is; of one of which lt_desc_words can tell. */
const void *lt_desc_bias(const struct matmul *x);

#endif
