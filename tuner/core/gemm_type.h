/* gemm_type.h — what operands are made of. */
#ifndef GT_GEMM_TYPE_H
#define GT_GEMM_TYPE_H

enum element { ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16, ELEMENT_COUNT };

int element_bytes(enum element element);

#endif
