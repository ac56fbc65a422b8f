#include "cpu_elements.h"

#include <math.h>
#include <string.h>

/* A format by its significant bits and the exponents, as of frexp, of its least and its largest normal
 * numbers. */
struct format {
    int digits, least, most;
};
static const struct format fp16 = {11, -13, 16}, bfloat = {8, -125, 128};

uint16_t gt_element_bits(int bf16, float x)
{
    const struct format f = bf16 ? bfloat : fp16;
    const unsigned sign = signbit(x) ? 0x8000 : 0, infinite = (unsigned)(f.most - f.least + 2)
                                                              << (f.digits - 1);
    int exponent;
    if (isnan(x)) return (uint16_t)(sign | infinite | 1U << (f.digits - 2));
    if (isinf(x)) return (uint16_t)(sign | infinite);
    frexp(fabs((double)x), &exponent);
    if (exponent < f.least || x == 0) exponent = f.least;
    /* In units of the last place, which carry into the exponent; a normal number's first digit is implied. */
    const unsigned units = (unsigned)nearbyint(ldexp(fabs((double)x), f.digits - exponent));
    const unsigned bits = ((unsigned)(exponent - f.least) << (f.digits - 1)) + units;
    return (uint16_t)(sign | (bits < infinite ? bits : infinite));
}

float gt_element_value(int bf16, uint16_t bits)
{
    return element_value(bf16, bits);
}

float elements_get(const void *elements, enum element type, int64_t at)
{
    if (type == ELEMENT_F32) return ((const float *)elements)[at];
    return gt_element_value(type == ELEMENT_BF16, ((const uint16_t *)elements)[at]);
}

void elements_put(void *elements, enum element type, int64_t at, float x)
{
    if (type == ELEMENT_F32) ((float *)elements)[at] = x;
    else ((uint16_t *)elements)[at] = gt_element_bits(type == ELEMENT_BF16, x);
}

float element_nearest(enum element type, float x)
{
    if (type == ELEMENT_F32) return x;
    return gt_element_value(type == ELEMENT_BF16, gt_element_bits(type == ELEMENT_BF16, x));
}
