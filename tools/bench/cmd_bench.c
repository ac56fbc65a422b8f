/* cmd_bench.c — tune bench: the winners of the database against NVIDIA's libraries, interleaved. Tunes
 * nothing and stores nothing.
 */
#include "bench_show.h"
#include "command_line.h"
#include "commands.h"
#include "compile.h"
#include "gpu_here.h"
#include "plot.h"
#include "pretuned.h"
#include "print.h"
#include "problem_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_FIRST_S 30.0 /* to the GPU's steady state */
#define WARM_S       2.0  /* from one problem to the next it stays warm */

struct options {
    struct problem_list problems;
    struct bench_plan plan;
    const char *plot, *db, *gpu;
    int launch; /* as the choices of --launch */
    enum table_format format;
};

static enum status add_rival(void *self, const struct command_option *option, char *name)
{
    struct bench_plan *plan = &((struct options *)self)->plan;
    (void)option;
    bool known = strcmp(name, "cublas") == 0; /* runs in any case */
    for (int i = BENCH_LT; i < BENCH_RUNNERS; i++)
        if (strcmp(name, bench_names[i]) == 0 || strcmp(name, "all") == 0) known = plan->wanted[i] = true;
    return known ? OK : fail(E_USAGE, "unknown rival '%.40s'; there are lt, autotune, bf16x9 and all", name);
}

static enum status set_block(void *self, const struct command_option *option, char *value)
{
    const double least = 0.1, most = 10000;
    char *end;
    errno = 0;
    const double read = strtod(value, &end);
    if (end == value || *end || errno || !(read >= least && read <= most))
        return fail(E_USAGE, "--%s '%.40s' is not a number in %g..%g", option->name, value, least, most);
    ((struct options *)self)->plan.block_ms = read;
    return OK;
}

static enum status check_options(void *self)
{
    struct options *o = self;
    o->plan.one_by_one = o->launch == 1;
    if (o->problems.count) return problem_list_check(&o->problems);
    return fail(E_USAGE, "say which problem, for example --shape 4096x4096x4096, or --suite FILE");
}

static const struct command_option option_list[] = {
    OPTION_ROWS_PROBLEMS("a problem, MxNxK or in full (see tune --help)"),
    {"rival", 0, "lt|autotune|bf16x9|all",
     "also time this rival: lt (the best algorithm that cublasLt's heuristic proposes), autotune "
     "(CUBLAS_GEMM_AUTOTUNE), bf16x9 (emulated FP32, for problems that do not need strict FP32) or "
     "all; may be repeated",
     .repeats = true, OPTION_CALL(add_rival)},
    {"plot", 0, "FILE", "plot the ratios into FILE.svg or FILE.png (needs gnuplot)",
     .member = offsetof(struct options, plot), OPTION_CALL(plot_set)},
    OPTION_ROWS_FORMAT(struct options, format),
    OPTION_ROW_GPU(struct options, gpu, "the GPU to run on (0)"),
    OPTION_ROW_DB(struct options, db),
    {"hot", 0, NULL, "leave the operands in the L2 cache between calls instead of rotating them",
     OPTION_CLEARS(struct options, plan.cold)},
    {"launch", 0, "graph|stream",
     "how calls below 50 us are launched: graph (default; many in a captured graph, so that only "
     "GPU time is measured) or stream (one by one, as most programs do)",
     OPTION_CHOICE(struct options, launch)},
    {"rounds", 0, "N", "timed blocks per kernel (default 15, at most 101)",
     OPTION_INT(struct options, plan.rounds, 1, BENCH_ROUNDS_MAX)},
    {"block-ms", 0, "MS", "length of a block (default 20)", OPTION_CALL(set_block)},
    {"seed", 0, "N", "seed of the random order of blocks (default 1)",
     OPTION_WHOLE(struct options, plan.seed, 0, 1000000000)}};

static const char about[] =
    "Time the winners of the database (or, where it has none, the winners shipped with the program) "
    "against cuBLAS. Each is verified once more and then timed in blocks, interleaved in random "
    "order. Tunes nothing and stores nothing.\v'x cuBLAS' is cuBLAS's time divided by the kernel's, the "
    "median over the rounds, with its 95 % interval (low, high; of fewer than 6 rounds their range): above 1 "
    "the kernel is faster. Where cuBLAS is faster, or won the race that is stored, so that programs "
    "use it, the row is marked, and the ratio is still that of the kernel. 'of roofline' is the least time "
    "that the measured arithmetic and memory rates of this GPU "
    "allow, divided by the kernel's time. json and csv add times, intervals, configurations and versions. A "
    "problem without a winner is "
    "run with the fastest trial of its search, or listed as not tuned.\n"
    "\n"
    "Examples:\n"
    "  tune bench --suite configs/suites/public.txt --rival lt --plot ratios.svg\n"
    "  tune bench --shape 8x6144x4096 --rival all --format json\n"
    "\n"
    "Exit status: 0 every problem had a kernel and all results were correct; 1 otherwise; others as in "
    "tune --help.";

/* What is known, of the GPU and beforehand: the database need not be there if winners ship with the program.
 */
struct sources {
    struct db *db;
    struct winner_store pretuned;
    struct notices notices;
};

static enum status open_database(const struct options *o, struct sources *from)
{
    char by_default[4096], folder[4096];
    const bool shipped = pretuned_folder(folder, sizeof folder) == OK;
    enum status st = o->db ? OK : db_default_path(by_default, sizeof by_default);
    if (!st) st = db_open(o->db ? o->db : by_default, DB_READ, &from->db);
    return st == E_ABSENT && !o->db && shipped ? OK : st;
}

static enum status open_pretuned(const struct gpu *gpu, struct sources *from)
{
    notices_start(&from->notices, false);
    return winner_store_open_shared(&from->pretuned, gpu, from->db, &from->notices);
}

/* A kernel that ran wrong is not a slow kernel: the command must not end as if all were well. */
static enum status all_right(const struct bench_row *rows, size_t count)
{
    size_t bad = 0;
    const struct bench_row *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].times[BENCH_OWN].time_us > 0) continue;
        if (!first) first = &rows[i];
        bad++;
    }
    if (!bad) return OK;
    char text[PROBLEM_TEXT_MAX];
    problem_format(&first->problem, text);
    return fail(E_ABSENT, "%zu of %zu problem%s ran without a tuned kernel; the first, %s: %s", bad, count,
                PRINT_S(count), text,
                first->known ? first->outcome.detail : "it has not been tuned on this GPU");
}

static enum status bench_all(const struct options *o, struct children *children, struct bench_row *rows)
{
    struct bench_place place = {.worker = children_worker(children, 0)};
    size_t count = o->problems.count, done = 0;
    bool live = print_can_replace(stderr);
    enum status st = children_roofline(children, 0, &place.tflops, &place.gb_per_s);
    for (; done < count && !st; done += !st) {
        char text[PROBLEM_TEXT_MAX];
        problem_format(&rows[done].problem, text);
        if (live) problem_list_progress("bench", done + 1, count, text);
        st = bench_run(children, &o->plan, done ? WARM_S : WARM_FIRST_S, &rows[done]);
    }
    if (live) print_replace(stderr, NULL);
    if (st && done == 0) return st;
    /* What was measured is shown however it ended. */
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    enum status shown = bench_show(rows, done, &o->plan, &place, o->format);
    if (!shown && o->plot) shown = bench_draw(rows, done, &place, o->plot);
    if (st) return fail(st, "%s", sentence);
    return shown ? shown : all_right(rows, count);
}

const struct command_line cmd_bench_line = {.options = option_list,
                                            .option_count = sizeof option_list / sizeof *option_list,
                                            .about = about,
                                            .check = check_options};

enum status cmd_bench(int argc, char **argv)
{
    struct options options = {.plan = {.rounds = 15, .block_ms = 20, .cold = true, .seed = 1}};
    struct children *children = NULL;
    struct bench_row *rows = NULL;
    struct sources from = {.db = NULL};
    char cache[4096];
    int device = 0;
    enum status st = command_line_read(&cmd_bench_line, argc, argv, &options);
    if (!st) st = open_database(&options, &from);
    if (!st) st = compile_cache_path(cache, sizeof cache);
    if (!st) st = gpu_here(options.gpu, cache, &device);
    if (st) goto out;
    rows = calloc(options.problems.count, sizeof *rows);
    if (!rows) {
        st = fail(E_MEMORY, "out of memory for %zu problems", options.problems.count);
        goto out;
    }
    for (size_t i = 0; i < options.problems.count; i++) rows[i].problem = options.problems.at[i];
    struct children_options members = {cache, 0, &device, 1};
    st = children_open(&members, &children);
    if (!st) st = open_pretuned(&children_worker(children, 0)->gpu, &from);
    if (!st)
        st = bench_choose(children, from.db, &from.pretuned, options.plan.cold, rows, options.problems.count);
    if (!st) st = bench_all(&options, children, rows);
out:
    children_close(children);
    winner_store_close(&from.pretuned);
    db_close(from.db);
    free(rows);
    problem_list_free(&options.problems);
    return st;
}
