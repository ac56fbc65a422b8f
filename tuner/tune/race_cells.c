#include "race_cells.h"

#include <math.h>

double race_tflops(const struct problem *problem, double time_us)
{
    return time_us > 0 ? problem_flop(problem) / time_us * 1e-6 : (double)NAN;
}

void race_cells(struct table *table, const struct winner *w)
{
    table_number(table, table_known(w->time_us));
    table_number(table, race_tflops(&w->problem, w->time_us));
    table_number(table, table_known(w->ratio));
    table_number(table, table_known(w->ratio_low));
    table_number(table, table_known(w->ratio_high));
}
