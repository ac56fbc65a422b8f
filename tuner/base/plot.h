/* plot.h — plots several series of values over rows, as SVG or PNG, drawn by gnuplot. Knows no GPU and no
 * GEMM: names and numbers only.
 *
 * Each group is a row with its name at the left and a point for each series, so that names stay readable at a
 * width of 800 pixels however many groups there are. The baseline is a line across all rows.
 */
#ifndef GT_PLOT_H
#define GT_PLOT_H

#include "command_line.h"
#include "status.h"
#include <stdbool.h>

#define PLOT_SERIES_MAX 12 /* number of distinct colours */

struct plot {
    const char *title, *unit; /* unit: label of the axis, "TFLOPS" */
    int groups, series;       /* series: at most PLOT_SERIES_MAX */
    const char *const *group; /* names, [groups] */
    const char *const *serie; /* names, [series] */
    const double *value;      /* [group * series + serie]; NAN: no point */
    double line;              /* drawn across all rows at this value; 0: none */
    const char *line_name;    /* label of the line */
    bool ratios;              /* logarithmic axis: twice and half as fast are equally far from 1 */
    bool
        apart; /* the points of a row lie one below the other, so that none hides another of the same value */
    const double *low, *high; /* intervals of the values, drawn through their points; NULL: none */
    const double *bound;      /* [group]: a faint bar from the line to it, behind the points; NULL: none */
    const char *bound_name;   /* in the legend */
};

/* OPTION_CALL of a member that is a path, which must end in .svg or .png: that selects the format. Checked
 * early, so that a wrong file name does not show only after a long measurement. Errors: E_USAGE. */
enum status plot_set(void *command, const struct command_option *option, char *path);

/* Draws to path: written beside it, then renamed. A single group is drawn as bars, one row per series.
 * Errors: E_USAGE, E_ABSENT (no gnuplot), E_IO. */
enum status plot_draw(const struct plot *plot, const char *path);

#endif
