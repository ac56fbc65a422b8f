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

float elements_get(const void *elements, enum element type, int64_t at);
void elements_put(void *elements, enum element type, int64_t at, float x);

/* The nearest number that an element holds. */
float element_nearest(enum element type, float x);

#endif
