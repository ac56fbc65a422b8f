/* cmd_forget.c — tune forget: winners, or all that is known of a problem, removed from the database. Says
 * what goes and what stays, and asks before.
 */
#include "command_line.h"
#include "commands.h"
#include "db_view.h"
#include "print.h"
#include "problem_list.h"
#include "result_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct forget {
    struct problem_list problems;
    struct db_view view;
    bool everything, yes;
    enum table_format format;

    struct db *db;
    struct db_known going, staying, removed; /* of all problems */
    json_t *winners;                         /* those that go; NULL unless for --format json */
};

static enum status check_options(void *self)
{
    const struct forget *f = self;
    if (!f->problems.count) return fail(E_USAGE, "say which problem: --shape MxNxK, or --suite FILE");
    if (f->format == TABLE_JSON && !f->yes) return fail(E_USAGE, "--format json asks nobody: say --yes, too");
    return OK;
}

static const struct command_option options[] = {
    OPTION_ROWS_PROBLEMS("a problem, MxNxK or in full (see tune --help)"),
    OPTION_ROW_GPU(struct forget, view.gpu, "only on this GPU"),
    {"everything", 0, NULL, "remove its trials, decisions, pins and notes, too: for good",
     OPTION_FLAG(struct forget, everything)},
    {"yes", 'y', NULL, "do not ask", OPTION_FLAG(struct forget, yes)},
    OPTION_ROWS_RESULT(struct forget, format),
    OPTION_ROW_DB(struct forget, view.file)};

static const char text[] =
    "Remove the winner of a problem from the database, or all that is known of the problem.\vWithout "
    "--everything only the winner goes: the problem counts as not tuned, library and drop-in answer it by "
    "other means, and the next tune --shape decides again, starting from the trials that stay. With "
    "--everything its trials, decisions, pins, exclusions and notes go, too, and cannot be brought back "
    "but by a merge with another file that has them. What goes and what stays is listed first, and nothing "
    "is removed without a yes.\n"
    "\n"
    "Examples:\n"
    "  tune forget --shape 4096x4096x4096\n"
    "  tune forget --shape 4096x4096x4096 --gpu h200 --everything --yes\n"
    "  tune forget --shape 4096x4096x4096 --yes --json\n"
    "\n"
    "Exit status: 0 done, or the answer was no; 1 nothing is known of these problems; 2 wrong command line, "
    "or nobody could be asked; 3 wrong shape; 4 the database is foreign, newer or damaged; 7 it cannot be "
    "written; 8 another process has locked it.";

const struct command_line cmd_forget_line = {.options = options,
                                             .option_count = sizeof options / sizeof *options,
                                             .about = text,
                                             .check = check_options};

/* "2 winners, 312 trials"; what there is none of is left out. Returns the number of rows. */
static int64_t list_known(const struct db_known *k, char *list, size_t room)
{
    const struct {
        int64_t count;
        const char *one, *many;
    } parts[] = {{k->winners, "winner", "winners"},
                 {k->trials, "trial", "trials"},
                 {k->decisions, "decision", "decisions"},
                 {k->preferences, "pin or exclusion", "pins and exclusions"},
                 {k->notes, "note", "notes"},
                 {k->attempts, "trial under way", "trials under way"}};
    int64_t sum = 0;
    size_t used = 0;
    snprintf(list, room, "nothing");
    for (size_t i = 0; i < sizeof parts / sizeof *parts && used < room; i++) {
        if (!parts[i].count) continue;
        used += (size_t)snprintf(list + used, room - used, "%s%" PRId64 " %s", used ? ", " : "",
                                 parts[i].count, parts[i].count == 1 ? parts[i].one : parts[i].many);
        sum += parts[i].count;
    }
    return sum;
}

static bool say_winner(void *self, const struct db_winner *w)
{
    struct forget *f = self;
    char problem[PROBLEM_TEXT_MAX];
    problem_format(&w->base.problem, problem);
    if (f->winners)
        return json_array_append_new(
                   f->winners, json_pack("{s:o, s:o, s:b, s:o, s:f, s:b, s:o}", "problem", text_json(problem),
                                         "gpu", text_json(w->gpu.name), "cold", w->base.cold, "config",
                                         text_json(w->config_text), "time_us", w->base.time_us, "predicted",
                                         w->base.predicted, "when", text_json(w->base.when))) == 0;
    print_line(stdout, "%s on %s, operands %s: %s, %.2f us%s, %s", problem, w->gpu.name,
               w->base.cold ? "cold" : "hot", w->config_text, w->base.time_us,
               w->base.predicted ? " (predicted)" : "", w->base.when);
    return true;
}

static void add_known(struct db_known *sum, const struct db_known *known)
{
    sum->winners += known->winners;
    sum->trials += known->trials;
    sum->decisions += known->decisions;
    sum->preferences += known->preferences;
    sum->notes += known->notes;
    sum->attempts += known->attempts;
}

/* What is known of one problem, and what of it would go. */
static enum status look(void *self, const struct db_filter *filter)
{
    struct forget *f = self;
    struct db_known known, only;
    enum status st = db_known(f->view.db, filter, &known);
    if (st) return st;
    only = (struct db_known){.winners = known.winners};
    add_known(&f->going, f->everything ? &known : &only);
    known.winners = 0;
    if (!f->everything) add_known(&f->staying, &known);
    return db_winners(f->view.db, filter, NULL, say_winner, f);
}

static enum status remove_one(void *self, const struct db_filter *filter)
{
    struct forget *f = self;
    struct db_known removed;
    enum status st = db_forget(f->db, filter, f->everything, &removed);
    if (!st) add_known(&f->removed, &removed);
    return st;
}

/* Errors: E_USAGE, if nobody can answer. */
static enum status ask(const struct forget *f, const char *going, bool *yes)
{
    char answer[16] = "";
    *yes = f->yes;
    if (f->yes) return OK;
    if (!isatty(STDIN_FILENO))
        return fail(E_USAGE, "this removes %s, and nobody can be asked: say --yes", going);
    print_part(stdout, "Remove %s from %s? [y/N] ", going, f->view.path);
    fflush(stdout);
    if (!fgets(answer, sizeof answer, stdin)) answer[0] = '\0';
    *yes = answer[0] == 'y' || answer[0] == 'Y';
    if (!*yes) print_line(stdout, "nothing was removed");
    return OK;
}

static json_t *known_json(const struct db_known *k)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "winners", (json_int_t)k->winners, "trials",
                     (json_int_t)k->trials, "decisions", (json_int_t)k->decisions, "preferences",
                     (json_int_t)k->preferences, "notes", (json_int_t)k->notes, "attempts",
                     (json_int_t)k->attempts);
}

static enum status print_json(const struct forget *f, const char *path)
{
    return result_print(json_pack("{s:o, s:b, s:O, s:o, s:o}", "db", text_json(path), "everything",
                                  f->everything, "forgotten", f->winners, "removed", known_json(&f->removed),
                                  "kept", known_json(&f->staying)),
                        "list of what was removed");
}

static enum status forget(struct forget *f)
{
    char going[200], staying[200];
    bool yes = false;
    f->view.filter.alike = false; /* what is as good is another problem */
    enum status st = problem_list_each(&f->problems, f->view.filter, look, f);
    if (st) return st;
    const bool any = list_known(&f->going, going, sizeof going) > 0;
    list_known(&f->staying, staying, sizeof staying);
    if (!any && f->staying.trials + f->staying.decisions > 0)
        return fail(E_ABSENT, "there is no winner to remove; known: %s (--everything removes them)", staying);
    if (!any) return db_view_nothing(&f->view, "trial or winner", &f->problems);
    if ((st = ask(f, going, &yes)) || !yes) return st;
    const struct db_filter filter = f->view.filter;
    char path[sizeof f->view.path];
    memcpy(path, f->view.path, sizeof path);
    db_view_close(&f->view);
    st = db_open(path, DB_WRITE, &f->db);
    if (!st) st = problem_list_each(&f->problems, filter, remove_one, f);
    list_known(&f->removed, going, sizeof going);
    if (f->format == TABLE_TEXT)
        print_line(stdout, "removed: %s; kept: %s%s", going, staying,
                   f->staying.trials ? " (tune --shape goes on from them)" : "");
    else if (!st) st = print_json(f, path);
    return db_finish(f->db, st);
}

enum status cmd_forget(int argc, char **argv)
{
    struct forget f = {.everything = false};
    enum status st = command_line_read(&cmd_forget_line, argc, argv, &f);
    if (!st && f.format == TABLE_JSON && !(f.winners = json_array())) st = fail(E_MEMORY, "out of memory");
    if (!st) st = db_view_open(&f.view);
    if (!st) st = forget(&f);
    json_decref(f.winners);
    db_view_close(&f.view);
    problem_list_free(&f.problems);
    return st;
}
