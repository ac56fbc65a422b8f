#include "bench_show.h"

#include "db_view.h"
#include "model.h"
#include "plot.h"
#include "print.h"
#include "race_cells.h"
#include "rivals.h"
#include "workspace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rows of rivals.h that a role had among these problems, if it is one and the same, else the role. */
static const char *title_of(const struct bench_row *rows, size_t count, int runner)
{
    const struct rival_row *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct rival_row *row = rival_for(bench_names[runner], &rows[i].problem);
        if (!row || !(rows[i].times[runner].ratio > 0)) continue;
        if (found && found != row) return bench_names[runner];
        found = row;
    }
    return found ? found->what : bench_names[runner];
}

static const struct column columns[] = {
    {"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
    {"time_us", "time (us)", COLUMN_NUMBER, 2},
    {"tflops", "TFLOPS", COLUMN_NUMBER | COLUMN_RANK(5), 2},
    {"roofline_percent", "of roofline (%)", COLUMN_NUMBER | COLUMN_RANK(7), 1},
    {"cublas_us", "cuBLAS (us)", COLUMN_NUMBER | COLUMN_RANK(4), 2},
    {"ratio", "x cuBLAS", COLUMN_NUMBER, 3},
    {"ratio_low", "low", COLUMN_NUMBER | COLUMN_RANK(6), 3},
    {"ratio_high", "high", COLUMN_NUMBER | COLUMN_RANK(6), 3},
    {"lt_ratio", "x best Lt", COLUMN_NUMBER | COLUMN_RANK(2), 3},
    {"autotune_ratio", "x autotune", COLUMN_NUMBER | COLUMN_RANK(3), 3},
    {"bf16x9_ratio", "x BF16x9", COLUMN_NUMBER | COLUMN_RANK(3), 3},
    {"mark", "note", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(1), 0},
    {"time_low_us", NULL, COLUMN_NUMBER, 0},
    {"time_high_us", NULL, COLUMN_NUMBER, 0},
    {"cublas_low_us", NULL, COLUMN_NUMBER, 0},
    {"cublas_high_us", NULL, COLUMN_NUMBER, 0},
    {"lt_us", NULL, COLUMN_NUMBER, 0},
    {"lt_ratio_low", NULL, COLUMN_NUMBER, 0},
    {"lt_ratio_high", NULL, COLUMN_NUMBER, 0},
    {"lt", NULL, COLUMN_TEXT, 0},
    {"autotune_us", NULL, COLUMN_NUMBER, 0},
    {"autotune_ratio_low", NULL, COLUMN_NUMBER, 0},
    {"autotune_ratio_high", NULL, COLUMN_NUMBER, 0},
    {"autotune", NULL, COLUMN_TEXT, 0},
    {"roofline_us", NULL, COLUMN_NUMBER, 0},
    {"source", NULL, COLUMN_TEXT, 0},
    {"verdict", NULL, COLUMN_TEXT, 0},
    {"bitwise", NULL, COLUMN_BOOL, 0},
    {"registers", NULL, COLUMN_NUMBER, 0},
    {"spill_bytes", NULL, COLUMN_NUMBER, 0},
    {"workspace_bytes", NULL, COLUMN_NUMBER, 0},
    {"config", NULL, COLUMN_TEXT, 0},
    {"rounds", NULL, COLUMN_NUMBER, 0},
    {"cold", NULL, COLUMN_BOOL, 0},
    {"launch", NULL, COLUMN_TEXT, 0},
    {"gpu", NULL, COLUMN_TEXT, 0},
    {"driver", NULL, COLUMN_TEXT, 0},
    {"cublas", NULL, COLUMN_TEXT, 0},
    {"rival", NULL, COLUMN_TEXT, 0},
    {"bf16x9_us", NULL, COLUMN_NUMBER, 0},
    {"bf16x9_ratio_low", NULL, COLUMN_NUMBER, 0},
    {"bf16x9_ratio_high", NULL, COLUMN_NUMBER, 0},
    {"bf16x9", NULL, COLUMN_TEXT, 0},
    ERROR_COLUMNS(8),
    {"behind_ratio", "behind", COLUMN_NUMBER | COLUMN_SOME | COLUMN_RANK(1), 3},
    {"load_ratio", "under load", COLUMN_NUMBER | COLUMN_SOME | COLUMN_RANK(1), 3},
    {"joules", "J", COLUMN_NUMBER | COLUMN_SOME | COLUMN_RANK(1), -3},
    {"cublas_joules", "cuBLAS (J)", COLUMN_NUMBER | COLUMN_SOME | COLUMN_RANK(1), -3},
    {"behind_us", NULL, COLUMN_NUMBER, 0},
    {"behind_cublas_us", NULL, COLUMN_NUMBER, 0},
    {"behind_ratio_low", NULL, COLUMN_NUMBER, 0},
    {"behind_ratio_high", NULL, COLUMN_NUMBER, 0},
    {"behind_lt_ratio", NULL, COLUMN_NUMBER, 0},
    {"load_us", NULL, COLUMN_NUMBER, 0},
    {"load_cublas_us", NULL, COLUMN_NUMBER, 0},
    {"load_ratio_low", NULL, COLUMN_NUMBER, 0},
    {"load_ratio_high", NULL, COLUMN_NUMBER, 0},
    {"load_lt_ratio", NULL, COLUMN_NUMBER, 0},
    {"joules_low", NULL, COLUMN_NUMBER, 0},
    {"joules_high", NULL, COLUMN_NUMBER, 0},
    {"watts", NULL, COLUMN_NUMBER, 0},
    {"cublas_joules_low", NULL, COLUMN_NUMBER, 0},
    {"cublas_joules_high", NULL, COLUMN_NUMBER, 0},
    {"cublas_watts", NULL, COLUMN_NUMBER, 0},
    {"trouble", NULL, COLUMN_TEXT, 0},
};

static double least_us(const struct bench_row *row, const struct bench_place *place)
{
    return model_roofline_us(&row->problem, place->tflops, place->gb_per_s);
}

/* What a reader of the numbers must know about a row. */
static const char *mark(const struct bench_row *row)
{
    const struct bench_times *own = &row->times[BENCH_OWN], *cublas = &row->times[BENCH_CUBLAS];
    if (!row->known) return "not tuned";
    if (!(own->time_us > 0)) return verdict_name(row->outcome.verdict);
    if (!(cublas->time_us > 0)) return "no cuBLAS";
    if (cublas->ratio_high < 1) return "cuBLAS is faster";
    if (row->fastest.cublas_won) return "cuBLAS won its race";
    if (strcmp(row->fastest.how, "tuned") != 0) return row->fastest.how;
    if (row->trouble[0]) return row->trouble;
    return row->fastest.stale ? "stale" : NULL;
}

static void add_row(struct table *t, const struct bench_row *row, const struct bench_plan *plan,
                    const struct bench_place *place)
{
    const struct bench_times *own = &row->times[BENCH_OWN], *cublas = &row->times[BENCH_CUBLAS];
    const struct bench_times *lt = &row->times[BENCH_LT], *autotune = &row->times[BENCH_AUTOTUNE];
    const struct bench_times *bf16x9 = &row->times[BENCH_BF16X9];
    char problem[PROBLEM_TEXT_MAX], config[CONFIG_TEXT_MAX] = "";
    problem_format(&row->problem, problem);
    if (row->known) config_format(&row->fastest.config, config);
    bool ran = own->time_us > 0;
    table_text(t, problem);
    table_number(t, table_known(own->time_us));
    table_number(t, race_tflops(&row->problem, own->time_us));
    table_number(t, ran ? 100 * least_us(row, place) / own->time_us : (double)NAN);
    table_number(t, table_known(cublas->time_us));
    table_number(t, table_known(cublas->ratio));
    table_number(t, table_known(cublas->ratio_low));
    table_number(t, table_known(cublas->ratio_high));
    table_number(t, table_known(lt->ratio));
    table_number(t, table_known(autotune->ratio));
    table_number(t, table_known(bf16x9->ratio));
    table_text(t, mark(row));
    table_number(t, table_known(own->low_us));
    table_number(t, table_known(own->high_us));
    table_number(t, table_known(cublas->low_us));
    table_number(t, table_known(cublas->high_us));
    for (int i = BENCH_LT; i <= BENCH_AUTOTUNE; i++) {
        const struct bench_times *rival = &row->times[i];
        table_number(t, table_known(rival->time_us));
        table_number(t, table_known(rival->ratio_low));
        table_number(t, table_known(rival->ratio_high));
        table_text(t, table_said(rival->detail));
    }
    table_number(t, least_us(row, place));
    table_text(t, row->known ? row->fastest.how : NULL);
    table_text(t, row->known ? verdict_name(row->outcome.verdict) : NULL);
    table_bool(t, row->outcome.exact);
    table_number(t, row->known ? (double)row->build.facts.registers : (double)NAN);
    table_number(t, row->known ? (double)row->build.facts.spill_bytes : (double)NAN);
    table_number(t, row->known ? (double)workspace_of(&row->fastest.config, &row->problem) : (double)NAN);
    table_text(t, table_said(config));
    table_number(t, plan->rounds);
    table_bool(t, plan->cold);
    table_text(t, plan->one_by_one ? "stream" : "graph");
    table_text(t, place->worker->gpu.name);
    table_text(t, table_said(place->worker->driver));
    table_text(t, table_said(place->worker->cublas));
    const struct rival_row *anchor = rival_anchor(&row->problem);
    table_text(t, cublas->time_us > 0 && anchor ? anchor->name : NULL);
    table_number(t, table_known(bf16x9->time_us));
    table_number(t, table_known(bf16x9->ratio_low));
    table_number(t, table_known(bf16x9->ratio_high));
    table_text(t, table_said(bf16x9->detail));
    const struct accuracy unknown = accuracy_unknown();
    error_cells(t, row->problem.type, ran ? &row->outcome.errors : &unknown,
                ran ? &row->rival_errors : &unknown, row->known ? &row->fastest.checked : NULL);
    for (int i = TIMING_BEHIND; i < TIMING_COUNT; i++)
        table_number(t, table_known(row->others[i][BENCH_CUBLAS].ratio));
    for (int i = BENCH_OWN; i <= BENCH_CUBLAS; i++)
        table_number(t, table_known(row->others[TIMING_LOAD][i].joules));
    for (int i = TIMING_BEHIND; i < TIMING_COUNT; i++) {
        const struct bench_times *times = row->others[i];
        table_number(t, table_known(times[BENCH_OWN].time_us));
        table_number(t, table_known(times[BENCH_CUBLAS].time_us));
        table_number(t, table_known(times[BENCH_CUBLAS].ratio_low));
        table_number(t, table_known(times[BENCH_CUBLAS].ratio_high));
        table_number(t, table_known(times[BENCH_LT].ratio));
    }
    for (int i = BENCH_OWN; i <= BENCH_CUBLAS; i++) {
        table_number(t, table_known(row->others[TIMING_LOAD][i].joules_low));
        table_number(t, table_known(row->others[TIMING_LOAD][i].joules_high));
        table_number(t, table_known(row->others[TIMING_LOAD][i].watts));
    }
    table_text(t, table_said(row->trouble));
}

static void say_means(const struct bench_row *rows, size_t count, FILE *stream)
{
    for (int runner = BENCH_CUBLAS; runner < BENCH_RUNNERS; runner++) {
        size_t with, faster = 0;
        double mean = bench_mean(rows, count, (enum bench_runner)runner, &with);
        if (!with) continue;
        for (size_t i = 0; i < count; i++) faster += rows[i].times[runner].ratio >= 1;
        print_line(stream,
                   "geometric mean %.3f times as fast as %s over %zu problem%s, at least as fast on %zu",
                   mean, title_of(rows, count, runner), with, PRINT_S(with), faster);
    }
}

static void say_place(const struct bench_plan *plan, const struct bench_place *place)
{
    const struct worker_info *worker = place->worker;
    char line[1024];
    snprintf(line, sizeof line,
             "%s, driver %s, %s%s; measured roofline %.1f TFLOPS and %.0f GB/s; operands %s; short calls %s; "
             "medians of %d blocks of %g ms",
             worker->gpu.name, worker->driver, worker->cublas[0] ? "cuBLAS " : "no cuBLAS", worker->cublas,
             place->tflops, place->gb_per_s, plan->cold ? "rotated beyond the cache" : "left in the cache",
             plan->one_by_one ? "launched one by one" : "in captured graphs", plan->rounds, plan->block_ms);
    print_wrapped(stdout, 0, print_columns(stdout), line);
    print_end(stdout);
}

enum status bench_show(const struct bench_row *rows, size_t count, const struct bench_plan *plan,
                       const struct bench_place *place, enum table_format format)
{
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    if (!table) return fail(E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) add_row(table, &rows[i], plan, place);
    if (format == TABLE_TEXT) say_place(plan, place);
    enum status st = table_print(table, format, stdout);
    table_free(table);
    if (!st) {
        if (format == TABLE_TEXT) print_end(stdout);
        say_means(rows, count, format == TABLE_TEXT ? stdout : stderr);
    }
    return st;
}

/* ---- the picture ---- */

enum status bench_draw(const struct bench_row *rows, size_t count, const struct bench_place *place,
                       const char *path)
{
    int series = 0, runner_of[BENCH_RUNNERS];
    const char *serie[BENCH_RUNNERS];
    for (int runner = BENCH_CUBLAS; runner < BENCH_RUNNERS; runner++) {
        size_t with;
        bench_mean(rows, count, (enum bench_runner)runner, &with);
        if (!with) continue;
        serie[series] = title_of(rows, count, runner);
        runner_of[series++] = runner;
    }
    if (series == 0)
        return fail(E_ABSENT, "nothing was measured beside a rival, so there is nothing to draw");
    char reached[120], title[160], (*text)[PROBLEM_TEXT_MAX] = calloc(count, sizeof *text);
    const size_t points = count * (size_t)series;
    const char **group = calloc(count, sizeof *group);
    double *value = calloc(points, sizeof *value), *low = calloc(points, sizeof *low),
           *high = calloc(points, sizeof *high), *bound = calloc(count, sizeof *bound);
    enum status st = text && group && value && low && high && bound ? OK : fail(E_MEMORY, "out of memory");
    for (size_t i = 0; i < count && !st; i++) {
        group[i] = reading_shape(&rows[i].problem, text[i]);
        for (int s = 0; s < series; s++) {
            const struct bench_times *times = &rows[i].times[runner_of[s]];
            const size_t at = i * (size_t)series + (size_t)s;
            value[at] = table_known(times->ratio);
            low[at] = table_known(times->ratio_low);
            high[at] = table_known(times->ratio_high);
        }
        bound[i] = table_known(rows[i].times[BENCH_CUBLAS].time_us / least_us(&rows[i], place));
    }
    snprintf(reached, sizeof reached, "what the roofline allows, against %s",
             title_of(rows, count, BENCH_CUBLAS));
    snprintf(title, sizeof title, "Tuned kernels on %s: time of the libraries over ours",
             place->worker->gpu.name);
    struct plot plot = {.title = title,
                        .unit = "times as fast as the library, with its interval (right is better)",
                        .groups = (int)count,
                        .series = series,
                        .group = group,
                        .serie = serie,
                        .value = value,
                        .line = 1,
                        .line_name = "as fast",
                        .ratios = true,
                        .apart = true,
                        .low = low,
                        .high = high,
                        .bound = bound,
                        .bound_name = reached};
    if (!st) st = plot_draw(&plot, path);
    free(text);
    free(group);
    free(value);
    free(low);
    free(high);
    free(bound);
    return st;
}
