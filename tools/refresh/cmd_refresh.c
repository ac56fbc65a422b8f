/* cmd_refresh.c — tune refresh: what changes of driver, libraries and kernels have made due, done for a whole
 * database. The races and searches are the main job's (session.h).
 */
#include "answer.h"
#include "budget.h"
#include "clock.h"
#include "command_line.h"
#include "commands.h"
#include "db_view.h"
#include "due.h"
#include "field.h"
#include "print.h"
#include "problem_list.h"
#include "report.h"
#include "session.h"
#include "where.h"
#include "workspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Races have their own ends: the run's is only for what goes wrong. */
#define RUN_S      60.0
#define RACE_TIMES 3.0

/* A winner of which something is due, and what came of it. */
struct item {
    struct db_winner before;
    struct job_result result; /* JOB_RUNNING: nothing was done */
};

struct refresh {
    struct problem_list problems; /* --shape; none: all */
    const char *gpu, *file, *cache, *workspace;
    double budget_s;
    int compilers;
    bool dry_run, races_only;
    enum table_format format;

    struct tune_options options;
    struct where where;
    struct db *db;
    struct db_view view;   /* where the GPU is not here */
    struct db_context now; /* its GPU has no name then */
    struct item *items;    /* owned */
    size_t count, room;
    size_t known, predicted; /* winners of this GPU, up to date ones included; predictions are never due */
    double races_s, searches_s;
    enum status st; /* of collecting */
};

static enum status set_budget(void *self, const struct command_option *option, char *value);

static const struct command_option rows[] = {
    {"gpu", 0, "GPU", "the GPU of this machine (the first): " OPTION_GPU_ABOUT,
     OPTION_TEXT(struct refresh, gpu)},
    OPTION_ROWS_PROBLEMS("only this problem, MxNxK or in full (see tune --help)"),
    {"dry-run", 'n', NULL, "list what is due, and do nothing", OPTION_FLAG(struct refresh, dry_run)},
    {"races-only", 0, NULL, "leave out what has to be tuned again", OPTION_FLAG(struct refresh, races_only)},
    {"budget", 0, "TIME", "time for all that is tuned again: 30s, 10m, 8h (10m a problem, or less)",
     OPTION_CALL(set_budget)},
    {"workspace", 0, "SIZE",
     "most device memory for a kernel's workspace (GEMMTUNE_WORKSPACE, else 64M for sgemm and 1G for other "
     "types)",
     OPTION_TEXT(struct refresh, workspace)},
    {"jobs", 0, "N", "compiler processes (one per core that this process may use)",
     OPTION_INT(struct refresh, compilers, 1, 1024)},
    OPTION_ROW_DB(struct refresh, file),
    {"cache", 0, "DIR", "folder of compiled kernels (GEMMTUNE_CACHE, else the user's)",
     OPTION_TEXT(struct refresh, cache)},
    OPTION_ROWS_FORMAT(struct refresh, format)};

static const char text[] =
    "Bring the winners of a database up to date with this machine's driver, libraries and kernels.\vWhat is "
    "due depends on what has changed since a winner was decided: driver, cuBLAS or power limit (race): the "
    "winner, what ran in its race and cuBLAS are tried and race again, without a search, in two to three "
    "seconds (up to 15 from 100 us a call on, where they race under load as well); NVRTC (build): the same, "
    "of kernels that are compiled anew; the kernel's own text, or it has "
    "failed since (tune): the problem is tuned again. Imported winners race here for the first time. tune "
    "query shows the same in its column due. Predictions are never due.\n"
    "\n"
    "The table has a line for each winner that was due: why, its time and ratio before and after, and what "
    "it "
    "cost. Ctrl-C keeps what is finished; the same command goes on. Without the GPU "
    "--dry-run lists what changed kernels and failures make due; the rest only its driver and libraries "
    "say.\n"
    "\n"
    "Examples:\n"
    "  tune refresh --dry-run\n"
    "  tune refresh --races-only\n"
    "  tune refresh --suite problems.txt --budget 8h\n"
    "\n"
    "Exit status: 0 done, or nothing was due; 1 a winner could not be refreshed, or there is none; 2 wrong "
    "command line; 3 wrong shape; 5 no such GPU here; others as in tune --help.";

const struct command_line cmd_refresh_line = {
    .options = rows, .option_count = sizeof rows / sizeof *rows, .about = text};

static const struct column columns[] = {
    {"gpu", "GPU", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
    {"cache", "cache", COLUMN_TEXT | COLUMN_KEY | COLUMN_COMMON, 0},
    {"due", "due", COLUMN_TEXT | COLUMN_COMMON | COLUMN_RANK(2), 0},
    {"result", "result", COLUMN_TEXT, 0},
    {"time_before_us", "before (us)", COLUMN_NUMBER | COLUMN_RANK(2), 2},
    {"time_us", "time (us)", COLUMN_NUMBER, 2},
    {"ratio_before", "x cuBLAS before", COLUMN_NUMBER | COLUMN_RANK(3), 3},
    {"ratio", "x cuBLAS", COLUMN_NUMBER | COLUMN_RANK(1), 3},
    {"seconds", "cost (s)", COLUMN_NUMBER | COLUMN_RANK(2), 1},
    {"configuration", NULL, COLUMN_TEXT, 0},
    {"why", "why", COLUMN_TEXT | COLUMN_LAST | COLUMN_RANK(3), 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static enum status set_budget(void *self, const struct command_option *option, char *value)
{
    (void)option;
    return budget_parse(value, &((struct refresh *)self)->budget_s);
}

/* ---- what is due ---- */

static enum status copy(char to[TUNE_PATH_MAX], const char *option, const char *from)
{
    if (from && strlen(from) >= TUNE_PATH_MAX)
        return fail(E_USAGE, "--%s needs a path of at most %d characters", option, TUNE_PATH_MAX - 1);
    snprintf(to, TUNE_PATH_MAX, "%s", from ? from : "");
    return OK;
}

static enum status set_options(struct refresh *r)
{
    struct tune_options *o = &r->options;
    o->compilers = r->compilers;
    o->format = r->format;
    enum status st = copy(o->db, "db", r->file);
    if (!st) st = copy(o->cache, "cache", r->cache);
    if (!st && r->workspace) st = workspace_parse("--workspace", r->workspace, &o->workspace_bytes);
    const int number = r->gpu ? command_gpu_number(r->gpu) : 0;
    if (number >= 0) o->devices[0] = number;
    else if (strcmp(r->gpu, "this") != 0) o->gpu = r->gpu;
    return st ? st : tune_options_fill(o);
}

/* The GPU, which must be here, and the versions that count now. */
static enum status open_gpu(struct refresh *r)
{
    enum status st = where_open(&r->options, &r->where);
    if (st) return st;
    const struct worker_info *info = children_worker(r->where.children, r->where.workers[0]);
    r->now = (struct db_context){.gpu = info->gpu, .power_limit_w = info->power_limit_w, .cold = true};
    snprintf(r->now.driver, sizeof r->now.driver, "%s", info->driver);
    snprintf(r->now.cublas, sizeof r->now.cublas, "%s", info->cublas);
    snprintf(r->now.nvrtc, sizeof r->now.nvrtc, "%s", children_nvrtc(r->where.children));
    return OK;
}

/* What changed kernels and failures make due is in the database. */
static enum status look_without_gpu(struct refresh *r)
{
    r->view = (struct db_view){.file = r->options.db, .gpu = r->gpu};
    const enum status st = db_view_open(&r->view);
    if (st) return st;
    print_line(stderr,
               "without the GPU: what its driver, cuBLAS, NVRTC or power limit make due is not known");
    return OK;
}

static bool keep(void *self, const struct db_winner *winner)
{
    struct refresh *r = self;
    if (*r->now.gpu.name && winner->gpu.sm_count != r->now.gpu.sm_count) return true;
    r->known++;
    r->predicted += winner->base.predicted;
    if (winner->due == DUE_NOTHING || winner->base.predicted) return true;
    if (!r->items || r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 64;
        struct item *grown = realloc(r->items, room * sizeof *grown);
        if (!grown) {
            r->st = fail(E_MEMORY, "out of memory while listing winners");
            return false;
        }
        r->items = grown;
        r->room = room;
    }
    r->items[r->count++] = (struct item){.before = *winner};
    return true;
}

static enum status list_due(void *self, const struct db_filter *filter)
{
    struct refresh *r = self;
    const enum status st = db_winners(r->db, filter, *r->now.gpu.name ? &r->now : NULL, keep, r);
    return st == E_ABSENT ? OK : st ? st : r->st;
}

/* ---- doing it ---- */

static bool is_part(const struct item *item, bool search, bool cold)
{
    return (item->before.due == DUE_TUNE) == search && item->before.base.cold == cold;
}

/* Races or searches, with one cache policy. */
static enum status do_part(struct refresh *r, bool search, bool cold)
{
    struct tune_options o = r->options;
    struct session s = {.options = &o,
                        .children = r->where.children,
                        .db = r->db,
                        .workers = r->where.workers,
                        .worker_count = r->where.count,
                        .began_s = now_s()};
    struct space *space = NULL;
    size_t n = 0;
    o.cold = cold;
    o.refresh = o.again = !search;
    if (!search) o.strategy = "exhaustive";
    o.problems = calloc(r->count, sizeof *o.problems);
    s.results = calloc(r->count, sizeof *s.results);
    enum status st =
        o.problems && s.results ? OK : fail(E_MEMORY, "out of memory for %zu problems", r->count);
    double races_s = RUN_S;
    for (size_t i = 0; i < r->count && !st; i++) {
        if (!is_part(&r->items[i], search, cold)) continue;
        o.problems[n++] = r->items[i].before.base.problem;
        races_s += RACE_TIMES * budget_refresh_s(r->items[i].before.base.time_us);
    }
    o.problem_count = n;
    o.budget_s = search ? r->budget_s : races_s;
    if (n && search) st = field_space("", &space);
    s.space = space;
    if (n && !st) st = session_run(&s);
    for (size_t i = 0, at = 0; at < n; i++)
        if (is_part(&r->items[i], search, cold)) r->items[i].result = s.results[at++];
    *(search ? &r->searches_s : &r->races_s) += s.seconds;
    space_free(space);
    free(o.problems);
    free(s.results);
    return st;
}

static enum status do_all(struct refresh *r)
{
    enum status st = OK;
    for (int part = 0; part < 4 && !st; part++)
        if (part < 2 || !r->races_only) st = do_part(r, part >= 2, part % 2 == 0);
    return st;
}

/* ---- what came of it ---- */

static bool is_done(const struct item *item)
{
    return item->result.how == JOB_TUNED || item->result.how == JOB_KEPT;
}

static bool is_changed(const struct item *item)
{
    const struct db_winner *a = &item->before, *b = &item->result.winner;
    return answer_is_cublas(a) != answer_is_cublas(b) ||
           (!answer_is_cublas(a) && strcmp(a->config_text, b->config_text) != 0);
}

static const char *result_name(const struct item *item)
{
    if (item->result.how == JOB_RUNNING) return "due";
    if (!is_done(item)) return item->result.how == JOB_INTERRUPTED ? "interrupted" : "failed";
    if (!is_changed(item)) return "the same";
    return answer_is_cublas(&item->result.winner) ? "cuBLAS now" : "another";
}

static void add_row(struct table *t, const struct item *item)
{
    const struct db_winner *a = &item->before, *b = &item->result.winner;
    const bool done = is_done(item), tried = item->result.how != JOB_RUNNING;
    char problem[PROBLEM_TEXT_MAX];
    problem_format(&a->base.problem, problem);
    table_text(t, a->gpu.name);
    table_text(t, problem);
    table_text(t, a->base.cold ? "cold" : "hot");
    table_text(t, due_name(a->due));
    table_text(t, result_name(item));
    table_number(t, table_known(answer_us(&a->base)));
    table_number(t, done ? table_known(answer_us(&b->base)) : (double)NAN);
    table_number(t, table_known(a->base.ratio));
    table_number(t, done ? table_known(b->base.ratio) : (double)NAN);
    table_number(t, tried ? item->result.seconds : (double)NAN);
    table_text(t, done ? b->config_text : a->config_text);
    table_text(t, tried && !done ? item->result.why : a->why);
}

static enum status print_items(const struct refresh *r)
{
    struct table *t = table_new(columns, COLUMN_COUNT);
    if (!t) return fail(E_MEMORY, "out of memory");
    for (size_t i = 0; i < r->count; i++) add_row(t, &r->items[i]);
    const enum status st = table_print(t, r->format, stdout);
    table_free(t);
    return st;
}

static void say_sum(const struct refresh *r, const char *of)
{
    size_t raced = 0, tuned = 0, changed = 0, due[2] = {0};
    for (size_t i = 0; i < r->count; i++) {
        const bool search = r->items[i].before.due == DUE_TUNE;
        due[search]++;
        if (!is_done(&r->items[i])) continue;
        if (search) tuned++;
        else raced++;
        changed += is_changed(&r->items[i]);
    }
    char races[32], searches[32];
    format_duration(r->races_s, races);
    format_duration(r->searches_s, searches);
    print_line(stderr, "%zu winner%s%s%s: %zu due to race again, %zu to be tuned again%s", r->known,
               PRINT_S(r->known), of ? " of " : "", of ? of : "", due[0], due[1],
               r->predicted ? "; predictions are never due" : "");
    if (r->dry_run) return;
    if (due[0])
        print_line(stderr, "%zu raced again in %s, %.1f s each", raced, races,
                   raced ? r->races_s / (double)raced : 0);
    if (due[1] && !r->races_only) print_line(stderr, "%zu tuned again in %s", tuned, searches);
    if (raced + tuned)
        print_line(stderr, "%zu kept their winner, %zu have another", raced + tuned - changed, changed);
}

static enum status judge(const struct refresh *r)
{
    size_t failed = 0;
    const struct item *first = NULL;
    for (size_t i = 0; i < r->count; i++) {
        const struct item *item = &r->items[i];
        if (is_done(item) || item->result.how == JOB_RUNNING) continue;
        if (!failed++) first = item;
    }
    if (!first) return OK;
    return fail(E_ABSENT, "%zu of %zu could not be refreshed; the first: %.400s", failed, r->count,
                first->result.why);
}

enum status cmd_refresh(int argc, char **argv)
{
    struct refresh r = {.budget_s = 0};
    r.options = tune_options_default(argc, argv);
    r.options.refresh = true;
    enum status st = command_line_read(&cmd_refresh_line, argc, argv, &r);
    if (!st) st = set_options(&r);
    const bool reads = r.dry_run || access(r.options.db, F_OK) != 0; /* none is made */
    if (!st) st = db_open(r.options.db, reads ? DB_READ : DB_WRITE, &r.db);
    if (!st) st = open_gpu(&r);
    struct db_filter filter = {.gpu = r.now.gpu.name};
    if (st == E_GPU && r.dry_run) {
        st = look_without_gpu(&r);
        filter.gpu = r.view.filter.gpu;
    }
    if (!st) st = problem_list_each(&r.problems, filter, list_due, &r);
    if (!st && r.known == 0)
        st = fail(E_ABSENT, "%s has no winner%s%s%s; tune --shape ... makes one", r.options.db,
                  filter.gpu ? " of " : "", filter.gpu ? filter.gpu : "",
                  r.problems.count ? " for these problems" : "");
    if (st) goto out;
    if (!r.dry_run) st = do_all(&r);
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", status_text());
    say_sum(&r, filter.gpu);
    const enum status printed = print_items(&r);
    if (st) fail(st, "%s", sentence);
    else st = printed ? printed : judge(&r);
out:
    children_close(r.where.children);
    db_view_close(&r.view);
    st = db_finish(r.db, st);
    free(r.items);
    problem_list_free(&r.problems);
    tune_options_free(&r.options);
    return st;
}
