#include "gemm_type.h"

int element_bytes(enum element element)
{
    return element == ELEMENT_F32 ? 4 : 2;
}
