/* cmd_export.c — tune export: winners as a C header, with their kernels if wanted, and as text; trials as
 * text. Reads the database only; knows no GPU. */
#include "commands.h"
#include "db_view.h"
#include "export_header.h"
#include "export_lists.h"
#include "export_text.h"
#include "options.h"
#include "output_file.h"
#include "paths.h"
#include "print.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum form { FORM_NONE, FORM_HEADER, FORM_JSON, FORM_CSV, FORM_T4 };

struct export
{
    struct db_view view;
    struct pick_rules rules;
    enum form form;
    const char *output; /* file; NULL: standard output */
    bool with_kernels, with_ptx;
    struct problem problem; /* of --shape */
    bool has_problem;
    enum status st; /* of parsing */
};

enum {
    KEY_HEADER = 256,
    KEY_KERNELS,
    KEY_PTX,
    KEY_JSON,
    KEY_CSV,
    KEY_T4,
    KEY_GPU,
    KEY_DB,
    KEY_MEASURED,
    KEY_NO_CUBLAS
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What is written:", 1},
    {"header", KEY_HEADER, "FILE", 0, "winners as a C header with a lookup", 0},
    {"with-kernels", KEY_KERNELS, NULL, 0, "add their machine code and a launcher", 0},
    {"ptx", KEY_PTX, NULL, 0, "add their PTX, for GPUs of later architectures", 0},
    {"json", KEY_JSON, NULL, 0, "winners as JSON, one object per line", 0},
    {"csv", KEY_CSV, NULL, 0, "winners as CSV with a header line", 0},
    {"t4", KEY_T4, NULL, 0, "all trials in the T4 results format, for Kernel Tuner and others", 0},
    {"output", 'o', "FILE", 0, "output file, instead of standard output", 0},
    {0, 0, 0, 0, "Of what:", 2},
    {"gpu", KEY_GPU, "G", 0, "only this GPU: short name (h200), driver's name, architecture (sm_90) or this",
     0},
    {"shape", 's', "P", 0, "only this problem", 0},
    {"measured", KEY_MEASURED, NULL, 0, "only measured winners", 0},
    {"without-cublas", KEY_NO_CUBLAS, NULL, 0, "leave out problems that cuBLAS won", 0},
    {"db", KEY_DB, "FILE", 0, "the database (default: GEMMTUNE_DB, else the user's)", 0},
    {0}};

static const char text[] =
    "Export winners in a form that needs neither SQLite nor this program.\v--header writes a C99 and C++11 "
    "header that needs no library: a table for each GPU, and functions that find the winner of a shape, or "
    "of the nearest shape whose winner can run it. One file of a program defines GT_WINNERS_IMPLEMENTATION "
    "before it includes the header, and so compiles tables and functions; all others see only declarations. "
    "The comment at its top says how to call them; FILE names the table: h200.h contains gt_h200_winners. A "
    "shape that was tuned with several leading dimensions, scalars or cache policies is exported once; "
    "measured is preferred to predicted, and cold to hot. Winners whose kernel has changed since are left "
    "out.\n"
    "\n"
    "--with-kernels adds each kernel once: machine code for the GPU's architecture, and a launcher that "
    "needs only the driver API (cuda.h, libcuda). --ptx adds the PTX of each kernel, which the driver "
    "compiles on GPUs of later architectures; it makes the header about four times as large, and nothing was "
    "measured on those GPUs. Kernels come from the cache or are compiled (NVRTC).\n"
    "\n"
    "--json is the format of the winners that ship with libgemmtune; tune import reads it. --t4 has every "
    "trial, including failed ones, in milliseconds.\n"
    "\n"
    "If SOURCE_DATE_EPOCH is set, it is the date in the header, so that builds are reproducible bit by bit.\n"
    "\n"
    "Examples:\n"
    "  tune export --gpu h200 --header h200.h\n"
    "  tune export --gpu h200 --header h200_kernels.h --with-kernels\n"
    "  tune export --gpu h200 --measured --json -o winners/h200.jsonl\n"
    "  tune export --gpu h200 --shape 4096x4096x4096 --t4 -o trials.json\n"
    "\n"
    "Exit status: 0 done; 1 there is nothing to export; 2 wrong command line; 3 wrong shape or date; 4 the "
    "database is foreign, newer or damaged; 6 no NVRTC for --with-kernels; 7 a file cannot be read or "
    "written.";

static enum status choose(struct export *e, enum form form, const char *output)
{
    if (e->form != FORM_NONE && e->form != form)
        return fail(E_USAGE, "only one of --header, --json, --csv and --t4 at a time");
    e->form = form;
    if (output) e->output = output;
    return OK;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct export *e = state->input;
    enum status st = OK;
    switch (key) {
    case KEY_HEADER:
        st = choose(e, FORM_HEADER, argument);
        break;
    case KEY_KERNELS:
        e->with_kernels = true;
        break;
    case KEY_PTX:
        e->with_ptx = true;
        break;
    case KEY_JSON:
        st = choose(e, FORM_JSON, NULL);
        break;
    case KEY_CSV:
        st = choose(e, FORM_CSV, NULL);
        break;
    case KEY_T4:
        st = choose(e, FORM_T4, NULL);
        break;
    case 'o':
        e->output = argument;
        break;
    case KEY_GPU:
        e->view.gpu = argument;
        break;
    case 's':
        e->has_problem = true;
        st = problem_parse(argument, &e->problem);
        break;
    case KEY_MEASURED:
        e->rules.measured_only = true;
        break;
    case KEY_NO_CUBLAS:
        e->rules.no_cublas = true;
        break;
    case KEY_DB:
        e->view.file = argument;
        break;
    case ARGP_KEY_END:
        if (e->form == FORM_NONE)
            st = fail(E_USAGE,
                      "say what to write: --header FILE, --json, --csv or --t4 (see tune export --help)");
        else if (e->with_kernels && e->form != FORM_HEADER)
            st = fail(E_USAGE, "--with-kernels belongs to --header");
        else if (e->with_ptx && !e->with_kernels) st = fail(E_USAGE, "--ptx belongs to --with-kernels");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (st && !e->st) e->st = st;
    return st ? EINVAL : 0;
}

static enum status nothing(struct export *e)
{
    char problem[PROBLEM_TEXT_MAX];
    if (e->has_problem) problem_format(&e->problem, problem);
    return db_view_nothing(&e->view, e->form == FORM_T4 ? "trial" : "usable winner",
                           e->has_problem ? problem : NULL);
}

/* ---- the header ---- */

#define NAMED_MOST 20 /* on the screen; the header names all */

static void say_left_out(const struct picks *picks, const char *file)
{
    const size_t count = picks->left_out_count, named = count < NAMED_MOST ? count : NAMED_MOST;
    if (count == 0) return;
    print_line(stderr, "tune: %zu of %zu winner%s left out:", count, picks->read,
               picks->read == 1 ? "" : "s");
    for (size_t i = 0; i < named; i++) {
        const struct left_out *l = &picks->left_out[i];
        print_line(stderr, "tune: %s, %s: %s", l->gpu, l->problem, l->why);
    }
    if (named < count) print_line(stderr, "tune: and %zu more, named in %s", count - named, file);
}

static enum status write_header(struct export *e)
{
    struct picks picks = {0};
    struct header header = {
        .generator = argp_program_version, .picks = &picks, .with_kernels = e->with_kernels};
    header.kernels.with_ptx = e->with_ptx;
    struct outfile out = {.stream = NULL};
    enum status st = header_name(e->output, &header);
    if (!st) st = text_date(header.date);
    if (!st) st = picks_read(e->view.db, &e->view.filter, &e->rules, &picks);
    if (!st) say_left_out(&picks, e->output);
    if (!st && picks.count == 0) st = nothing(e);
    if (!st) st = header_prepare(&header);
    if (!st && header.kernels.count)
        print_line(stderr, "tune: %d kernels to take from the cache or compile", header.kernels.count);
    if (!st) st = kernels_compile(&header.kernels);
    if (!st) st = outfile_open(e->output, &out);
    if (!st) st = outfile_close(&out, header_write(&header, out.stream));
    if (!st)
        print_line(stderr, "tune: %s: gt_%s, %zu shape%s of %d GPU%s%s", e->output, header.name, picks.count,
                   picks.count == 1 ? "" : "s", picks.gpu_count, picks.gpu_count == 1 ? "" : "s",
                   e->with_kernels ? ", with kernels" : "");
    header_free(&header);
    picks_free(&picks);
    return st;
}

/* ---- text ---- */

static enum status write_list(struct export *e)
{
    const struct db_filter *filter = &e->view.filter;
    struct outfile out = {.stream = NULL};
    struct exported exported = {0};
    char descriptors[4096];
    enum status st = paths_configs("gpus", descriptors, sizeof descriptors);
    if (!st) st = outfile_open(e->output, &out);
    if (st) return st;
    if (e->form == FORM_JSON)
        st = export_json_lines(e->view.db, filter, &e->rules, descriptors, out.stream, &exported);
    else if (e->form == FORM_CSV) st = export_csv(e->view.db, filter, &e->rules, out.stream, &exported);
    else st = export_t4(e->view.db, filter, argp_program_version, out.stream, &exported);
    if (!st && exported.written == 0) st = nothing(e);
    st = outfile_close(&out, st);
    if (exported.unusable)
        print_line(stderr, "tune: %" PRId64 " winner%s left out: %s", exported.unusable,
                   exported.unusable == 1 ? "" : "s", exported.why);
    if (exported.predicted)
        print_line(stderr, "tune: %" PRId64 " predicted configuration%s left out: they never ran",
                   exported.predicted, exported.predicted == 1 ? "" : "s");
    return st;
}

enum status cmd_export(int argc, char **argv)
{
    const struct argp argp = {.options = options, .parser = parse, .doc = text};
    struct export e = {0};
    enum status parsed = options_parse(&argp, NULL, argc, argv, &e), st = e.st ? e.st : parsed;
    if (!st) st = db_view_open(&e.view);
    if (!st) st = db_check_whole(e.view.db);
    if (!st && e.has_problem) e.view.filter.problem = &e.problem;
    if (!st) st = e.form == FORM_HEADER ? write_header(&e) : write_list(&e);
    db_view_close(&e.view);
    return st;
}
