/* element_bits.h — elements of any type in memory, and the floats that they are: of whole numbers, and of
 * what is in their range (FP16: 2^-14 to 65504; less becomes 0).
 */
#ifndef GT_ELEMENT_BITS_H
#define GT_ELEMENT_BITS_H

#include "gemm_type.h"

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* To nearest, ties to even, as a kernel rounds C. */
static inline float element_rounded(enum element element, float x)
{
    if (element == ELEMENT_F32) return x;
    const int dropped = element == ELEMENT_BF16 ? 16 : 13; /* bits of the fraction */
    const uint32_t bits = float_bits(x), half = (1u << (dropped - 1)) - 1;
    const float rounded = float_of_bits((bits + half + (bits >> dropped & 1)) >> dropped << dropped);
    return element == ELEMENT_F16 && rounded > -0x1p-14F && rounded < 0x1p-14F ? 0 : rounded;
}

/* Element i of an array in memory; x is rounded. */
static inline void element_put(unsigned char *array, int64_t i, enum element element, float x)
{
    const uint32_t bits = float_bits(element_rounded(element, x));
    uint16_t half = (uint16_t)(bits >> 16);
    if (element == ELEMENT_F32) {
        memcpy(array + 4 * i, &bits, 4);
        return;
    }
    if (element == ELEMENT_F16)
        half = (uint16_t)((bits >> 16 & 0x8000u) |
                          (bits << 1 ? (((bits >> 23 & 0xffu) - 112) << 10 | (bits >> 13 & 0x3ffu)) : 0));
    memcpy(array + 2 * i, &half, 2);
}

static inline float element_get(const unsigned char *array, int64_t i, enum element element)
{
    uint32_t bits;
    uint16_t half;
    if (element == ELEMENT_F32) {
        memcpy(&bits, array + 4 * i, 4);
        return float_of_bits(bits);
    }
    memcpy(&half, array + 2 * i, 2);
    if (element == ELEMENT_BF16) return float_of_bits((uint32_t)half << 16);
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, size = half & 0x7fffu;
    if (size < 0x400u) return float_of_bits(sign); /* below 2^-14 */
    return float_of_bits(sign | (size >= 0x7c00u ? 0x7f800000u | size << 13 : (size << 13) + (112u << 23)));
}

#endif
