/* lt_form.h — what the layouts of a call of cublasLt mean. It is queried once and kept by their bytes, until
 * the process ends.
 */
#ifndef GT_LT_FORM_H
#define GT_LT_FORM_H

#include "blas_request.h"
#include "engine.h"

#define XXH_INLINE_ALL /* a call of the library would cost more than the hash */
#include <xxhash.h>

enum { LT_FORM_OPS = 4 }; /* op_a + 2 * op_b */

struct form_key {
    struct lt_layout a, b, d;   /* the layout of C equals D's */
    const struct real_lt *real; /* the library that made them */
};

/* As stored, in column-major order. by_rows: the layout is in row order, and this the transpose. */
struct matrix {
    int type; /* cudaDataType_t */
    bool by_rows;
    int64_t rows, columns, ld, batch, stride;
};

struct form {
    struct form_key key;
    uint64_t hash;
    bool plain;     /* a product with some ops; else the members below are invalid */
    unsigned types; /* bit i: of type i, if the compute type is that type's */
    struct matrix a, b, d;

    /* used by lt_matmul.c */
    _Atomic(struct record *) last[LT_FORM_OPS];
    atomic_bool tuned;     /* a tuned kernel was found, with some ops */
    _Atomic uint64_t none; /* where there is none, whatever the ops, as found last */
};

static inline uint64_t lt_hash(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}

/* The form of the call's layouts; they are there. NULL: there is no room; then *hash is that of the layouts.
 */
struct form *lt_form_of(const struct matmul *x, uint64_t *hash);

/* The same, read into a form that is not kept. */
void lt_form_read(const struct matmul *x, uint64_t hash, struct form *form);

/* Fills in the sizes with the ops of the descriptor. A matrix in row order is stored as its transpose, and
 * that of D is op(B)^T op(A)^T. False: the sizes do not match. */
bool lt_form_sizes(const struct form *form, bool op_a, bool op_b, struct blas_request *request);

/* Does C lie as D does? Its bytes may differ in what does not count, such as the stride of a single item. */
bool lt_form_has_c_as_d(const struct matmul *x, const struct form *form);

#endif
