#include "tune_options.h"

#include "template.h"

#include "budget.h"
#include "capture.h"
#include "command_line.h"
#include "compile.h"
#include "db.h"
#include "likely.h"
#include "not_done.h"
#include "own.h"
#include "own_read.h"
#include "print.h"
#include "search.h"
#include "suite.h"
#include "workspace.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the options say, judged as a whole once all are known. */
struct option_parser {
    struct tune_options o;
    const char **shapes, **suites; /* owned */
    size_t shape_count, suite_count;
    const char *capture, *op, *type;
    enum gemm_type accuracy;        /* in place of GEMM_TYPE_DEFAULT */
    enum prepared_operand prepared; /* of all problems */
    bool invariant;                 /* all problems */
};

static enum status set_timing(void *self, const struct command_option *option, char *text)
{
    struct tune_options *o = &((struct option_parser *)self)->o;
    enum call_timing timing;
    o->timing = RACE_BY_CALL;
    if (strcmp(text, "auto") == 0) return OK;
    if (timing_parse(text, &timing))
        return fail(E_USAGE, "--%s '%.40s' is not auto, repeat, behind or load", option->name, text);
    o->timing = (int)timing;
    return OK;
}

static enum status set_objective(void *self, const struct command_option *option, char *text)
{
    struct tune_options *o = &((struct option_parser *)self)->o;
    o->by_energy = strcmp(text, "energy") == 0;
    if (o->by_energy || strcmp(text, "time") == 0) return OK;
    return fail(E_USAGE, "--%s '%.40s' is not time or energy", option->name, text);
}

static enum status parse_devices(void *self, const struct command_option *option, char *text)
{
    struct tune_options *o = &((struct option_parser *)self)->o;
    o->gpus_given = true;
    if (strcmp(text, "all") == 0) {
        o->device_count = CHILDREN_ALL_DEVICES;
        return OK;
    }
    o->device_count = 0;
    for (const char *rest = text;;) {
        size_t digits = strspn(rest, "0123456789");
        int device = atoi(rest);
        bool bad = digits == 0 || digits > 4 || (rest[digits] && rest[digits] != ',');
        for (int i = 0; !bad && i < o->device_count; i++) bad = o->devices[i] == device;
        if (bad || o->device_count == CHILDREN_WORKERS_MAX)
            return fail(E_USAGE, "--%s '%.60s' is not 'all' or a list of GPU numbers such as 0,1",
                        option->name, text);
        o->devices[o->device_count++] = device;
        if (!rest[digits]) return OK;
        rest += digits + 1;
    }
}

/* Into an array of TUNE_PATH_MAX bytes. */
static enum status copy_path(void *self, const struct command_option *option, char *text)
{
    if (!*text || strlen(text) >= TUNE_PATH_MAX)
        return fail(E_USAGE, "--%s needs a path of 1 to %d characters", option->name, TUNE_PATH_MAX - 1);
    memcpy((char *)self + option->member, text, strlen(text) + 1);
    return OK;
}

static enum status add_to(const char ***list, size_t *count, const char *text)
{
    const char **grown = realloc(*list, (*count + 1) * sizeof *grown);
    if (!grown) return fail(E_MEMORY, "out of memory for the command line");
    *list = grown;
    grown[(*count)++] = text;
    return OK;
}

static enum status add_shape(void *self, const struct command_option *option, char *text)
{
    struct option_parser *r = self;
    (void)option;
    return add_to(&r->shapes, &r->shape_count, text);
}

/* Into the table of templates, which child processes are told of when they start. */
static enum status add_kernel(void *self, const struct command_option *option, char *path)
{
    struct tune_options *o = &((struct option_parser *)self)->o;
    char *text = NULL;
    const struct template *t = NULL;
    if (o->own_count == TUNE_OWN_MAX)
        return fail(E_USAGE, "--%s can be given %d times in one command", option->name, TUNE_OWN_MAX);
    enum status st = own_read(path, &text);
    if (!st) st = own_add(text, &t);
    free(text);
    if (st == E_ABSENT) st = fail(E_INPUT, "%s", status_text());
    for (int i = 0; i < o->own_count && !st; i++)
        if (o->own[i] == t) return OK;
    if (!st) o->own[o->own_count++] = t;
    o->own_relative |= path[0] != '/';
    return st;
}

static enum status add_suite(void *self, const struct command_option *option, char *text)
{
    struct option_parser *r = self;
    (void)option;
    return add_to(&r->suites, &r->suite_count, text);
}

/* A configuration that could be a candidate. */
static enum status parse_config(const char *option, const char *text, struct config *config)
{
    enum status st = config_parse_brief(text, config);
    if (st) return fail(E_INPUT, "--%s: %.400s", option, status_text());
    if (config->template->space || config->template->own || template_is_library(config->template)) return OK;
    return fail(E_INPUT, "--%s: %s is never searched, so that it can be neither pinned nor excluded", option,
                config->template->name);
}

static enum status set_pin(void *self, const struct command_option *option, char *text)
{
    return parse_config(option->name, text, &((struct option_parser *)self)->o.pin);
}

static enum status add_config(const struct command_option *option, const char *text, struct config *list,
                              int *count)
{
    if (*count == TUNE_PREFER_MAX)
        return fail(E_USAGE, "--%s can be given %d times in one command; repeat the command for more",
                    option->name, TUNE_PREFER_MAX);
    return parse_config(option->name, text, &list[(*count)++]);
}

static enum status add_excluded(void *self, const struct command_option *option, char *text)
{
    struct tune_options *o = &((struct option_parser *)self)->o;
    return add_config(option, text, o->exclude, &o->exclude_count);
}

static enum status add_included(void *self, const struct command_option *option, char *text)
{
    struct tune_options *o = &((struct option_parser *)self)->o;
    return add_config(option, text, o->include, &o->include_count);
}

static enum status set_budget(void *self, const struct command_option *option, char *text)
{
    (void)option;
    return budget_parse(text, &((struct option_parser *)self)->o.budget_s);
}

static enum status set_workspace(void *self, const struct command_option *option, char *text)
{
    (void)option;
    return workspace_parse("--workspace", text, &((struct option_parser *)self)->o.workspace_bytes);
}

static enum status set_shard(void *self, const struct command_option *option, char *text)
{
    return shard_parse(option->name, text, &((struct option_parser *)self)->o.shard);
}

static enum status set_accuracy(void *self, const struct command_option *option, char *text)
{
    if (gemm_type_of_accuracy(text, &((struct option_parser *)self)->accuracy)) return OK;
    return fail(E_USAGE, "--%s '%.40s' is none of %s", option->name, text, GEMM_ACCURACIES);
}

static enum status set_prepared(void *self, const struct command_option *option, char *text)
{
    if (problem_prepared_parse(text, &((struct option_parser *)self)->prepared)) return OK;
    return fail(E_USAGE, "--%s '%.40s' is none of %s", option->name, text, PREPARED_OPERANDS);
}

static const struct command_option rows[] = {
    {.about = "What to tune:", .group = 1},
    {"shape", 's', "MxNxK", "a problem, or its full form TYPE:OP:MxNxK:...; may be repeated", .repeats = true,
     OPTION_CALL(add_shape)},
    {"suite", 0, "FILE", SUITE_ABOUT, .repeats = true, OPTION_CALL(add_suite)},
    {"from-capture", 0, "FILE",
     "the problems of a program, recorded with GEMMTUNE_CAPTURE, weighted by their share of its time",
     OPTION_TEXT(struct option_parser, capture)},
    {"op", 0, "nn|nt|tn|tt", "op of shapes without one (nn)", OPTION_TEXT(struct option_parser, op)},
    {"type", 0, "TYPE", "type of problems without one (sgemm: strict FP32)",
     OPTION_TEXT(struct option_parser, type)},
    {"kernel", 0, "FILE",
     "search this kernel of your own, alone: a CUDA source whose first comment describes it "
     "(docs/own-kernels.md); may be repeated",
     .repeats = true, OPTION_CALL(add_kernel)},
    {"with-ours", 0, NULL, "with --kernel: in one search with gemmtune's kernels",
     OPTION_FLAG(struct option_parser, o.with_ours)},
    {"accuracy", 0, GEMM_ACCURACIES, GEMM_ACCURACY_ABOUT, OPTION_CALL(set_accuracy)},
    {"shard", 0, "I/N",
     "only the I-th of N shares of the problems, from 0 on, which take about the same time; needs --db (tune "
     "cluster)",
     OPTION_CALL(set_shard)},
    {"prepared", 0, PREPARED_OPERANDS, PREPARED_ABOUT, OPTION_CALL(set_prepared)},
    {"batch-invariant", 0, NULL, INVARIANT_ABOUT, OPTION_FLAG(struct option_parser, invariant)},
    {.about = "Where:", .group = 2},
    OPTION_ROW_GPU(struct option_parser, o.gpu, "the GPU: measure if it is present, else predict"),
    {"gpus", 0, "0,1|all", "GPUs of this machine, one problem at a time on each (0)",
     OPTION_CALL(parse_devices)},
    {.about = "How long and how:", .group = 3},
    {"budget", 0, "TIME",
     "time for the whole run: 30s, 10m, 8h, 1h30m (10m per problem, or less if the search expects nothing "
     "more)",
     OPTION_CALL(set_budget)},
    {"max-trials", 0, "N", "most candidates per problem, including those of earlier runs",
     OPTION_WHOLE(struct option_parser, o.max_trials, 1, INT64_MAX)},
    {"strategy", 0, "gp|random|exhaustive", "how candidates are chosen (gp)",
     OPTION_TEXT(struct option_parser, o.strategy)},
    {"seed", 0, "N", "seed of the search and the data (1)",
     OPTION_WHOLE(struct option_parser, o.seed, 0, INT64_MAX)},
    {"space", 0, "wide|FILE|DIR", "values to try: wide (all that is possible), a file or a folder",
     OPTION_CALL(copy_path), .member = offsetof(struct option_parser, o.space)},
    {"cold", 0, NULL, "time with operands rotated so that they are not in L2 (the default)",
     OPTION_FLAG(struct option_parser, o.cold)},
    {"hot", 0, NULL, "time with operands in L2", OPTION_CLEARS(struct option_parser, o.cold)},
    {"timing", 0, "auto|repeat|behind|load",
     "how the calls of the race are timed: repeated alone, behind another kernel that has just written A, or "
     "under load, after half a second of the same call; auto (the default): below 100 us behind, else "
     "repeated, and the fastest under load if the GPU reaches its power limit",
     OPTION_CALL(set_timing)},
    {"objective", 0, "time|energy",
     "what the winner has the least of: time (the default), or, among those within 3 % of the fastest, the "
     "energy of a call",
     OPTION_CALL(set_objective)},
    {"workspace", 0, "SIZE",
     "most device memory for a kernel's workspace: 0, 512K, 64M, 1G (GEMMTUNE_WORKSPACE, else 64M for sgemm "
     "and 1G for other types)",
     OPTION_CALL(set_workspace)},
    {"jobs", 0, "N", "compiler processes (one per core that this process may use; at most 4 per core, or 16)",
     OPTION_INT(struct option_parser, o.compilers, 1, 1024)},
    {"no-pretuned", 0, NULL, "start without the winners shipped with the program",
     OPTION_CLEARS(struct option_parser, o.pretuned)},
    {"no-transfer", 0, NULL, "start without what trials of other problems teach",
     OPTION_CLEARS(struct option_parser, o.transfer)},
    {"no-library", 0, NULL, "no algorithm of cublasLt may win: kernels of gemmtune only",
     OPTION_CLEARS(struct option_parser, o.library)},
    {"again", 0, NULL, "continue the search even if a winner is stored",
     OPTION_FLAG(struct option_parser, o.again)},
    {.about = "What you want for one problem (--shape) on its GPU:", .group = 4},
    {"pin", 0, "CONFIG",
     "make this configuration its winner, measured if the GPU is present, until --unpin; as tables show it "
     "('simt BM=128 ...'), or in full",
     OPTION_CALL(set_pin)},
    {"unpin", 0, NULL, "take that back, and search again", OPTION_FLAG(struct option_parser, o.unpin)},
    {"exclude", 0, "CONFIG", "never choose this configuration for it; may be repeated", .repeats = true,
     OPTION_CALL(add_excluded)},
    {"include", 0, "CONFIG", "take that back; may be repeated", .repeats = true, OPTION_CALL(add_included)},
    {.about = "Files and output:", .group = 5},
    {"db", 0, "FILE", "the database (GEMMTUNE_DB, else the user's)", OPTION_CALL(copy_path),
     .member = offsetof(struct option_parser, o.db)},
    {"known", 0, "FILE",
     "another database, only read: problems with a winner there are skipped, and its winners and trials are "
     "hints for "
     "others",
     OPTION_TEXT(struct option_parser, o.known)},
    {"save", 0, "FILE",
     "keep a copy of the database there, written whole every minute and at the end, with FILE.json on how "
     "far the run is; "
     "the database begins with it",
     OPTION_CALL(copy_path), .member = offsetof(struct option_parser, o.save)},
    {"cache", 0, "DIR", "folder of compiled kernels (GEMMTUNE_CACHE, else the user's)",
     OPTION_CALL(copy_path), .member = offsetof(struct option_parser, o.cache)},
    OPTION_ROWS_FORMAT(struct option_parser, o.format),
    {"report", 0, "FILE",
     "a page for the browser that shows the run, written every few seconds (tune report)",
     OPTION_TEXT(struct option_parser, o.report)},
};

static const char *const excluding[][2] = {{"pin", "unpin"}, {NULL}};

/* ---- the problems ---- */

static enum status add_problem(struct tune_options *o, const struct problem *problem)
{
    if (problem->m < 1 || problem->n < 1 || problem->k < 1) {
        char text[PROBLEM_TEXT_MAX];
        problem_format(problem, text);
        return fail(E_INPUT, "%s multiplies nothing: M, N and K must be at least 1 to be tuned", text);
    }
    if ((o->problem_count & (o->problem_count - 1)) ==
        0) { /* 0 or a power of two: as many as there is room for */
        const size_t room = o->problem_count ? 2 * o->problem_count : 1;
        struct problem *grown = realloc(o->problems, room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for the problems");
        o->problems = grown;
    }
    o->problems[o->problem_count++] = *problem;
    return OK;
}

/* *type: of problems that name none. */
static enum status check_op_and_type(const struct option_parser *r, enum gemm_type *type)
{
    char names[GEMM_TYPE_NAMES_MAX], meant[LIKELY_TEXT_MAX];
    *type = GEMM_TYPE_DEFAULT;
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    bool known = !r->op;
    for (int i = 0; i < 4 && !known; i++) known = strcmp(r->op, ops[i]) == 0;
    if (!known) return fail(E_INPUT, "unknown op '%.40s'; there are nn, nt, tn and tt", r->op);
    if (!r->type || gemm_type_find(r->type, type)) return OK;
    const char *why = not_done(r->type);
    if (why) return fail(E_INPUT, "--type %.40s: %s", r->type, why);
    return fail(E_INPUT, "unknown type '%.40s'; there are %s%s", r->type, gemm_type_names(names),
                gemm_type_likely(r->type, meant));
}

/* Adds the problems of a capture in the order of their share of the program's time. An empty product takes
 * none. */
static enum status add_capture(struct option_parser *r)
{
    struct tune_options *o = &r->o;
    struct capture capture = {0};
    if (o->problem_count || r->suite_count || r->op || r->type)
        return fail(E_USAGE,
                    "--from-capture brings its own problems; --shape, --suite, --op and --type have no "
                    "place beside it");
    enum status st = capture_read(r->capture, &capture);
    for (int i = 0; i < capture.reasons && !st; i++)
        print_line(stderr, "tune: %s leaves out %" PRIu64 " call%s: %s", r->capture,
                   capture.left_out[i].count, PRINT_S(capture.left_out[i].count), capture.left_out[i].why);
    if (st == E_ABSENT) st = fail(E_IO, "%s", status_text());
    if (!st) {
        o->weights = calloc(capture.count + 1, sizeof *o->weights);
        if (!o->weights) st = fail(E_MEMORY, "out of memory for the problems");
    }
    for (size_t i = 0; i < capture.count && !st; i++) {
        const struct problem *p = &capture.at[i].problem;
        if (p->m < 1 || p->n < 1 || p->k < 1 || capture.at[i].count == 0) continue;
        o->weights[o->problem_count] = capture_weight(&capture.at[i]);
        st = add_problem(o, p);
    }
    if (!st && o->problem_count == 0) st = fail(E_INPUT, "%s holds no problem to tune", r->capture);
    capture_free(&capture);
    return st;
}

static enum status add_suite_problems(struct option_parser *r, const char *path, enum gemm_type type)
{
    struct suite suite;
    enum status st = suite_read(path, type, r->op, &suite);
    for (size_t i = 0; i < suite.count && !st; i++) st = add_problem(&r->o, &suite.at[i]);
    suite_free(&suite);
    return st;
}

static enum status collect_problems(struct option_parser *r)
{
    enum gemm_type type;
    enum status st = check_op_and_type(r, &type);
    for (size_t i = 0; i < r->shape_count && !st; i++) {
        struct problem problem;
        char line[SUITE_LINE_MAX];
        for (int64_t m = 0; !st && suite_range(r->shapes[i], &m, line);) {
            st = suite_line(line, type, r->op, &problem);
            if (st == E_ABSENT) st = fail(E_INPUT, "'%.60s': %s", line, status_text());
            if (!st) st = add_problem(&r->o, &problem);
        }
    }
    for (size_t i = 0; i < r->suite_count && !st; i++) st = add_suite_problems(r, r->suites[i], type);
    if (r->capture && !st) st = add_capture(r);
    for (size_t i = 0; i < r->o.problem_count && !st; i++) {
        if (r->o.problems[i].type == GEMM_TYPE_DEFAULT) r->o.problems[i].type = r->accuracy;
        if (r->prepared) st = problem_prepare(&r->o.problems[i], r->prepared);
        if (r->invariant && !st) st = problem_make_invariant(&r->o.problems[i]);
    }
    if (!st) st = problems_drop_repeated(r->o.problems, r->o.weights, &r->o.problem_count);
    if (!st && r->o.problem_count == 0)
        st = fail(E_USAGE, "say what to tune: --shape MxNxK or --suite FILE (see tune help tune)");
    return st;
}

/* Of all problems, in whatever order they were given, those of the shard stay. */
static enum status keep_shard(struct tune_options *o)
{
    if (o->shard.count == 0) return OK;
    if (!*o->db)
        return fail(E_USAGE,
                    "a shard has a database of its own, on a disk of this machine: name it with --db");
    return shard_take(&o->shard, o->problems, o->weights, &o->problem_count, o->suite_hash);
}

/* Whoever wants something else than what was found wants the search to go on. */
static enum status check_preferences(struct tune_options *o)
{
    o->preferring = o->pin.template || o->unpin || o->exclude_count || o->include_count;
    if (!o->preferring) return OK;
    if (o->problem_count != 1)
        return fail(E_USAGE, "--pin, --unpin, --exclude and --include are for one problem: name one --shape");
    o->again = true;
    return OK;
}

/* ---- what was not said ---- */

enum status tune_options_fill(struct tune_options *o)
{
    enum status st = OK;
    if (o->workspace_bytes == WORKSPACE_DEFAULT) o->workspace_bytes = workspace_from_environment();
    if (!*o->db) st = db_default_path(o->db, sizeof o->db);
    if (!st && !*o->cache) st = compile_cache_path(o->cache, sizeof o->cache);
    const struct search_strategy *strategy;
    return st ? st : search_find(o->strategy, &strategy);
}

static void keep_command(int argc, char **argv, char *to, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < argc && used < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%s", i ? " " : "", argv[i]);
}

/* --gpu with a number, or this, is a GPU of this machine. */
static enum status choose_gpu(struct tune_options *o)
{
    if (!o->gpu) return OK;
    const int number = command_gpu_number(o->gpu);
    if (number < 0 && strcmp(o->gpu, "this") != 0) return OK;
    if (o->gpus_given) return fail(E_USAGE, "--gpu %s and --gpus contradict each other", o->gpu);
    o->gpu = NULL;
    o->gpus_given = true;
    o->devices[0] = number < 0 ? 0 : number;
    return OK;
}

/* A kernel alone has no algorithm of NVIDIA's beside it but those that it races with. */
static enum status check_kernels(struct tune_options *o)
{
    if (o->own_count == 0 && o->with_ours) return fail(E_USAGE, "--with-ours needs --kernel FILE");
    if (o->own_count == 0) return OK;
    if (*o->space && !o->with_ours)
        return fail(E_USAGE,
                    "the description of a kernel has its values: --space goes only with --with-ours");
    o->library = o->library && o->with_ours;
    return OK;
}

static enum status check_options(void *self)
{
    struct option_parser *r = self;
    enum status st = choose_gpu(&r->o);
    if (!st) st = check_kernels(&r->o);
    if (!st) st = collect_problems(r);
    if (!st) st = check_preferences(&r->o);
    if (!st) st = keep_shard(&r->o);
    return st ? st : tune_options_fill(&r->o);
}

const struct command_line cmd_tune_line = {
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .about = "Find the fastest kernel configuration for each problem, check it, race it against cuBLAS, "
             "store it.\vCtrl-C stops after the current trial; everything finished is kept, and the same "
             "command continues from there. A problem whose winner is stored and up to date is skipped.\n"
             "\n"
             "Examples:\n"
             "  tune --shape 4096x4096x4096 --budget 5m\n"
             "  tune --suite problems.txt --budget 8h\n"
             "  echo 64 128 256 | tune --suite - --gpu h200\n"
             "\n"
             "Exit status: 0 done; 1 a problem has no winner; others as in tune --help.",
    .excluding = excluding,
    .check = check_options};

struct tune_options tune_options_default(int argc, char **argv)
{
    struct tune_options o = {.device_count = 1,
                             .seed = 1,
                             .strategy = "gp",
                             .timing = RACE_BY_CALL,
                             .workspace_bytes = WORKSPACE_DEFAULT,
                             .cold = true,
                             .pretuned = true,
                             .transfer = true,
                             .library = true};
    keep_command(argc, argv, o.command, sizeof o.command);
    return o;
}

enum status tune_options_parse(int argc, char **argv, struct tune_options *o)
{
    struct option_parser reading = {.o = tune_options_default(argc, argv)};
    enum status st = command_line_read(&cmd_tune_line, argc, argv, &reading);
    free(reading.shapes);
    free(reading.suites);
    *o = reading.o;
    if (st) tune_options_free(o);
    return st;
}

void tune_options_free(struct tune_options *o)
{
    free(o->problems);
    free(o->weights);
    o->weights = NULL;
    o->problems = NULL;
    o->problem_count = 0;
}
