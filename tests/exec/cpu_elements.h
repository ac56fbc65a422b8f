/* cpu_elements.h — elements of 16 bits as numbers and back, for the CPU execution and for its references; and
 * arrays of elements of any type in memory. By arithmetic alone, so that no code is shared with the judge.
 */
#ifndef GT_CPU_ELEMENTS_H
#define GT_CPU_ELEMENTS_H

#include <gemm_type.h>
#include <stdint.h>

/* To nearest, ties to even; bf16: BF16, else FP16. */
uint16_t gt_element_bits(int bf16, float x);
float gt_element_value(int bf16, uint16_t bits);

/* The same as gt_element_value, where it takes most of the time. */
static inline float element_value(int bf16, uint16_t bits)
{
    /* Without ldexp, which took a fifth of the time of a product's execution. */
    const unsigned size = bits & 0x7fff, sign = (unsigned)(bits & 0x8000) << 16;
    union { /* no address is taken, which the sanitizer would watch */
        unsigned bits;
        float value;
    } wide;
    if (bf16) {
        wide.bits = size << 16;
    } else if (size >=
               0x400) { /* normal, infinite or NaN: FP32's bias is 112 more, its exponents end at 255 */
        wide.bits = (size << 13) + (size >= 0x7c00 ? 224U << 23 : 112U << 23);
    } else {
        wide.value = (float)size * 0x1p-24F;
    }
    wide.bits |= sign;
    return wide.value;
}

float elements_get(const void *elements, enum element type, int64_t at);
void elements_put(void *elements, enum element type, int64_t at, float x);

/* The nearest number that an element holds. */
float element_nearest(enum element type, float x);

#endif
