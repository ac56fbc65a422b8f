/* half_sets.h — operands of 16 bits on a GPU, of whole numbers so small that every sum is exact, and the
 * result to expect.
 */
#ifndef GT_HALF_SETS_H
#define GT_HALF_SETS_H

#include "gpu_tests.h"

/* Of a whole number that the type holds exactly. */
static inline uint16_t half_of(enum element element, int whole)
{
    const float x = (float)whole;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (element == ELEMENT_BF16 || whole == 0) return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000u) | ((bits >> 23 & 0xffu) - 112) << 10 | (bits >> 13 & 0x3ffu));
}

enum { HALF_A, HALF_B, HALF_C, HALF_BIAS, HALF_OPERANDS };

struct half_set {
    struct problem problem;
    struct device_buffer buffer[HALF_OPERANDS];
    uint16_t *half[HALF_OPERANDS];
    int *whole[HALF_OPERANDS]; /* each -1, 0 or 1 */
    size_t bytes[HALF_OPERANDS];
};

/* C is as it was before the first call. */
static inline void half_set_fill(struct half_set *s, int operand)
{
    assert_ok(device_check(cuda.MemcpyHtoD(s->buffer[operand].address, s->half[operand], s->bytes[operand]),
                           "copy in"));
}

static inline void half_set_make(struct half_set *s, const char *text)
{
    assert_ok(problem_parse(text, &s->problem));
    const struct problem *p = &s->problem;
    const int64_t spans[] = {problem_span_a(p), problem_span_b(p), problem_span_c(p), problem_span_bias(p)};
    for (int i = 0; i < HALF_OPERANDS; i++) {
        uint64_t seed = (uint64_t)i + 1;
        s->bytes[i] = sizeof(uint16_t) * (size_t)spans[i];
        s->half[i] = malloc(s->bytes[i] + 1);
        s->whole[i] = malloc(sizeof(int) * (size_t)spans[i] + 1);
        assert_true(s->half[i] && s->whole[i]);
        for (int64_t at = 0; at < spans[i]; at++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            s->whole[i][at] = (int)(seed >> 33) % 3 - 1;
            s->half[i][at] = half_of(gemm_type_row(p->type)->a, s->whole[i][at]);
        }
        assert_ok(device_allocate(&s->buffer[i], s->bytes[i]));
        if (spans[i]) half_set_fill(s, i);
    }
}

static inline int half_set_want(const struct half_set *s, int64_t item, int64_t i, int64_t j)
{
    const struct problem *p = &s->problem;
    const int *a = s->whole[HALF_A] + item * p->stride_a, *b = s->whole[HALF_B] + item * p->stride_b;
    int sum = (int)p->beta * s->whole[HALF_C][item * p->stride_c + i * p->ldc + j];
    for (int64_t k = 0; k < p->k; k++)
        sum += (p->trans_a ? a[k * p->lda + i] : a[i * p->lda + k]) *
               (p->trans_b ? b[j * p->ldb + k] : b[k * p->ldb + j]);
    return epilogue_bias(p->epilogue) == BIAS_COLUMN ? sum + s->whole[HALF_BIAS][item * p->stride_bias + j]
                                                     : sum;
}

/* C must be what one call makes of it, bit by bit. */
static inline void half_set_check(const struct half_set *s, const char *who)
{
    const struct problem *p = &s->problem;
    uint16_t *got = malloc(s->bytes[HALF_C]);
    assert_non_null(got);
    assert_ok(device_check(cuda.CtxSynchronize(), who));
    assert_ok(device_check(cuda.MemcpyDtoH(got, s->buffer[HALF_C].address, s->bytes[HALF_C]), "copy out"));
    for (int64_t item = 0; item < p->batch; item++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int want = half_set_want(s, item, i, j);
                const uint16_t bits = got[item * p->stride_c + i * p->ldc + j];
                if (bits != half_of(gemm_type_row(p->type)->c, want))
                    fail_msg("%s: C[%lld,%lld] has the bits %04x, not those of %d", who, (long long)i,
                             (long long)j, bits, want);
            }
    free(got);
}

static inline void half_set_free(struct half_set *s)
{
    for (int i = 0; i < HALF_OPERANDS; i++) {
        free(s->half[i]);
        free(s->whole[i]);
        device_free(&s->buffer[i]);
    }
}

/* The address of an operand. */
static inline void *half_set_at(const struct half_set *s, int operand)
{
    return (void *)(uintptr_t)s->buffer[operand].address; /* NOLINT: a device address */
}

#endif
