/* plot.h — grouped bars as SVG or PNG, drawn by gnuplot. Knows no GPU and no GEMM: names and numbers only. */
#ifndef GT_PLOT_H
#define GT_PLOT_H

#include "status.h"

struct bars {
    const char *title, *unit; /* unit: label of the axis, "TFLOPS" */
    int groups, series;
    const char *const *group; /* names, [groups] */
    const char *const *serie; /* names, [series] */
    const double *value;      /* [group * series + serie]; NAN: no bar */
    double line;              /* drawn across at this height; 0: none */
};

/* OK if path ends in .svg or .png, which chooses the format. Errors: E_USAGE. Asked early, so that a long
 * measurement does not end in a wrong file name. */
enum status plot_check(const char *path);

/* Draw to path: written beside it, then renamed. Errors: E_USAGE, E_ABSENT (no gnuplot), E_IO. */
enum status plot_bars(const struct bars *bars, const char *path);

#endif
