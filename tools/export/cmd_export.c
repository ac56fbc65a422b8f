/* cmd_export.c — tune export: winners as a C header, with their kernels if wanted, and as text; trials as
 * text. Reads the database only; knows no GPU. */
#include "cache.h"
#include "command_line.h"
#include "commands.h"
#include "cores.h"
#include "db_view.h"
#include "export_header.h"
#include "export_lists.h"
#include "output_file.h"
#include "paths.h"
#include "print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum form { FORM_NONE, FORM_HEADER, FORM_JSON, FORM_CSV, FORM_T4 };

struct export
{
    struct problem_list problems; /* none: all */
    struct db_view view;
    struct answers *answers;
    struct pick_rules rules;
    enum form form;
    const char *output; /* file; NULL: standard output */
    bool with_kernels, with_ptx;
};

static const char text[] =
    "Export winners in a form that needs neither SQLite nor this program.\v--header writes a C99 and C++11 "
    "header that needs no library: a table for each GPU, and functions that find the winner of a shape, or "
    "of the nearest shape whose winner fits it. One file of a program defines GT_WINNERS_IMPLEMENTATION "
    "before it includes the header, and so compiles tables and functions; all others see only declarations. "
    "The comment at its top says how to call them; FILE names the table: h200.h contains gt_h200_winners. A "
    "shape that was tuned with several leading dimensions, scalars or cache policies is exported once; "
    "measured is preferred to predicted, and cold to hot. Of a problem for which the database has only a "
    "prediction, a measured winner that ships, or that the system's database has, is exported in its place, "
    "as "
    "the library would use it; --json and --csv have what is in the database. A batch that shares A or B is "
    "a shape of its "
    "own. Where cuBLAS won the race, and no kernel is pinned, the "
    "header says \"cublas\" and holds no kernel. Winners with an epilogue are in sets of "
    "their own, one for each epilogue. Winners whose kernel has changed since, those with pointers "
    "or a prepared operand, invariant rows, and algorithms of cublasLt are left out. Problems that were "
    "asked for and have no winner are counted, and named at the header's end.\n"
    "\n"
    "--with-kernels adds each kernel once: machine code for the GPU's architecture, the launch plan of each "
    "winner, and a launcher that needs only the driver API (cuda.h of CUDA 12.0 or later, libcuda). A winner "
    "is launched for the shape that it was tuned for, with any leading dimensions and strides as aligned as "
    "its kernel needs; if they are in tensor maps, with the tuned ones. --ptx adds the PTX of each kernel, "
    "which the driver compiles on GPUs of later architectures; it makes the header about four times as "
    "large, and nothing was "
    "measured on those GPUs. Kernels come from the cache or are compiled (NVRTC): about 2 s of a core and 75 "
    "kB of text for each, so name the shapes that your program has (--shape, --suite). How many there are, "
    "how large the header will be and how long it takes is said before it begins.\n"
    "\n"
    "--json is the format of the winners that ship with libgemmtune; tune import reads it. It has the "
    "fastest "
    "kernel of each problem also where cuBLAS won (its ratio is 1 or less then), and --csv has the same. "
    "--t4 has every "
    "trial, including failed ones, in milliseconds.\n"
    "\n"
    "If SOURCE_DATE_EPOCH is set, it is the date in the header, so that builds are reproducible bit by bit.\n"
    "\n"
    "Examples:\n"
    "  tune export --gpu h200 --header h200.h\n"
    "  tune export --gpu h200 --shape 4096x4096x4096 --header mine.h --with-kernels\n"
    "  tune export --gpu h200 --measured --json -o winners/h200.jsonl\n"
    "  tune export --gpu h200 --shape 4096x4096x4096 --t4 -o trials.json\n"
    "\n"
    "Exit status: 0 done; 1 there is nothing to export; 2 wrong command line; 3 wrong shape or date; 4 the "
    "database is foreign, newer or damaged; 6 no NVRTC for --with-kernels; 7 a file cannot be read or "
    "written.";

static enum status set_form(struct export *e, enum form form)
{
    if (e->form != FORM_NONE && e->form != form)
        return fail(E_USAGE, "only one of --header, --json, --csv and --t4 at a time");
    e->form = form;
    return OK;
}

static enum status choose(void *self, const struct command_option *option, char *value)
{
    struct export *e = self;
    if (value) e->output = value;
    return set_form(e, (enum form)option->number);
}

static enum status choose_format(void *self, const struct command_option *option, char *value)
{
    static const char *const names[] = {[FORM_JSON] = "json", [FORM_CSV] = "csv", [FORM_T4] = "t4"};
    for (int i = FORM_JSON; i <= FORM_T4; i++)
        if (strcmp(value, names[i]) == 0) return set_form(self, (enum form)i);
    return fail(E_USAGE, "unknown %s '%.40s'; there are json, csv and t4, and --header FILE", option->name,
                value);
}

static enum status check_options(void *self)
{
    const struct export *e = self;
    if (e->form == FORM_NONE)
        return fail(E_USAGE,
                    "say what to write: --header FILE, --json, --csv or --t4 (see tune export --help)");
    if (e->with_kernels && e->form != FORM_HEADER) return fail(E_USAGE, "--with-kernels belongs to --header");
    if (e->with_ptx && !e->with_kernels) return fail(E_USAGE, "--ptx belongs to --with-kernels");
    return OK;
}

static const struct command_option options[] = {
    {.about = "What is written:", .group = 1},
    {"header", 0, "FILE", "winners as a C header with a lookup", OPTION_CALL(choose), .number = FORM_HEADER},
    {"with-kernels", 0, NULL, "add their machine code and a launcher",
     OPTION_FLAG(struct export, with_kernels)},
    {"ptx", 0, NULL, "add their PTX, for GPUs of later architectures", OPTION_FLAG(struct export, with_ptx)},
    {"json", 0, NULL, "winners as JSON, one object per line", OPTION_CALL(choose), .number = FORM_JSON},
    {"csv", 0, NULL, "winners as CSV with a header line", OPTION_CALL(choose), .number = FORM_CSV},
    {"t4", 0, NULL, "all trials in the T4 results format, for Kernel Tuner and others", OPTION_CALL(choose),
     .number = FORM_T4},
    {"format", 0, "json|csv|t4", "the same as --json, --csv or --t4", OPTION_CALL(choose_format)},
    {"output", 'o', "FILE", "output file, instead of standard output", OPTION_TEXT(struct export, output)},
    {.about = "Of what:", .group = 2},
    OPTION_ROW_GPU(struct export, view.gpu, "only this GPU"),
    OPTION_ROWS_PROBLEMS("only this problem"),
    {"measured", 0, NULL, "only measured winners", OPTION_FLAG(struct export, rules.measured_only)},
    {"without-cublas", 0, NULL, "leave out problems that cuBLAS won, unless a kernel is pinned",
     OPTION_FLAG(struct export, rules.no_cublas)},
    OPTION_ROW_DB(struct export, view.file)};

static enum status nothing(struct export *e)
{
    return db_view_nothing(&e->view, e->form == FORM_T4 ? "trial" : "usable winner", &e->problems);
}

/* ---- the header ---- */

static void say_instead(size_t count)
{
    if (count)
        print_line(stderr,
                   "tune: %zu prediction%s left out: measured winners that ship, or are in the system's "
                   "database, take %s place, as in the library",
                   count, PRINT_S(count), count == 1 ? "its" : "their");
}

static enum status say_left_out(const struct picks *picks, const char *file)
{
    struct reasons reasons = {.count = 0};
    enum status st = OK;
    if (picks->left_out_count == 0 || picks->read == picks->unknown) return OK; /* none at all: an error */
    for (size_t i = 0; i < picks->left_out_count && !st; i++) {
        const struct left_out *l = &picks->left_out[i];
        st = reasons_add(&reasons, l->kind ? l->kind : l->why);
    }
    if (picks->count)
        print_line(stderr,
                   "tune: %zu of %zu %s left out (each is named at the end of %s):", picks->left_out_count,
                   picks->read, WINNERS_TEXT(picks->unknown), file);
    else print_line(stderr, "tune: %zu of %zu left out:", picks->left_out_count, picks->read);
    reasons_say(&reasons);
    reasons_free(&reasons);
    return st;
}

static const char *size_text(int64_t bytes, char shown[24])
{
    if (bytes < 1000000) snprintf(shown, 24, "%" PRId64 " kB", (bytes + 999) / 1000);
    else snprintf(shown, 24, "%.1f MB", (double)bytes / 1e6);
    return shown;
}

/* Without machine code: the lookup and the launcher, and of each winner what the tables have. */
#define HEADER_BYTES 60000
#define WINNER_BYTES 1400

/* What is to come, before a compiler works for minutes. */
static void say_cost(const struct picks *picks, const struct export_kernels *kernels)
{
    const int cores = cores_allowed();
    const int64_t text_bytes = HEADER_BYTES + WINNER_BYTES * (int64_t)picks->count;
    if (kernels->count == 0) return;
    const struct kernels_cost cost = kernels_expect(kernels);
    const int abreast = cores < cost.to_compile ? cores : cost.to_compile > 0 ? cost.to_compile : 1;
    const double seconds = cost.core_s / abreast;
    char size[24], work[100] = "all are in the cache";
    if (cost.to_compile)
        snprintf(work, sizeof work, "%d to compile on %d core%s, about %.0f %s", cost.to_compile, cores,
                 PRINT_S(cores), seconds < 120 ? seconds + 0.5 : seconds / 60,
                 seconds < 120 ? "s" : "minutes");
    print_line(stderr, "tune: %zu winner%s: machine code of %d kernel%s for %s%s, about %s; %s", picks->count,
               PRINT_S(picks->count), kernels->count, PRINT_S(kernels->count), cost.archs,
               kernels->with_ptx ? " and PTX" : "", size_text(cost.bytes + text_bytes, size), work);
}

static enum status compile(const struct picks *picks, struct export_kernels *kernels)
{
    say_cost(picks, kernels);
    const enum status st = kernels_compile(kernels);
    if (!st && *cache_spare_why()) print_line(stderr, "tune: %s", cache_spare_why());
    return st;
}

static void say_written(const struct export *e, const struct header *header, int64_t bytes)
{
    const struct picks *picks = header->picks;
    char size[24];
    const bool known = bytes > 0; /* not of a FIFO */
    print_line(stderr, "tune: %s: gt_%s, %zu shape%s of %d GPU%s%s%s%s", e->output, header->name,
               picks->count, PRINT_S(picks->count), picks->gpu_count, PRINT_S(picks->gpu_count),
               e->with_kernels ? ", with kernels" : "", known ? ", " : "",
               known ? size_text(bytes, size) : "");
}

static enum status write_header(struct export *e)
{
    struct picks picks = {0};
    struct header header = {.generator = command_version, .picks = &picks, .with_kernels = e->with_kernels};
    header.kernels.with_ptx = e->with_ptx;
    struct outfile out = {.stream = NULL};
    enum status st = header_name(e->output, &header);
    if (!st) st = text_date(header.date);
    if (!st) st = picks_read(e->answers, &e->view.filter, &e->problems, &e->rules, &picks);
    if (!st) say_instead(picks.instead);
    if (!st) st = say_left_out(&picks, e->output);
    if (!st && picks.count == 0) st = nothing(e);
    if (!st) st = outfile_open(e->output, &out); /* before a compiler works for minutes */
    if (!st) st = header_prepare(&header);
    if (!st) st = compile(&picks, &header.kernels);
    if (!st) st = header_write(&header, out.stream);
    const off_t bytes = out.stream && !st ? ftello(out.stream) : 0;
    st = outfile_close(&out, st);
    if (!st) say_written(e, &header, bytes);
    header_free(&header);
    picks_free(&picks);
    return st;
}

/* ---- text ---- */

static void say_unlisted(struct exported *exported)
{
    const int64_t count = exported->unusable + exported->unknown;
    if (count == 0 || exported->written + exported->unusable == 0) return; /* none at all: an error */
    print_line(stderr, "tune: %" PRId64 " %s left out:", count,
               exported->unknown ? WINNERS_TEXT(true)
               : count == 1      ? "winner"
                                 : WINNERS_TEXT(false));
    reasons_say(&exported->why);
}

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
        st = export_json_lines(e->view.db, filter, &e->problems, &e->rules, descriptors, out.stream,
                               &exported);
    else if (e->form == FORM_CSV)
        st = export_csv(e->view.db, filter, &e->problems, &e->rules, out.stream, &exported);
    else st = export_t4(e->view.db, filter, &e->problems, command_version, out.stream, &exported);
    if (!st && exported.written == 0) st = nothing(e);
    st = outfile_close(&out, st);
    say_unlisted(&exported);
    reasons_free(&exported.why);
    if (exported.predicted)
        print_line(stderr, "tune: %" PRId64 " predicted configuration%s left out: they never ran",
                   exported.predicted, PRINT_S(exported.predicted));
    return st;
}

const struct command_line cmd_export_line = {.options = options,
                                             .option_count = sizeof options / sizeof *options,
                                             .about = text,
                                             .check = check_options};

enum status cmd_export(int argc, char **argv)
{
    struct export e = {0};
    enum status st = command_line_read(&cmd_export_line, argc, argv, &e);
    if (!st) st = db_view_open(&e.view);
    if (!st) st = db_check_whole(e.view.db);
    if (!st && e.form == FORM_HEADER) st = answers_open(&e.view, &e.answers);
    if (!st) st = e.form == FORM_HEADER ? write_header(&e) : write_list(&e);
    answers_close(e.answers);
    db_view_close(&e.view);
    problem_list_free(&e.problems);
    return st;
}
