/* race_cells.h — how tables show the time of a winner and the race that it won: columns and their cells. */
#ifndef GT_RACE_CELLS_H
#define GT_RACE_CELLS_H

#include "table.h"
#include "winner.h"

#define RACE_COLUMNS                                                                                         \
    {"time_us", "time (us)", COLUMN_NUMBER, 2}, {"tflops", "TFLOPS", COLUMN_NUMBER | COLUMN_RANK(2), 2},     \
        {"ratio", "x cuBLAS", COLUMN_NUMBER | COLUMN_RANK(1), 3},                                            \
        {"ratio_low", "low", COLUMN_NUMBER | COLUMN_RANK(4), 3},                                             \
    {                                                                                                        \
        "ratio_high", "high", COLUMN_NUMBER | COLUMN_RANK(4), 3                                              \
    }

/* The cells of these columns; what is not known is empty. */
void race_cells(struct table *table, const struct winner *winner);

/* TFLOPS of a problem that takes time_us; NAN when it takes none. */
double race_tflops(const struct problem *problem, double time_us);

#endif
