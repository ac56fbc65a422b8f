#include "cmd_ladder.h"

#include "db_view.h"
#include "model.h"
#include "plot.h"
#include "print.h"
#include "race_cells.h"
#include "template.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MAX (LADDER_ROWS_MAX + 1) /* and the roofline */

static double percent(double part, double whole)
{
    return part > 0 && whole > 0 ? 100 * part / whole : NAN;
}

static const struct column measured_columns[] = {
    {"shape", "shape", COLUMN_TEXT | COLUMN_KEY, 0},
    {"rung", "rung", COLUMN_TEXT | COLUMN_KEY, 0},
    {"time_us", "time (us)", COLUMN_NUMBER, 1},
    {"tflops", "TFLOPS", COLUMN_NUMBER | COLUMN_RANK(1), 2},
    {"cublas_percent", "of cuBLAS (%)", COLUMN_NUMBER | COLUMN_RANK(2), 1},
    {"roofline_percent", "of roofline (%)", COLUMN_NUMBER | COLUMN_RANK(3), 1},
    {"registers", "registers", COLUMN_NUMBER | COLUMN_RANK(4), 0},
    {"spill_bytes", NULL, COLUMN_NUMBER, 0},
    {"verdict", "verdict", COLUMN_TEXT, 0},
    {"bitwise", NULL, COLUMN_BOOL, 0},
    {"worst_error", NULL, COLUMN_NUMBER, 0},
    {"detail", NULL, COLUMN_TEXT, 0},
    {"config", NULL, COLUMN_TEXT, 0},
    {"gpu", NULL, COLUMN_TEXT, 0},
    {"cold", NULL, COLUMN_BOOL, 0},
};

static void add_row(struct table *table, const struct ladder_run *run, const struct ladder_row *row,
                    double least_us, const char *gpu, bool cold)
{
    char shape[PROBLEM_TEXT_MAX], config[CONFIG_TEXT_MAX];
    config_format(&row->config, config);
    table_text(table, reading_shape(&run->problem, shape));
    table_text(table, row->name);
    table_number(table, table_known(row->time_us));
    table_number(table, race_tflops(&run->problem, row->time_us));
    table_number(table, percent(row->anchor_us, row->time_us));
    table_number(table, percent(least_us, row->time_us));
    table_number(table, table_known(row->build.facts.registers));
    table_number(table, row->build.facts.spill_bytes);
    table_text(table, verdict_name(row->outcome.verdict));
    table_bool(table, row->outcome.exact);
    table_number(table, row->outcome.worst_error);
    table_text(table, table_said(row->outcome.detail));
    table_text(table, config);
    table_text(table, gpu);
    table_bool(table, cold);
}

static void add_cublas(struct table *table, const struct ladder_run *run, double least_us, const char *gpu,
                       bool cold)
{
    char shape[PROBLEM_TEXT_MAX];
    table_text(table, reading_shape(&run->problem, shape));
    table_text(table, "cuBLAS");
    table_number(table, run->anchor_us);
    table_number(table, race_tflops(&run->problem, run->anchor_us));
    table_number(table, 100);
    table_number(table, percent(least_us, run->anchor_us));
    for (int i = 0; i < 2; i++) table_number(table, NAN);
    table_text(table, verdict_name(VERDICT_MEASURED));
    for (int i = 0; i < 2; i++) table_number(table, NAN);
    for (int i = 0; i < 2; i++) table_text(table, NULL);
    table_text(table, gpu);
    table_bool(table, cold);
}

static void say_place(const struct roofline *roofline, const struct worker_info *worker, bool cold)
{
    char line[512];
    snprintf(line, sizeof line, "%s, measured roofline %.1f TFLOPS and %.0f GB/s, %s%s, operands %s",
             worker->gpu.name, roofline->tflops, roofline->gb_per_s,
             worker->cublas[0] ? "cuBLAS " : "no cuBLAS", worker->cublas,
             cold ? "rotated beyond the cache" : "left in the cache");
    print_wrapped(stdout, 0, print_columns(stdout), line);
    print_end(stdout);
}

enum status ladder_show(const struct ladder_run *runs, size_t count, const struct roofline *roofline,
                        const struct worker_info *worker, bool cold, enum table_format format)
{
    struct table *table = table_new(measured_columns, sizeof measured_columns / sizeof *measured_columns);
    if (!table) return fail(E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        double least_us = model_roofline_us(&runs[i].problem, roofline->tflops, roofline->gb_per_s);
        for (int j = 0; j < runs[i].count; j++)
            add_row(table, &runs[i], &runs[i].row[j], least_us, worker->gpu.name, cold);
        if (runs[i].anchor_us > 0) add_cublas(table, &runs[i], least_us, worker->gpu.name, cold);
    }
    if (format == TABLE_TEXT) say_place(roofline, worker, cold);
    enum status st = table_print(table, format, stdout);
    table_free(table);
    return st;
}

enum status ladder_draw(const struct ladder_run *runs, size_t count, const struct roofline *roofline,
                        const char *gpu, const char *path)
{
    int rungs = 0;
    for (size_t i = 0; i < count; i++)
        if (runs[i].count > rungs) rungs = runs[i].count;
    bool anchored = count > 0;
    for (size_t i = 0; i < count; i++) anchored = anchored && runs[i].anchor_us > 0;
    const int series = rungs + 1;
    char title[160], (*text)[PROBLEM_TEXT_MAX] = calloc(count, sizeof *text);
    const char **group = calloc(count, sizeof *group), *serie[SERIES_MAX];
    double *value = calloc(count * SERIES_MAX, sizeof *value);
    enum status st = OK;
    if (!text || !group || !value) {
        st = fail(E_MEMORY, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ladder_run *run = &runs[i];
        const double unit = anchored ? race_tflops(&run->problem, run->anchor_us) : 1;
        double *point = value + i * (size_t)series;
        group[i] = reading_shape(&run->problem, text[i]);
        for (int j = 0; j < rungs; j++) {
            point[j] = j < run->count ? race_tflops(&run->problem, run->row[j].time_us) / unit : NAN;
            if (j < run->count) serie[j] = run->row[j].name;
        }
        point[rungs] = race_tflops(&run->problem,
                                   model_roofline_us(&run->problem, roofline->tflops, roofline->gb_per_s)) /
                       unit;
    }
    serie[rungs] = "roofline";
    snprintf(title, sizeof title, "The ladder on %s", gpu);
    const struct plot plot = {.title = title,
                              .unit = anchored ? "speed, cuBLAS is 1" : "TFLOPS",
                              .groups = (int)count,
                              .series = series,
                              .group = group,
                              .serie = serie,
                              .value = value,
                              .line = anchored ? 1 : 0,
                              .line_name = "cuBLAS"};
    st = plot_draw(&plot, path);
out:
    free(text);
    free(group);
    free(value);
    return st;
}

static const struct column compiled_columns[] = {
    {"op", "op", COLUMN_TEXT | COLUMN_KEY, 0},
    {"rung", "rung", COLUMN_TEXT | COLUMN_KEY, 0},
    {"registers", "registers", COLUMN_NUMBER, 0},
    {"spill_bytes", "spills (B)", COLUMN_NUMBER | COLUMN_RANK(1), 0},
    {"smem_bytes", "shared memory (B)", COLUMN_NUMBER | COLUMN_RANK(4), 0},
    {"threads", "threads", COLUMN_NUMBER | COLUMN_RANK(3), 0},
    {"blocks_per_sm", "blocks an SM", COLUMN_NUMBER | COLUMN_RANK(2), 0},
    {"built", NULL, COLUMN_BOOL, 0},
    {"detail", NULL, COLUMN_TEXT, 0},
    {"config", NULL, COLUMN_TEXT, 0},
    {"gpu", NULL, COLUMN_TEXT, 0},
};

static void add_compiled(struct table *table, const struct ladder_run *run, const struct ladder_row *row,
                         const struct gpu *gpu)
{
    const struct build *build = &row->build;
    struct resources needs = row->config.template->resources(&row->config);
    struct prediction seen = model_predict(&row->config, &run->problem, gpu, &build->facts);
    char config[CONFIG_TEXT_MAX];
    config_format(&row->config, config);
    table_text(table, problem_op_name(&run->problem));
    table_text(table, row->name);
    table_number(table, table_known(build->facts.registers));
    table_number(table, build->built ? (double)build->facts.spill_bytes : (double)NAN);
    table_number(table, needs.smem_bytes + build->facts.static_smem_bytes);
    table_number(table, needs.threads);
    table_number(table, build->built ? (double)seen.blocks_per_sm : (double)NAN);
    table_bool(table, build->built);
    table_text(table, table_said(build->detail));
    table_text(table, config);
    table_text(table, gpu->id[0] ? gpu->id : gpu->name);
}

enum status ladder_show_compiled(const struct ladder_run *runs, size_t count, const struct gpu *gpu,
                                 enum table_format format)
{
    struct table *table = table_new(compiled_columns, sizeof compiled_columns / sizeof *compiled_columns);
    if (!table) return fail(E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < runs[i].count; j++) add_compiled(table, &runs[i], &runs[i].row[j], gpu);
    enum status st = table_print(table, format, stdout);
    table_free(table);
    return st;
}
