/* nvrtc.h — tests that need NVIDIA's compiler. */
#ifndef GT_TEST_NVRTC_H
#define GT_TEST_NVRTC_H

#include "compile.h"

#include <stdio.h>

/* Says so; the test program then ends with 77. */
static inline bool no_nvrtc(void)
{
    char version[16];
    if (compile_load(version) == OK) return false;
    printf("skipped: %s\n", status_text());
    return true;
}

#endif
