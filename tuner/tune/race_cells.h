/* race_cells.h — how tables show the time of a winner and the race that it won: columns and their cells. */
#ifndef GT_RACE_CELLS_H
#define GT_RACE_CELLS_H

#include "db.h"
#include "table.h"

#define RACE_COLUMNS                                                                                         \
    {"time_us", "time (us)", COLUMN_NUMBER, 2}, {"tflops", "TFLOPS", COLUMN_NUMBER | COLUMN_RANK(2), 2},     \
        {"ratio", "x cuBLAS", COLUMN_NUMBER | COLUMN_RANK(1), 3},                                            \
        {"ratio_low", "low", COLUMN_NUMBER | COLUMN_RANK(4), 3},                                             \
    {                                                                                                        \
        "ratio_high", "high", COLUMN_NUMBER | COLUMN_RANK(4), 3                                              \
    }

/* The cells of these columns; what is not known is empty. */
void race_cells(struct table *table, const struct winner *winner);

/* How the calls of its race were timed (timing.h), what it was chosen by, and the energy of a call in joules.
 * rank: of the columns that people see. */
#define TIMING_COLUMNS(rank)                                                                                 \
    {"timing", "timing", COLUMN_TEXT | COLUMN_COMMON | COLUMN_SOME | COLUMN_RANK(rank), 0},                  \
        {"objective", NULL, COLUMN_TEXT, 0},                                                                 \
        {"joules", "J", COLUMN_NUMBER | COLUMN_SOME | COLUMN_RANK(rank), -3},                                \
    {                                                                                                        \
        "cublas_joules", "cuBLAS (J)", COLUMN_NUMBER | COLUMN_SOME | COLUMN_RANK(rank), -3                   \
    }

/* The cells of these columns, empty where nothing was measured. */
void timing_cells(struct table *table, const struct db_winner *winner);

/* The errors of a winner of an accuracy class beside the speed, and what its last check has measured. rank:
 * of the column that people see. */
#define ERROR_NUMBER (COLUMN_NUMBER | COLUMN_SOME)
#define ERROR_COLUMNS(rank)                                                                                  \
    {"error", "error / FP32", ERROR_NUMBER | COLUMN_RANK(rank), 2}, {"error_rms", NULL, ERROR_NUMBER, -3},   \
        {"error_max", NULL, ERROR_NUMBER, -3}, {"error_componentwise", NULL, ERROR_NUMBER, -3},              \
        {"cublas_error_rms", NULL, ERROR_NUMBER, -3}, {"cublas_error_max", NULL, ERROR_NUMBER, -3},          \
        {"cublas_error_componentwise", NULL, ERROR_NUMBER, -3},                                              \
    {                                                                                                        \
        "checked", NULL, COLUMN_TEXT | COLUMN_SOME, 0                                                        \
    }

/* The cells of these columns, empty for other types. checked NULL: there was no such check. */
void error_cells(struct table *table, enum gemm_type type, const struct accuracy *own,
                 const struct accuracy *rival, const struct accuracy_checked *checked);
void winner_error_cells(struct table *table, const struct db_winner *winner);

/* TFLOPS of a problem that takes time_us; NAN when it takes none. */
double race_tflops(const struct problem *problem, double time_us);

#endif
