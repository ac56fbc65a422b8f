/* ladder_show.h — the results of the ladder, as a table and as a plot. Measures nothing. */
#ifndef GT_LADDER_SHOW_H
#define GT_LADDER_SHOW_H

#include "children.h"
#include "ladder_run.h"
#include "table.h"
#include <stdbool.h>
#include <stddef.h>

/* What this GPU was measured to do at most. */
struct roofline {
    double tflops, gb_per_s;
};

/* Times of every row and of cuBLAS on stdout. cold: operands were rotated beyond the cache. */
enum status ladder_show(const struct ladder_run *runs, size_t count, const struct roofline *roofline,
                        const struct worker_info *worker, bool cold, enum table_format format);

/* What the compiler made of every row. */
enum status ladder_show_compiled(const struct ladder_run *runs, size_t count, const struct gpu *gpu,
                                 enum table_format format);

/* Speed, with that of cuBLAS as 1 where it was measured for every shape, else in TFLOPS: a row a shape; rungs
 * and roofline as series. */
enum status ladder_draw(const struct ladder_run *runs, size_t count, const struct roofline *roofline,
                        const char *gpu, const char *path);

#endif
