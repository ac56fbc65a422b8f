/* roofline.h — the measured peak rates of this GPU: FP32 FMAs and memory traffic. */
#ifndef GT_ROOFLINE_H
#define GT_ROOFLINE_H

#include "measure.h"

struct roofline {
    double fp32_tflops;
    double gb_per_s; /* 1e9 bytes, read and written together */
};

/* Takes a fraction of a second. cache: folder of compiled kernels. Errors: E_GPU, E_COMPILER. */
enum status roofline_measure(struct stopwatch *watch, const char *cache, struct roofline *roofline);

#endif
