/* whole_matrix.h — matrices of any type of elements on a GPU, filled with whole numbers so small that every
 * sum is exact.
 */
#ifndef GT_WHOLE_MATRIX_H
#define GT_WHOLE_MATRIX_H

#include "gpu_tests.h"

/* Of a whole number that the type holds exactly. */
static inline uint32_t bits_of(enum element element, int whole)
{
    const float x = (float)whole;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (element == ELEMENT_F32) return bits;
    if (element == ELEMENT_BF16 || whole == 0) return bits >> 16;
    return (bits >> 16 & 0x8000u) | ((bits >> 23 & 0xffu) - 112) << 10 | (bits >> 13 & 0x3ffu);
}

/* Elements on the host as the GPU has them, and the whole numbers that they are: -1, 0 or 1. */
struct matrix {
    enum element element;
    int64_t count;
    unsigned char *bytes;
    int *whole;
    struct device_buffer there;
};

static inline void put(const struct matrix *m, int64_t i, int whole)
{
    const uint32_t bits = bits_of(m->element, whole);
    memcpy(m->bytes + i * element_bytes(m->element), &bits,
           (size_t)element_bytes(m->element)); /* little-endian */
}

static inline struct matrix random_matrix(enum element element, int64_t count, uint64_t seed)
{
    const size_t bytes = (size_t)count * (size_t)element_bytes(element);
    struct matrix m = {element, count, malloc(bytes + 1), malloc(sizeof *m.whole * (size_t)count + 1), {0}};
    assert_true(m.bytes && m.whole);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        m.whole[i] = (int)(seed >> 33) % 3 - 1;
        put(&m, i, m.whole[i]);
    }
    assert_ok(device_allocate(&m.there, bytes));
    if (bytes) assert_ok(device_check(cuda.MemcpyHtoD(m.there.address, m.bytes, bytes), "copy in"));
    return m;
}

static inline void matrix_free(struct matrix *m)
{
    device_free(&m->there);
    free(m->bytes);
    free(m->whole);
}

static inline void *place(const struct matrix *m)
{
    return (void *)(uintptr_t)m->there.address;
}

/* C as it must be, in place of C on the host. bias: a value for each column; may be empty. */
static inline void compute(const struct problem *p, const struct matrix *a, const struct matrix *b,
                           const struct matrix *bias, struct matrix *c)
{
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int *of_a = a->whole + item * p->stride_a, *of_b = b->whole + item * p->stride_b;
                const int64_t at = item * p->stride_c + i * p->ldc + j;
                int sum =
                    (int)p->beta * c->whole[at] + (bias->count ? bias->whole[item * p->stride_bias + j] : 0);
                for (int64_t k = 0; k < p->k; k++)
                    sum += (p->trans_a ? of_a[k * p->lda + i] : of_a[i * p->lda + k]) *
                           (p->trans_b ? of_b[j * p->ldb + k] : of_b[k * p->ldb + j]);
                put(c, at, sum);
            }
}

/* C on the GPU must be as it is on the host, bit by bit. */
static inline void matrix_check(const struct matrix *c, const char *who)
{
    const size_t bytes = (size_t)c->count * (size_t)element_bytes(c->element);
    unsigned char *got = malloc(bytes);
    assert_non_null(got);
    assert_ok(device_check(cuda.CtxSynchronize(), who));
    assert_ok(device_check(cuda.MemcpyDtoH(got, c->there.address, bytes), "copy out"));
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != c->bytes[i])
            fail_msg("%s: byte %zu of C is %02x, not %02x", who, i, got[i], c->bytes[i]);
    free(got);
}

#endif
