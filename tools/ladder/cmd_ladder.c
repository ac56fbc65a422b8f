/* cmd_ladder.c — tune ladder: the eight rungs from naive to warp tiling and the tuned configuration, each
 * judged and timed against cuBLAS and the roofline that this GPU was measured to have.
 */
#include "command_line.h"
#include "commands.h"
#include "compile.h"
#include "db_view.h"
#include "gpu.h"
#include "gpu_here.h"
#include "ladder_run.h"
#include "ladder_show.h"
#include "paths.h"
#include "plot.h"
#include "print.h"
#include "problem_list.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct problem_list problems;
    const char *rung, *plot, *gpu, *db;
    enum table_format format;
    bool hot, compile_only;
};

static enum status check_options(void *self)
{
    const struct options *o = self;
    if (o->problems.count == 0) return fail(E_USAGE, "say which problem, for example --shape 4096x4096x4096");
    if (o->compile_only && o->plot)
        return fail(E_USAGE, "--plot draws measured times, which --compile-only does not take");
    return problem_list_check(&o->problems);
}

static const struct command_option option_list[] = {
    OPTION_ROWS_PROBLEMS("a problem, MxNxK or in full (see tune --help)"),
    {"rung", 0, "RUNG", "only this rung, for example warptiled", OPTION_TEXT(struct options, rung)},
    {"plot", 0, "FILE", "plot them against cuBLAS into FILE.svg or FILE.png (needs gnuplot)",
     .member = offsetof(struct options, plot), OPTION_CALL(plot_set)},
    OPTION_ROWS_FORMAT(struct options, format),
    OPTION_ROW_GPU(struct options, gpu,
                   "the GPU to run on (0), or with --compile-only to compile for (h200)"),
    {"db", 0, "FILE", "database in which the tuned winner is looked up", OPTION_TEXT(struct options, db)},
    {"hot", 0, NULL, "leave the operands in the L2 cache between calls instead of rotating them",
     OPTION_FLAG(struct options, hot)},
    {"compile-only", 0, NULL, "registers, spills and occupancy of each rung; needs no GPU",
     OPTION_FLAG(struct options, compile_only)}};

static const char about[] =
    "Run the eight rungs from naive to warp tiling and the tuned configuration, check each result, and "
    "compare their times with cuBLAS and the measured roofline.\vIf the database has no winner, the last "
    "row is the fastest trial so far, or the configuration that the model ranks first; its name says "
    "which. Times are medians of blocks that alternate with cuBLAS; 'of cuBLAS' is cuBLAS's time in "
    "those blocks divided by the row's.\n"
    "\n"
    "Example: tune ladder --shape 4096x4096x4096 --plot ladder.svg";

/* A rung that ran wrong is not a slow rung: the command must not end as if all were well. */
static enum status all_right(const struct options *o, const struct ladder_run *runs)
{
    int wrong = 0, all = 0;
    const struct ladder_row *first = NULL;
    for (size_t i = 0; i < o->problems.count; i++) {
        for (int j = 0; j < runs[i].count; j++, all++) {
            if (runs[i].row[j].time_us > 0) continue;
            if (!first) first = &runs[i].row[j];
            wrong++;
        }
    }
    if (!wrong) return OK;
    return fail(E_ABSENT, "%d of %d kernel%s gave no right result; the first, %s, is %s: %s", wrong, all,
                PRINT_S(all), first->name, verdict_name(first->outcome.verdict), first->outcome.detail);
}

static enum status run_all(const struct options *o, struct children *children, struct ladder_run *runs)
{
    const struct worker_info *worker = children_worker(children, 0);
    struct roofline roofline = {0, 0};
    bool live = print_can_replace(stderr);
    enum status st = children_roofline(children, 0, &roofline.tflops, &roofline.gb_per_s);
    for (size_t i = 0; i < o->problems.count && !st; i++) {
        char text[PROBLEM_TEXT_MAX];
        runs[i].problem = o->problems.at[i];
        if (live)
            problem_list_progress("ladder", i + 1, o->problems.count,
                                  reading_shape(&o->problems.at[i], text));
        st = ladder_run_rungs(o->rung, &runs[i]);
        if (!st && !o->rung) st = ladder_run_add_tuned(children, o->db, &worker->gpu, worker, &runs[i]);
        if (!st) st = ladder_run_build(children, worker->gpu.arch, &runs[i]);
        if (!st) st = ladder_run_measure(children, !o->hot, &runs[i]);
    }
    if (live) print_replace(stderr, NULL);
    if (!st) st = ladder_show(runs, o->problems.count, &roofline, worker, !o->hot, o->format);
    if (!st && o->plot) st = ladder_draw(runs, o->problems.count, &roofline, worker->gpu.name, o->plot);
    if (!st) st = all_right(o, runs);
    return st;
}

/* Were the same rungs compiled before? */
static bool is_done(const struct ladder_run *runs, size_t count, const struct ladder_run *run, int arch)
{
    const struct kernel_key key = kernel_key_of(&run->row[0].config, &run->problem, arch);
    for (size_t i = 0; i < count; i++) {
        const struct kernel_key done = kernel_key_of(&runs[i].row[0].config, &runs[i].problem, arch);
        if (kernel_key_equal(&done, &key)) return true;
    }
    return false;
}

/* What the compiler makes of each rung depends on the op of a problem, not on its size: each op once. */
static enum status compile_all(const struct options *o, struct children *children, const struct gpu *gpu,
                               struct ladder_run *runs)
{
    size_t count = 0;
    enum status st = OK;
    for (size_t i = 0; i < o->problems.count && !st; i++) {
        runs[count].problem = o->problems.at[i];
        st = ladder_run_rungs(o->rung, &runs[count]);
        if (!st && is_done(runs, count, &runs[count], gpu->arch)) continue;
        if (!st) st = ladder_run_build(children, gpu->arch, &runs[count]);
        count++;
    }
    return st ? st : ladder_show_compiled(runs, count, gpu, o->format);
}

static enum status find_descriptor(const char *name, struct gpu *gpu)
{
    char folder[4096];
    enum status st = paths_configs("gpus", folder, sizeof folder);
    return st ? st : gpu_choose(folder, name, gpu);
}

const struct command_line cmd_ladder_line = {.options = option_list,
                                             .option_count = sizeof option_list / sizeof *option_list,
                                             .about = about,
                                             .check = check_options};

enum status cmd_ladder(int argc, char **argv)
{
    struct options options = {.format = TABLE_TEXT};
    struct children *children = NULL;
    struct ladder_run *runs = NULL, probe;
    struct gpu gpu;
    char cache[4096];
    int device = 0;
    enum status st = command_line_read(&cmd_ladder_line, argc, argv, &options);
    if (!st)
        st = ladder_run_rungs(options.rung, &probe); /* a wrong name is told before anything is started */
    if (!st && options.compile_only) st = find_descriptor(options.gpu ? options.gpu : "h200", &gpu);
    if (!st) st = compile_cache_path(cache, sizeof cache);
    if (!st && !options.compile_only) st = gpu_here(options.gpu, cache, &device);
    if (st) goto out;

    runs = calloc(options.problems.count, sizeof *runs);
    if (!runs) {
        st = fail(E_MEMORY, "out of memory");
        goto out;
    }
    struct children_options members = {cache, 0, &device, options.compile_only ? 0 : 1};
    if ((st = children_open(&members, &children))) goto out;
    st = options.compile_only ? compile_all(&options, children, &gpu, runs)
                              : run_all(&options, children, runs);
out:
    children_close(children);
    free(runs);
    problem_list_free(&options.problems);
    return st;
}
