/* main.c — the program `tune`: the table of its commands, and the one place that prints an error and exits.
 *
 * Knows nothing of what a command does.
 */
#include "cache.h"
#include "cmd_tune.h"
#include "commands.h"
#include "compiler_child.h"
#include "complete.h"
#include "db.h"
#include "env.h"
#include "likely.h"
#include "output_file.h"
#include "own.h"
#include "print.h"
#include "process_limits.h"
#include "suite.h"
#include "tune_options.h"
#include "version.h"
#include "worker.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char text_manual_txt[], text_LICENSE[], text_NOTICES[];

/* manual.txt says what each does; those without a line are not for people. The first needs no word. */
static const struct complete_command commands[] = {
    {"tune", &cmd_tune_line, cmd_tune},
    {"query", &cmd_query_line, cmd_query},
    {"explain", &cmd_explain_line, cmd_explain},
    {"diff", &cmd_diff_line, cmd_diff},
    {"refresh", &cmd_refresh_line, cmd_refresh},
    {"report", &cmd_report_line, cmd_report},
    {"check", &cmd_check_line, cmd_check},
    {"show-kernel", &cmd_show_kernel_line, cmd_show_kernel},
    {"bench", &cmd_bench_line, cmd_bench},
    {"ladder", &cmd_ladder_line, cmd_ladder},
    {"export", &cmd_export_line, cmd_export},
    {"import", &cmd_import_line, cmd_import},
    {"merge", &cmd_merge_line, cmd_merge},
    {"cluster", &cmd_cluster_line, cmd_cluster},
    {"forget", &cmd_forget_line, cmd_forget},
    {"verify", &cmd_verify_line, cmd_verify},
    {"doctor", &cmd_doctor_line, cmd_doctor},
    {"run", &cmd_run_line, cmd_run},
    /* children of this program */
    {"_compiler", NULL, cmd_compiler_child},
    {"_worker", NULL, cmd_gpu_worker},
};
static const size_t command_count = sizeof commands / sizeof *commands;

static const struct complete_command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static enum status unknown(const char *name)
{
    char list[256], meant[LIKELY_TEXT_MAX], shape[PROBLEM_TEXT_MAX], command[SUITE_COMMAND_MAX];
    struct likely likely = {.word = name};
    struct problem problem;
    size_t used = 0;
    if (strcmp(name, "replay") == 0)
        return fail(E_USAGE, "tune replay is a program of the tests now: ninja -C build/release replay makes "
                             "build/release/tests/replay");
    if (suite_line(name, GEMM_TYPE_DEFAULT, NULL, &problem) == OK) {
        problem_format(&problem, shape);
        return fail(E_USAGE, "'%.200s' is a problem: tune --shape %s", name, shape);
    }
    if (isdigit((unsigned char)*name))
        return fail(
            E_USAGE,
            "'%.60s' is no command, and no problem, which has three sizes: tune --shape 4096x4096x4096",
            name);
    if (suite_is(name))
        return fail(E_USAGE, "%.200s is a file of problems: %s", name, suite_command(name, command));
    for (size_t i = 0; i < command_count && used < sizeof list; i++) {
        if (!commands[i].line) continue;
        likely_offer(&likely, commands[i].name);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", commands[i].name);
    }
    return fail(E_USAGE, "there is no command '%.60s'%s; there are %s (see tune --help)", name,
                likely_text(&likely, meant), list);
}

static void say(const char *line)
{
    print_line(stderr, "tune: %s", line);
}

/* The rival must be cuBLAS, also where the drop-in is preloaded into every program: here and in our children
 * it leaves all calls alone. */
static void leave_rivals_alone(void)
{
    setenv("GEMMTUNE_DROPIN", "off", 1);
}

/* Run a command with argv[0] = "tune NAME", as its messages and its usage line show it. */
static enum status command_run(const struct complete_command *command, int argc, char **argv)
{
    char title[64];
    snprintf(title, sizeof title, "tune %s", command->name);
    argv[0] = title;
    /* Children inherit what was reported, and doctor lists it. */
    if (command->line && command->run != cmd_doctor) env_report(say);
    if (command->run != cmd_doctor && command->run != cmd_run) leave_rivals_alone();
    return command->run(argc, argv);
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

static void say_version(const char *word)
{
    print_line(stdout, "%s", command_version);
    if (!word || strcmp(word, "--licences") != 0) return;
    print_end(stdout);
    print_text(stdout, text_LICENSE, strlen(text_LICENSE));
    print_end(stdout);
    print_text(stdout, text_NOTICES, strlen(text_NOTICES));
}

static const char *const helps[] = {"help", "--help", "-h", "-?", NULL};

/* The manual, or what `each` prints for every command that is named. Of help itself the manual tells. */
static enum status help(char **names, void (*each)(const struct command_line *line, const char *name),
                        const char *before)
{
    char title[64];
    if (!*names) print_text(stdout, text_manual_txt, strlen(text_manual_txt));
    for (char **name = names; *name; name++) {
        const struct complete_command *command = command_find(*name);
        const bool manual = is_one_of(*name, helps);
        if (!manual && (!command || !command->line)) return unknown(*name);
        if (name != names) print_end(stdout);
        if (manual) {
            print_text(stdout, text_manual_txt, strlen(text_manual_txt));
            continue;
        }
        snprintf(title, sizeof title, "%s%s", before, command->name);
        each(command->line, title);
    }
    return OK;
}

static enum status dispatch(int argc, char **argv)
{
    static const char *const versions[] = {"--version", "-V", NULL};
    if (argc < 2)
        return fail(E_USAGE, "say what to do, for example tune --shape 4096x4096x4096 (see tune --help)");
    const char *word = argv[1];
    if (is_one_of(word, helps)) return help(argv + 2, command_help, "tune ");
    if (strcmp(word, "_man") == 0) return help(argv + 2, command_man, "");
    if (strcmp(word, "_complete") == 0) return complete(commands, command_count, argc - 1, argv + 1);
    if (is_one_of(word, versions)) {
        say_version(argv[2]);
        return OK;
    }
    if (word[0] == '-') { /* the main job needs no command word */
        argv[0] = (char[]){"tune"};
        env_report(say);
        leave_rivals_alone();
        return cmd_tune(argc, argv);
    }
    const struct complete_command *command = command_find(word);
    return command ? command_run(command, argc - 1, argv + 1) : unknown(word);
}

static const char *why_not_printed(int error)
{
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY ? "it is closed" : outfile_why(error);
}

/* What this process needs, and a program that it turns into must not inherit. */
static enum status prepare(void)
{
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit answers with an error, which has a sentence */
    outfile_guard();
    const enum status st = standard_files_keep();
    cache_spare(getpid());
    return st ? st : limits_stack();
}

int main(int argc, char **argv)
{
    command_version = "tune " GT_VERSION;
    db_choose = " with --db";
    db_take_kernel = own_take;
    cmd_tune_page = cmd_report_session;
    enum status st = argc > 1 && strcmp(argv[1], "run") == 0 ? OK : prepare();
    if (!st) st = dispatch(argc, argv);
    cache_spare_remove();
    /* Output counts only once it has been written. */
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && (st == OK || st == E_ABSENT || st == E_HELPED))
        st = fail(E_IO, "cannot write to standard output: %s", why_not_printed(errno));
    print_quiet(false);
    if (st == E_PROGRAM) return cmd_run_exit;
    if (st && st != E_HELPED && *status_text()) print_line(stderr, "tune: %s", status_text());
    return status_exit_code(st);
}
