/* fake_half.h — elements of matrices in host memory by their cudaDataType_t: FP32 (0), FP16 (2), BF16 (14).
 * FP16 without infinities and subnormal numbers.
 */
#ifndef GT_FAKE_HALF_H
#define GT_FAKE_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { FAKE_F32 = 0, FAKE_F16 = 2, FAKE_BF16 = 14 };

static inline int fake_element_bytes(int type)
{
    return type == FAKE_F32 ? 4 : 2;
}

static inline float fake_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float fake_element(const void *matrix, int type, int64_t at)
{
    if (type == FAKE_F32) return ((const float *)matrix)[at];
    const uint16_t half = ((const uint16_t *)matrix)[at];
    if (type == FAKE_BF16) return fake_from_bits((uint32_t)half << 16);
    const int exponent = half >> 10 & 31;
    const float size = exponent ? ldexpf((float)(1024 + (half & 1023)), exponent - 25) : 0.0F;
    return half & 0x8000 ? -size : size;
}

/* Rounded to nearest, ties to even. */
static inline void fake_store(void *matrix, int type, int64_t at, float x)
{
    uint32_t bits;
    int exponent;
    if (type == FAKE_F32) {
        ((float *)matrix)[at] = x;
        return;
    }
    memcpy(&bits, &x, sizeof bits);
    if (type == FAKE_BF16) {
        ((uint16_t *)matrix)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        return;
    }
    const float scaled = nearbyintf(ldexpf(frexpf(fabsf(x), &exponent), 11)); /* 0, or 1024 to 2048 */
    const int size = scaled == 0.0F ? 0 : (int)scaled - 1024 + ((exponent + 14) << 10);
    ((uint16_t *)matrix)[at] = (uint16_t)((bits >> 16 & 0x8000) | (uint32_t)size);
}

#endif
