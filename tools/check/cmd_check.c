/* cmd_check.c — tune check: is an own kernel right, and how fast is it beside cuBLAS? For whoever writes one,
 * and for programs that do. Stores nothing.
 */
#include "children.h"
#include "command_line.h"
#include "commands.h"
#include "compile.h"
#include "messages.h"
#include "own_choice.h"
#include "print.h"
#include "stats.h"
#include "suite.h"
#include "table.h"
#include "template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHAPES_MAX 64
#define ROUNDS     9
#define BLOCK_MS   20.0
#define WARM_S     0.3
#define DEADLINE_S 120.0 /* of a trial or a check: a kernel that takes longer hangs */

struct check {
    struct command_words words;
    const char *set, *gpu, *shape[SHAPES_MAX];
    char cache[4096];
    int shapes, device;
    int64_t seed;
    enum table_format format;
};

/* What came of one shape. */
struct checked {
    struct problem problem;
    struct config config;
    struct build build;
    enum verdict verdict;
    char detail[OUTCOME_DETAIL_MAX];
    int cases, skipped;
    double time_us, rival_us, ratio, ratio_low, ratio_high; /* 0: not timed */
    char rival[40];
};

static enum status add_shape(void *self, const struct command_option *option, char *text)
{
    struct check *c = self;
    (void)option;
    if (c->shapes == SHAPES_MAX)
        return fail(E_USAGE, "--shape can be given %d times in one command", SHAPES_MAX);
    c->shape[c->shapes++] = text;
    return OK;
}

static const struct command_option rows[] = {
    {"set", 0, "NAME=V,...", "values of parameters; of the others, those that the model likes best",
     OPTION_TEXT(struct check, set)},
    {"shape", 's', "MxNxK", "a problem, or its full form TYPE:OP:MxNxK:... (512x512x512); may be repeated",
     .repeats = true, OPTION_CALL(add_shape)},
    OPTION_ROW_GPU(struct check, gpu, "the GPU of this machine"),
    {"seed", 0, "N", "seed of the data (1)", OPTION_WHOLE(struct check, seed, 0, INT64_MAX)},
    OPTION_ROWS_FORMAT(struct check, format),
};

static const char text[] = "Check a kernel of your own (docs/own-kernels.md): build it, compare what it "
                           "computes with an independent reference, and "
                           "time it beside cuBLAS.\vRight means: whole numbers and random ones, over C "
                           "poisoned in two ways; twenty runs with the same "
                           "bits; other sizes that the description allows, padded lines, batches; special "
                           "values of alpha and beta, and C not read at "
                           "beta 0; NaN and infinity; nothing written outside C. The first wrong element is "
                           "shown. One row a shape; nothing is "
                           "stored. Without a GPU it builds the kernel for the one that --gpu names (h200), "
                           "and says that nothing ran.\n"
                           "\n"
                           "Examples:\n"
                           "  tune check my.cu\n"
                           "  tune check my.cu --set BM=128,BN=64 --shape 4096x4096x4096 --json\n"
                           "\n"
                           "Exit status: 0 right; 20 wrong; 21 it does not build, or the driver refuses it; "
                           "22 it crashed; 23 it hung; 3 its "
                           "description or --shape is wrong, or no configuration is legal for the shape; 5 "
                           "it builds, and there is no GPU to run it; "
                           "others as in tune --help.";

static enum status check_words(void *self)
{
    const struct check *c = self;
    return c->words.count == 1 ? OK : fail(E_USAGE, "name one kernel: tune check my.cu");
}

const struct command_line cmd_check_line = {.options = rows,
                                            .option_count = sizeof rows / sizeof *rows,
                                            .about = text,
                                            .arguments = "FILE",
                                            .words = offsetof(struct check, words),
                                            .check = check_words};

/* ---- one shape ---- */

/* A request whose worker may die of it: then *answer is NULL, and the row says how. */
static enum status ask(struct children *children, json_t *request, struct checked *row, json_t **answer)
{
    *answer = NULL;
    enum status st = request ? children_send(children, 0, request, DEADLINE_S, row)
                             : fail(E_MEMORY, "out of memory for a request");
    while (!st) {
        struct children_event event;
        if ((st = children_wait(children, DEADLINE_S, &event))) return st;
        if (event.kind == CHILDREN_INTERRUPT) return fail(E_INTERRUPTED, "interrupted");
        if (event.kind == CHILDREN_GONE) return fail(E_GPU, "%s", event.reason);
        if (event.kind == CHILDREN_ANSWER) {
            *answer = event.answer;
            return message_check(event.answer);
        }
        if (event.kind != CHILDREN_LOST || !event.tag) continue;
        row->verdict = event.hung ? VERDICT_HUNG : VERDICT_CRASHED;
        snprintf(row->detail, sizeof row->detail, "%.199s", event.reason);
        return OK;
    }
    return st;
}

static enum status prepare(struct children *children, const struct check *c, struct checked *row)
{
    json_t *answer = NULL;
    enum status st =
        children_ask(children, 0, request_prepare(&row->problem, true, (uint64_t)c->seed, WARM_S, 0),
                     CHILDREN_PREPARE_S, &answer);
    if (!st) row->rival_us = json_number_value(json_object_get(answer, "anchor_us"));
    const char *rival = json_string_value(json_object_get(answer, "rival"));
    snprintf(row->rival, sizeof row->rival, "%s", rival ? rival : "");
    json_decref(answer);
    return st;
}

static enum status judge(struct children *children, struct checked *row)
{
    struct outcome outcome;
    json_t *answer = NULL;
    enum status st = ask(children, request_trial(&row->config, &row->build, 0, 0), row, &answer);
    if (!st && answer) st = outcome_from_json(json_object_get(answer, "outcome"), &outcome);
    if (!st && answer) {
        row->verdict = outcome.verdict == VERDICT_SLOW ? VERDICT_MEASURED : outcome.verdict;
        row->time_us = outcome.time_us;
        snprintf(row->detail, sizeof row->detail, "%s", outcome.detail);
    }
    json_decref(answer);
    return st;
}

static enum status verify(struct children *children, struct checked *row)
{
    json_t *answer = NULL;
    enum status st = ask(children, request_verify(&row->config, &row->build, row->time_us, 0), row, &answer);
    const char *verdict = json_string_value(json_object_get(answer, "verdict")),
               *detail = json_string_value(json_object_get(answer, "detail"));
    if (!st && answer && verdict) st = verdict_parse(verdict, &row->verdict);
    if (!st && answer && detail) snprintf(row->detail, sizeof row->detail, "%.199s", detail);
    row->cases = (int)json_integer_value(json_object_get(answer, "shapes"));
    row->skipped = (int)json_integer_value(json_object_get(answer, "skipped"));
    json_decref(answer);
    return st;
}

static enum status block(struct children *children, struct checked *row, bool own, double *time_us)
{
    json_t *answer = NULL;
    enum status st = ask(
        children, own ? request_block(&row->config, &row->build, BLOCK_MS) : request_anchor_block(BLOCK_MS),
        row, &answer);
    *time_us = !st && answer ? json_number_value(json_object_get(answer, "time_us")) : 0;
    json_decref(answer);
    return st;
}

/* Blocks in turns; the interval is that of the median of the rounds' ratios (stats.h). */
static enum status race(struct children *children, struct checked *row)
{
    double own[ROUNDS], rival[ROUNDS], ratio[ROUNDS], ignored;
    enum status st = block(children, row, true, &ignored);
    if (!st && row->verdict == VERDICT_MEASURED) st = block(children, row, false, &ignored);
    for (int i = 0; i < ROUNDS && !st && row->verdict == VERDICT_MEASURED; i++) {
        st = block(children, row, true, &own[i]);
        if (!st && row->verdict == VERDICT_MEASURED) st = block(children, row, false, &rival[i]);
        if (!st && !(own[i] > 0 && rival[i] > 0)) return OK; /* the row has the trial's time */
        ratio[i] = rival[i] / own[i];
    }
    if (st || row->verdict != VERDICT_MEASURED) return st;
    row->time_us = stats_median(own, ROUNDS);
    row->rival_us = stats_median(rival, ROUNDS);
    row->ratio = stats_median(ratio, ROUNDS);
    stats_median_interval(ratio, ROUNDS, &row->ratio_low, &row->ratio_high);
    return OK;
}

static enum status build(struct children *children, int arch, struct checked *row)
{
    const struct kernel_key key = kernel_key_of(&row->config, &row->problem, arch);
    enum status st = children_build_all(children, &key, 1, &row->build);
    row->verdict = VERDICT_PREDICTED; /* not judged yet */
    if (st || row->build.built) return st;
    row->verdict = row->build.verdict;
    snprintf(row->detail, sizeof row->detail, "%s", row->build.detail);
    return OK;
}

static enum status run(struct children *children, const struct check *c, struct checked *row)
{
    enum status st = prepare(children, c, row);
    if (!st) st = judge(children, row);
    if (!st && row->verdict == VERDICT_MEASURED)
        st = prepare(children, c, row); /* what a kernel has done is undone */
    if (!st && row->verdict == VERDICT_MEASURED) st = verify(children, row);
    if (!st && row->verdict == VERDICT_MEASURED && row->rival_us > 0) st = race(children, row);
    if (row->ratio == 0) row->rival_us = 0; /* the preparation's figure is no comparison */
    return st;
}

/* ---- all ---- */

static enum status parse_shapes(struct check *c, struct checked *all)
{
    enum status st = OK;
    if (c->shapes == 0) c->shape[c->shapes++] = "512x512x512";
    for (int i = 0; i < c->shapes && !st; i++) {
        st = suite_line(c->shape[i], GEMM_SGEMM, NULL, &all[i].problem);
        if (st)
            st = fail(E_INPUT, "'%.60s': %s", c->shape[i], st == E_ABSENT ? "it is empty" : status_text());
    }
    return st;
}

static const char *word_of(const struct checked *row)
{
    return row->verdict == VERDICT_MEASURED    ? "right"
           : row->verdict == VERDICT_PREDICTED ? "builds"
                                               : verdict_name(row->verdict);
}

static enum status show(const struct checked *all, int count, enum table_format format)
{
    static const struct column columns[] = {{"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
                                            {"verdict", "verdict", COLUMN_TEXT | COLUMN_KEY, 0},
                                            {"time_us", "time (us)", COLUMN_NUMBER, 2},
                                            {"rival_us", "cuBLAS (us)", COLUMN_NUMBER, 2},
                                            {"ratio", "x cuBLAS", COLUMN_NUMBER, 3},
                                            {"ratio_low", "low", COLUMN_NUMBER, 3},
                                            {"ratio_high", "high", COLUMN_NUMBER, 3},
                                            {"cases", "cases", COLUMN_NUMBER, 0},
                                            {"skipped", "skipped", COLUMN_NUMBER, 0},
                                            {"registers", "registers", COLUMN_NUMBER, 0},
                                            {"spill_bytes", "spills (B)", COLUMN_NUMBER, 0},
                                            {"configuration", "configuration", COLUMN_TEXT, 0},
                                            {"detail", "detail", COLUMN_TEXT | COLUMN_LAST, 0}};
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    if (!table) return fail(E_MEMORY, "out of memory");
    for (int i = 0; i < count; i++) {
        const struct checked *row = &all[i];
        const double numbers[] = {row->time_us, row->rival_us, row->ratio, row->ratio_low, row->ratio_high};
        char problem[PROBLEM_TEXT_MAX], config[CONFIG_TEXT_MAX];
        problem_format(&row->problem, problem);
        config_format(&row->config, config);
        table_text(table, problem);
        table_text(table, word_of(row));
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            table_number(table, numbers[j] > 0 ? numbers[j] : (double)NAN);
        table_number(table, row->cases);
        table_number(table, row->skipped);
        table_number(table, row->build.built ? row->build.facts.registers : (double)NAN);
        table_number(table, row->build.built ? row->build.facts.spill_bytes : (double)NAN);
        table_text(table, config);
        table_text(table, row->detail);
    }
    const enum status st = table_print(table, format, stdout);
    table_free(table);
    return st;
}

enum { EXIT_WRONG = 20, EXIT_UNBUILDABLE, EXIT_CRASHED, EXIT_HUNG };

/* The first that is not right decides. */
static enum status judge_all(const struct checked *all, int count, bool ran)
{
    for (int i = 0; i < count; i++) {
        switch (all[i].verdict) {
        case VERDICT_MEASURED:
        case VERDICT_SLOW:
        case VERDICT_PREDICTED:
            continue;
        case VERDICT_WRONG:
            cmd_run_exit = EXIT_WRONG;
            break;
        case VERDICT_CRASHED:
            cmd_run_exit = EXIT_CRASHED;
            break;
        case VERDICT_HUNG:
            cmd_run_exit = EXIT_HUNG;
            break;
        default:
            cmd_run_exit = EXIT_UNBUILDABLE;
        }
        print_line(stderr, "tune: %s: %s", verdict_name(all[i].verdict), all[i].detail);
        return fail(E_PROGRAM, "%s", all[i].detail);
    }
    return ran ? OK : fail(E_GPU, "it builds; there is no GPU here on which it could be run");
}

/* Without a GPU, compilers alone. */
static enum status open_children(struct check *c, struct children **children, struct gpu *gpu, bool *runs)
{
    struct children_options options = {
        .cache = c->cache, .compilers = 1, .devices = &c->device, .device_count = 1};
    enum status st = children_open(&options, children);
    *runs = !st;
    if (!st) *gpu = children_worker(*children, 0)->gpu;
    if (st != E_GPU) return st;
    st = own_described_gpu(command_gpu_number(c->gpu ? c->gpu : "0") < 0 ? c->gpu : NULL, gpu);
    options.device_count = 0;
    return st ? st : children_open(&options, children);
}

/* Kernels are added before there are children: these are told of them when they start. */
static enum status choose(struct check *c, struct checked *all, const struct gpu *gpu)
{
    enum status st = OK;
    for (int i = 0; i < c->shapes && !st; i++)
        st = own_choose(c->words.at[0], c->set, &all[i].problem, gpu, &all[i].config);
    return st == E_ABSENT ? fail(E_INPUT, "%s", status_text()) : st;
}

enum status cmd_check(int argc, char **argv)
{
    struct check c = {.seed = 1};
    struct children *children = NULL;
    struct gpu gpu;
    bool runs = false;
    struct checked *all = calloc(SHAPES_MAX, sizeof *all);
    if (!all) return fail(E_MEMORY, "out of memory for shapes");
    enum status st = command_line_read(&cmd_check_line, argc, argv, &c);
    if (!st) st = parse_shapes(&c, all);
    if (!st) st = compile_cache_path(c.cache, sizeof c.cache);
    if (!st && c.gpu && (c.device = command_gpu_number(c.gpu)) < 0) c.device = 0;
    if (!st) st = own_described_gpu(NULL, &gpu);
    if (!st) st = choose(&c, all, &gpu);
    if (!st) st = open_children(&c, &children, &gpu, &runs);
    if (!st) st = choose(&c, all, &gpu);
    for (int i = 0; i < c.shapes && !st; i++) {
        st = build(children, gpu.arch, &all[i]);
        if (!st && runs && all[i].build.built) st = run(children, &c, &all[i]);
    }
    if (!st) st = show(all, c.shapes, c.format);
    if (!st) st = judge_all(all, c.shapes, runs);
    children_close(children);
    free(all);
    return st;
}
