/* fake_epilogue.h — what an epilogue is, by the definition: for the fake driver, the fakes of cublasLt, and
 * the answers that tests expect.
 */
#ifndef GT_FAKE_EPILOGUE_H
#define GT_FAKE_EPILOGUE_H

#include <math.h>

/* As in a problem's code: bias + 4 * activation + 16 * out of place. */
enum { FAKE_BIAS = 3, FAKE_BIAS_COLUMN = 1, FAKE_BIAS_ROW = 2, FAKE_RELU = 4, FAKE_GELU = 8, FAKE_OUT = 16 };

static inline float fake_activate(int code, double x)
{
    const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    if (code & FAKE_RELU) return (float)(x < 0 ? 0 : x);
    return (float)(code & FAKE_GELU ? x / 2 * (1 + tanh(inner)) : x);
}

#endif
