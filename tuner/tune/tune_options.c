#include "tune_options.h"

#include "template.h"

#include "budget.h"
#include "capture.h"
#include "compile.h"
#include "cores.h"
#include "db.h"
#include "options.h"
#include "print.h"
#include "search.h"
#include "workspace.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum key {
    KEY_SUITE = 256,
    KEY_CAPTURE,
    KEY_OP,
    KEY_TYPE,
    KEY_BUDGET,
    KEY_GPU,
    KEY_GPUS,
    KEY_STRATEGY,
    KEY_TRIALS,
    KEY_SEED,
    KEY_SPACE,
    KEY_DB,
    KEY_CACHE,
    KEY_JOBS,
    KEY_WORKSPACE,
    KEY_COLD,
    KEY_HOT,
    KEY_AGAIN,
    KEY_NO_PRETUNED,
    KEY_NO_TRANSFER,
    KEY_NO_LIBRARY,
    KEY_PIN,
    KEY_UNPIN,
    KEY_EXCLUDE,
    KEY_INCLUDE,
    KEY_FORMAT
};

static const struct argp_option rows[] = {
    {NULL, 0, NULL, 0, "What to tune", 1},
    {"shape", 's', "MxNxK", 0, "a problem, or its full form TYPE:OP:MxNxK:...; may be repeated", 0},
    {"suite", KEY_SUITE, "FILE", 0, "a file with one problem per line", 0},
    {"from-capture", KEY_CAPTURE, "FILE", 0,
     "the problems of a program, recorded with GEMMTUNE_CAPTURE, weighted by their share of its time", 0},
    {"op", KEY_OP, "nn|nt|tn|tt", 0, "op of shapes without one (nn)", 0},
    {"type", KEY_TYPE, "sgemm", 0, "type of problems without one (sgemm: strict FP32)", 0},
    {NULL, 0, NULL, 0, "Where", 2},
    {"gpu", KEY_GPU, "NAME", 0, "a GPU by name (h200, a100 ...): measure if it is present, else predict", 0},
    {"gpus", KEY_GPUS, "0,1|all", 0, "GPUs of this machine, one problem at a time on each (0)", 0},
    {NULL, 0, NULL, 0, "How long and how", 3},
    {"budget", KEY_BUDGET, "TIME", 0,
     "time for the whole run: 30s, 10m, 8h, 1h30m (10m per problem, or less if the search expects nothing "
     "more)",
     0},
    {"max-trials", KEY_TRIALS, "N", 0, "most candidates per problem, including those of earlier runs", 0},
    {"strategy", KEY_STRATEGY, "NAME", 0, "how candidates are chosen: gp, random or exhaustive (gp)", 0},
    {"seed", KEY_SEED, "N", 0, "seed of the search and the data (1)", 0},
    {"space", KEY_SPACE, "SPACE", 0, "values to try: wide (all that is possible), a file or a folder", 0},
    {"cold", KEY_COLD, NULL, 0, "time with operands rotated so that they are not in L2 (the default)", 0},
    {"hot", KEY_HOT, NULL, 0, "time with operands in L2", 0},
    {"workspace", KEY_WORKSPACE, "SIZE", 0,
     "most device memory for a kernel's workspace: 0, 512K, 64M, 1G (GEMMTUNE_WORKSPACE, else 64M)", 0},
    {"jobs", KEY_JOBS, "N", 0,
     "compiler processes (one per core that this process may use; at most 4 per core, or 16)", 0},
    {"no-pretuned", KEY_NO_PRETUNED, NULL, 0, "start without the winners shipped with the program", 0},
    {"no-transfer", KEY_NO_TRANSFER, NULL, 0, "start without what trials of other problems teach", 0},
    {"no-library", KEY_NO_LIBRARY, NULL, 0, "no algorithm of cublasLt may win: kernels of gemmtune only", 0},
    {"again", KEY_AGAIN, NULL, 0, "continue the search even if a winner is stored", 0},
    {NULL, 0, NULL, 0, "What you want for one problem (--shape) on its GPU", 4},
    {"pin", KEY_PIN, "CONFIG", 0,
     "make this configuration ('simt BM=128 ...') its winner, measured if the GPU is present, until --unpin",
     0},
    {"unpin", KEY_UNPIN, NULL, 0, "take that back, and search again", 0},
    {"exclude", KEY_EXCLUDE, "CONFIG", 0, "never choose this configuration for it; may be repeated", 0},
    {"include", KEY_INCLUDE, "CONFIG", 0, "take that back; may be repeated", 0},
    {NULL, 0, NULL, 0, "Files and output", 5},
    {"db", KEY_DB, "FILE", 0, "database (GEMMTUNE_DB, else the user's)", 0},
    {"cache", KEY_CACHE, "DIR", 0, "folder of compiled kernels (GEMMTUNE_CACHE, else the user's)", 0},
    {"format", KEY_FORMAT, "table|json|csv", 0, "format of the final table (table)", 0},
    {0},
};

/* While argp reads: texts that are judged once all options are known. */
struct option_parser {
    struct tune_options *o;
    const char **shapes;
    size_t shape_count;
    const char *suite, *capture, *op, *type;
    enum status st;
};

static enum status parse_number(const char *option, const char *text, int64_t least, int64_t most,
                                int64_t *value)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno || n < least || n > most)
        return fail(E_USAGE, "%s '%.40s' is not a whole number in %lld..%lld", option, text, (long long)least,
                    (long long)most);
    *value = n;
    return OK;
}

static enum status parse_devices(const char *text, struct tune_options *o)
{
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
            return fail(E_USAGE, "--gpus '%.60s' is not 'all' or a list of GPU numbers such as 0,1", text);
        o->devices[o->device_count++] = device;
        if (!rest[digits]) return OK;
        rest += digits + 1;
    }
}

static enum status copy_path(const char *option, const char *text, char to[TUNE_PATH_MAX])
{
    if (!*text || strlen(text) >= TUNE_PATH_MAX)
        return fail(E_USAGE, "%s needs a path of 1 to %d characters", option, TUNE_PATH_MAX - 1);
    snprintf(to, TUNE_PATH_MAX, "%s", text);
    return OK;
}

static enum status add_shape(struct option_parser *r, const char *text)
{
    const char **grown = realloc(r->shapes, (r->shape_count + 1) * sizeof *grown);
    if (!grown) return fail(E_MEMORY, "out of memory for the shapes");
    r->shapes = grown;
    r->shapes[r->shape_count++] = text;
    return OK;
}

/* A configuration that could be a candidate. */
static enum status parse_config(const char *option, const char *text, struct config *config)
{
    enum status st = config_parse(text, config);
    if (st) return fail(E_INPUT, "%s: %.400s", option, status_text());
    if (config->template->space || template_is_library(config->template)) return OK;
    return fail(E_INPUT, "%s: %s is never searched, so that it can be neither pinned nor excluded", option,
                config->template->name);
}

static enum status add_config(const char *option, const char *text, struct config *list, int *count)
{
    if (*count == TUNE_PREFER_MAX)
        return fail(E_USAGE, "%s can be given %d times in one command; repeat the command for more", option,
                    TUNE_PREFER_MAX);
    return parse_config(option, text, &list[(*count)++]);
}

static enum status take_option(int key, char *text, struct option_parser *r)
{
    struct tune_options *o = r->o;
    int64_t number = 0;
    enum status st = OK;
    switch (key) {
    case 's':
        return add_shape(r, text);
    case KEY_SUITE:
        r->suite = text;
        return OK;
    case KEY_CAPTURE:
        r->capture = text;
        return OK;
    case KEY_OP:
        r->op = text;
        return OK;
    case KEY_TYPE:
        r->type = text;
        return OK;
    case KEY_GPU:
        o->gpu = text;
        return OK;
    case KEY_GPUS:
        return parse_devices(text, o);
    case KEY_BUDGET:
        return budget_parse(text, &o->budget_s);
    case KEY_TRIALS:
        return parse_number("--max-trials", text, 1, INT64_MAX, &o->max_trials);
    case KEY_STRATEGY:
        o->strategy = text;
        return OK;
    case KEY_SEED:
        st = parse_number("--seed", text, 0, INT64_MAX, &number);
        o->seed = (uint64_t)number;
        return st;
    case KEY_SPACE:
        return copy_path("--space", text, o->space);
    case KEY_HOT:
        o->cold = false;
        return OK;
    case KEY_COLD:
        o->cold = true;
        return OK;
    case KEY_WORKSPACE:
        return workspace_parse("--workspace", text, &o->workspace_bytes);
    case KEY_JOBS:
        st = parse_number("--jobs", text, 1, 1024, &number);
        o->compilers = (int)number;
        return st;
    case KEY_NO_PRETUNED:
        o->pretuned = false;
        return OK;
    case KEY_NO_TRANSFER:
        o->transfer = false;
        return OK;
    case KEY_NO_LIBRARY:
        o->library = false;
        return OK;
    case KEY_PIN:
        return parse_config("--pin", text, &o->pin);
    case KEY_UNPIN:
        o->unpin = true;
        return OK;
    case KEY_EXCLUDE:
        return add_config("--exclude", text, o->exclude, &o->exclude_count);
    case KEY_INCLUDE:
        return add_config("--include", text, o->include, &o->include_count);
    case KEY_AGAIN:
        o->again = true;
        return OK;
    case KEY_DB:
        return copy_path("--db", text, o->db);
    case KEY_CACHE:
        return copy_path("--cache", text, o->cache);
    case KEY_FORMAT:
        return table_format_parse(text, &o->format);
    default:
        return OK;
    }
}

static error_t on_option(int key, char *text, struct argp_state *state)
{
    struct option_parser *r = state->input;
    enum key known = (enum key)key;
    if (r->st) return 0; /* the first error is the one to be told */
    if (key != 's' && (known < KEY_SUITE || known > KEY_FORMAT)) return ARGP_ERR_UNKNOWN;
    r->st = take_option(key, text, r);
    return 0;
}

/* ---- the problems ---- */

static enum status add_problem(struct tune_options *o, const struct problem *problem)
{
    if (problem->m < 1 || problem->n < 1 || problem->k < 1) {
        char text[PROBLEM_TEXT_MAX];
        problem_format(problem, text);
        return fail(E_INPUT, "%s multiplies nothing: M, N and K must be at least 1 to be tuned", text);
    }
    struct problem *grown = realloc(o->problems, (o->problem_count + 1) * sizeof *grown);
    if (!grown) return fail(E_MEMORY, "out of memory for the problems");
    o->problems = grown;
    o->problems[o->problem_count++] = *problem;
    return OK;
}

struct listed {
    char text[PROBLEM_TEXT_MAX];
    size_t at;
};

static int by_text(const void *x, const void *y)
{
    const struct listed *a = x, *b = y;
    const int order = strcmp(a->text, b->text);
    return order ? order : a->at < b->at ? -1 : 1;
}

/* Of equal problems the first stays. */
static enum status drop_repeated(struct tune_options *o)
{
    const size_t count = o->problem_count;
    struct listed *listed = calloc(count + 1, sizeof *listed);
    bool *repeated = calloc(count + 1, sizeof *repeated);
    if (!listed || !repeated) {
        free(listed);
        free(repeated);
        return fail(E_MEMORY, "out of memory for the problems");
    }
    for (size_t i = 0; i < count; i++) {
        listed[i].at = i;
        problem_format(&o->problems[i], listed[i].text);
    }
    qsort(listed, count, sizeof *listed, by_text);
    for (size_t i = 1; i < count; i++)
        repeated[listed[i].at] = strcmp(listed[i].text, listed[i - 1].text) == 0;
    o->problem_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (repeated[i]) continue;
        if (o->weights) o->weights[o->problem_count] = o->weights[i];
        o->problems[o->problem_count++] = o->problems[i];
    }
    free(listed);
    free(repeated);
    return OK;
}

/* --op goes before a text that has none of its own: it starts with its sizes. */
static enum status add_text(const struct option_parser *r, enum gemm_type type, const char *text)
{
    char full[PROBLEM_TEXT_MAX * 2];
    bool bare = strchr("+-.0123456789", *text) != NULL;
    snprintf(full, sizeof full, "%s%s%s", bare && r->op ? r->op : "", bare && r->op ? ":" : "", text);
    struct problem problem;
    enum status st = problem_parse_as(full, type, &problem);
    return st ? st : add_problem(r->o, &problem);
}

/* A line without an op gets the default one too, if it has nothing but a type and sizes. */
static enum status add_suite_problem(const struct option_parser *r, const struct problem *problem)
{
    struct problem plain = problem_make(problem->m, problem->n, problem->k);
    plain.type = problem->type;
    if (!r->op || !problem_equal(problem, &plain)) return add_problem(r->o, problem);
    char text[96];
    snprintf(text, sizeof text, "%lldx%lldx%lld", (long long)plain.m, (long long)plain.n, (long long)plain.k);
    return add_text(r, plain.type, text);
}

/* *type: of problems that name none. */
static enum status check_op_and_type(const struct option_parser *r, enum gemm_type *type)
{
    char names[GEMM_TYPE_NAMES_MAX];
    *type = GEMM_SGEMM;
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    bool known = !r->op;
    for (int i = 0; i < 4 && !known; i++) known = strcmp(r->op, ops[i]) == 0;
    if (!known) return fail(E_INPUT, "unknown op '%.40s'; there are nn, nt, tn and tt", r->op);
    if (r->type && !gemm_type_find(r->type, type))
        return fail(E_INPUT, "unknown type '%.40s'; there are %s", r->type, gemm_type_names(names));
    return OK;
}

/* In the order of the share of the program's time. What multiplies nothing takes none. */
static enum status add_capture(const struct option_parser *r)
{
    struct tune_options *o = r->o;
    struct capture capture = {0};
    if (o->problem_count || r->suite || r->op || r->type)
        return fail(E_USAGE,
                    "--from-capture brings its own problems; --shape, --suite, --op and --type have no "
                    "place beside it");
    enum status st = capture_read(r->capture, &capture);
    for (int i = 0; i < capture.reasons && !st; i++)
        print_line(stderr, "tune: %s leaves out %" PRIu64 " call%s: %s", r->capture,
                   capture.left_out[i].count, capture.left_out[i].count == 1 ? "" : "s",
                   capture.left_out[i].why);
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

static enum status collect_problems(const struct option_parser *r)
{
    enum gemm_type type;
    enum status st = check_op_and_type(r, &type);
    for (size_t i = 0; i < r->shape_count && !st; i++) st = add_text(r, type, r->shapes[i]);
    if (r->suite && !st) {
        struct problem *suite = NULL;
        size_t count = 0;
        st = problem_read_suite(r->suite, type, &suite, &count);
        for (size_t i = 0; i < count && !st; i++) st = add_suite_problem(r, &suite[i]);
        free(suite);
    }
    if (r->capture && !st) st = add_capture(r);
    if (!st) st = drop_repeated(r->o);
    if (!st && r->o->problem_count == 0)
        st = fail(E_USAGE,
                  r->suite ? "the suite %s holds no problem"
                           : "say what to tune: --shape MxNxK or --suite FILE (see tune help tune)%s",
                  r->suite ? r->suite : "");
    return st;
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

/* Each compiler takes a tenth of a second of a core to start, and those that wait for a core compile nothing.
 */
static void limit_compilers(struct tune_options *o)
{
    enum { A_CORE = 4, LEAST = 16 };
    const int cores = cores_allowed(), most = A_CORE * cores > LEAST ? A_CORE * cores : LEAST;
    if (o->compilers <= most) return;
    print_line(stderr,
               "tune: --jobs %d: only %d compilers are started, because this process may use %d core%s and "
               "more would "
               "spend the budget on starting (at most %d a core, and %d where that is less)",
               o->compilers, most, cores, cores == 1 ? "" : "s", A_CORE, LEAST);
    o->compilers = most;
}

static enum status fill_defaults(struct tune_options *o)
{
    enum status st = OK;
    limit_compilers(o);
    if (o->workspace_bytes < 0) o->workspace_bytes = workspace_from_environment();
    if (!*o->db) st = db_default_path(o->db, sizeof o->db);
    if (!st && !*o->cache) st = compile_cache_folder(o->cache, sizeof o->cache);
    const struct search_strategy *strategy;
    return st ? st : search_find(o->strategy, &strategy);
}

static void keep_command(int argc, char **argv, char *to, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < argc && used < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%s", i ? " " : "", argv[i]);
}

enum status tune_options_parse(int argc, char **argv, struct tune_options *o)
{
    *o = (struct tune_options){.device_count = 1,
                               .seed = 1,
                               .strategy = "gp",
                               .workspace_bytes = -1,
                               .cold = true,
                               .pretuned = true,
                               .transfer = true,
                               .library = true};
    keep_command(argc, argv, o->command, sizeof o->command);
    static const int repeatable[] = {'s', KEY_EXCLUDE, KEY_INCLUDE, 0},
                     excluding[][2] = {{KEY_COLD, KEY_HOT}, {KEY_PIN, KEY_UNPIN}, {0, 0}};
    static const struct option_rules rules = {repeatable, excluding};
    struct option_parser reading = {.o = o};
    struct argp argp = {
        .options = rows,
        .parser = on_option,
        .doc = "Find the fastest kernel configuration for each problem, check it, race it against cuBLAS, "
               "store it.\vCtrl-C stops after the current trial; everything finished is kept, and the same "
               "command continues from there. A problem whose winner is stored and up to date is skipped.",
    };
    enum status st = options_parse(&argp, &rules, argc, argv, &reading);
    if (reading.st) st = reading.st;
    if (!st) st = collect_problems(&reading);
    if (!st) st = check_preferences(o);
    if (!st) st = fill_defaults(o);
    free(reading.shapes);
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
