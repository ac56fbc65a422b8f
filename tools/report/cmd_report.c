/* cmd_report.c — tune report: what is stored, as a page for the browser. Reads only; knows no GPU. */
#include "command_line.h"
#include "commands.h"
#include "db_view.h"
#include "print.h"
#include "problem_list.h"
#include "report_page.h"
#include "session.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct report_command {
    struct problem_list problems; /* --shape, --suite; none: all */
    struct db_view view;
    const char *out, *before;
};

static enum status check_options(void *self)
{
    struct report_command *r = self;
    if (!r->out) r->out = "report.html";
    return OK;
}

static const struct command_option options[] = {
    {"output", 'o', "FILE", "the page (report.html); - is standard output",
     OPTION_TEXT(struct report_command, out)},
    OPTION_ROW_GPU(struct report_command, view.gpu, "only this GPU"),
    OPTION_ROWS_PROBLEMS("only this problem, MxNxK or in full (see tune --help)"),
    {"before", 0, "FILE", "an earlier database: what became faster or slower since (tune diff)",
     OPTION_TEXT(struct report_command, before)},
    OPTION_ROW_DB(struct report_command, view.file)};

static const char text[] =
    "Write what is stored as a page for the browser: one file that needs no network.\vIt shows what won "
    "against the rivals, with intervals; the roofline with a point for each problem; and for the problem "
    "that is "
    "clicked the progress of its search, the effect of each parameter and of pairs of them, the race, what "
    "failed and why, clocks and power. Tables sort and filter. The page follows the browser's dark or light "
    "colours, and prints. Charts need Chart.js (Debian's libjs-chart.js) when gemmtune is built; without it "
    "the "
    "page has its tables.\n"
    "\n"
    "Of very many trials the page has the fastest and an even choice of the others, so that it stays below 3 "
    "MB, with 10,000 winners, too. tune --report FILE writes such a page every few seconds while it works.\n"
    "\n"
    "Examples:\n"
    "  tune report -o report.html\n"
    "  tune report --gpu h200 --suite configs/suites/public.txt -o h200.html\n"
    "  tune report --before last-week.db\n"
    "\n"
    "Exit status: 0 written; 1 nothing is known: no page; 2 wrong command line; 3 wrong shape; 4 the "
    "database "
    "is foreign, newer or damaged; 5 --gpu this without a GPU; 7 a file cannot be read or written.";

const struct command_line cmd_report_line = {.options = options,
                                             .option_count = sizeof options / sizeof *options,
                                             .about = text,
                                             .check = check_options};

static void join(int argc, char **argv, char *to, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < argc && used < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%s", i ? " " : "", argv[i]);
}

enum status cmd_report(int argc, char **argv)
{
    struct report_command r = {.out = NULL};
    char command[1024];
    join(argc, argv, command, sizeof command);
    enum status st = command_line_read(&cmd_report_line, argc, argv, &r);
    if (!st) st = problem_list_check(&r.problems);
    if (!st) st = db_view_open(&r.view);
    struct db *before = NULL;
    if (!st && r.before) st = db_open(r.before, DB_READ, &before);
    if (!st) {
        db_view_versions(&r.view);
        const struct report_wanted wanted = {.db = r.view.db,
                                             .file = r.view.path,
                                             .gpu = r.view.filter.gpu,
                                             .problems = r.problems.at,
                                             .problem_count = r.problems.count,
                                             .now = r.view.now.gpu.name[0] ? &r.view.now : NULL,
                                             .before = before,
                                             .before_file = r.before,
                                             .command = command};
        st = report_write(&wanted, r.out);
        if (st == E_ABSENT) st = db_view_nothing(&r.view, "winner", &r.problems);
    }
    struct stat info;
    if (!st && strcmp(r.out, "-") != 0 && stat(r.out, &info) == 0)
        print_line(stderr, "%s: %.2f MB", r.out, 1e-6 * (double)info.st_size);
    problem_list_free(&r.problems);
    db_close(before);
    db_view_close(&r.view);
    return st;
}

enum status cmd_report_session(const struct session *session, bool live)
{
    const struct tune_options *o = session->options;
    const char *gpu = NULL;
    for (int i = 0; i < session->worker_count; i++) { /* one name, or all GPUs */
        const char *name = children_worker(session->children, session->workers[i])->gpu.name;
        if (gpu && strcmp(gpu, name) != 0) {
            gpu = NULL;
            break;
        }
        gpu = name;
    }
    const struct report_wanted wanted = {.db = session->db,
                                         .file = o->db,
                                         .gpu = gpu,
                                         .problems = o->problems,
                                         .problem_count = o->problem_count,
                                         .command = o->command,
                                         .live = live};
    const enum status st = report_write(&wanted, o->report);
    return st == E_ABSENT ? OK : st; /* nothing was found */
}
