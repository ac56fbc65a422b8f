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

void timing_cells(struct table *table, const struct db_winner *w)
{
    const bool measured = w->base.time_us > 0 && !w->base.predicted;
    table_text(table, measured ? timing_name(w->timing) : NULL);
    table_text(table, !measured ? NULL : w->by_energy ? "energy" : "time");
    table_number(table, table_known(w->joules));
    table_number(table, table_known(w->rival_joules));
}

static void class_cells(struct table *table, const struct accuracy *errors)
{
    table_number(table, errors->rms);
    table_number(table, errors->max);
    table_number(table, errors->componentwise);
}

void error_cells(struct table *table, enum gemm_type type, const struct accuracy *own,
                 const struct accuracy *rival, const struct accuracy_checked *checked)
{
    const struct accuracy unknown = accuracy_unknown();
    const bool shown = gemm_type_has_limits(type);
    char text[ACCURACY_TEXT_MAX] = "";
    if (shown && checked) accuracy_checked_format(checked, text);
    table_number(table, shown ? accuracy_over(own, rival) : (double)NAN);
    class_cells(table, shown ? own : &unknown);
    class_cells(table, shown ? rival : &unknown);
    table_text(table, table_said(text));
}

void winner_error_cells(struct table *table, const struct db_winner *w)
{
    const struct accuracy own = db_errors_accuracy(&w->errors), rival = db_errors_accuracy(&w->rival_errors);
    error_cells(table, w->base.problem.type, &own, &rival, &w->checked);
}
