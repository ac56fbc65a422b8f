/* bench_show.h — the results of a bench, as a table and as a plot. Measures nothing. */
#ifndef GT_BENCH_SHOW_H
#define GT_BENCH_SHOW_H

#include "bench.h"
#include "table.h"

/* The machine that it ran on, and what it was measured to do at most. */
struct bench_place {
    const struct worker_info *worker;
    double tflops, gb_per_s;
};

/* The rows on stdout; the geometric means after the table, or on stderr beside JSON and CSV. */
enum status bench_show(const struct bench_row *rows, size_t count, const struct bench_plan *plan,
                       const struct bench_place *place, enum table_format format);

/* Bars of the ratios, a group a problem: a serie for each rival that ran, and what the roofline would allow.
 */
enum status bench_draw(const struct bench_row *rows, size_t count, const struct bench_place *place,
                       const char *path);

#endif
