/* main.c — the program `tune`: the table of its commands, and the one place that prints an error and exits.
 *
 * Knows nothing of what a command does.
 */
#include "cmd_tune.h"
#include "commands.h"
#include "compiler_child.h"
#include "env.h"
#include "output_file.h"
#include "print.h"
#include "process_limits.h"
#include "standard_files.h"
#include "version.h"
#include "worker.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char text_manual_txt[];

struct command {
    const char *name;
    enum status (*run)(int argc, char **argv);
};

/* manual.txt says what each does; those with '_' are not for people. */
static const struct command commands[] = {
    {"tune", cmd_tune},
    {"query", cmd_query},
    {"explain", cmd_explain},
    {"bench", cmd_bench},
    {"ladder", cmd_ladder},
    {"export", cmd_export},
    {"import", cmd_import},
    {"merge", cmd_merge},
    {"verify", cmd_verify},
    {"doctor", cmd_doctor},
    /* children of this program */
    {"_compiler", cmd_compiler_child},
    {"_worker", cmd_gpu_worker},
};
static const size_t command_count = sizeof commands / sizeof *commands;

static const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

/* The commands for people, "tune, query, ...". */
static void command_list(char *text, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].name[0] == '_' || used >= room) continue;
        used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", commands[i].name);
    }
}

static enum status unknown(const char *name)
{
    char list[256];
    if (strcmp(name, "replay") == 0)
        return fail(E_USAGE, "tune replay is a program of the tests now: ninja -C build/release replay makes "
                             "build/release/tests/replay");
    command_list(list, sizeof list);
    return fail(E_USAGE, "there is no command '%s'; there are %s (see tune --help)", name, list);
}

static void say(const char *line)
{
    print_line(stderr, "tune: %s", line);
}

/* Run a command with argv[0] = "tune NAME", as its messages and its usage line show it. */
static enum status command_run(const struct command *command, int argc, char **argv)
{
    char title[64];
    snprintf(title, sizeof title, "tune %s", command->name);
    argv[0] = title;
    /* Children inherit what was reported, and doctor lists it. */
    if (command->name[0] != '_' && command->run != cmd_doctor) env_report(say);
    return command->run(argc, argv);
}

static enum status help(int argc, char **argv)
{
    if (argc > 1) {
        const struct command *command = command_find(argv[1]);
        if (!command || command->name[0] == '_') return unknown(argv[1]);
        char *question[] = {NULL, (char[]){"--help"}, NULL};
        return command_run(command, 2, question);
    }
    print_text(stdout, text_manual_txt, strlen(text_manual_txt));
    return OK;
}

static enum status dispatch(int argc, char **argv)
{
    if (argc < 2)
        return fail(E_USAGE, "say what to do, for example tune --shape 4096x4096x4096 (see tune --help)");
    const char *word = argv[1];
    if (strcmp(word, "help") == 0) return help(argc - 1, argv + 1);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0)
        return help(1, argv);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        print_line(stdout, "%s", argp_program_version);
        return OK;
    }
    if (word[0] == '-') { /* the main job needs no command word */
        argv[0] = (char[]){"tune"};
        env_report(say);
        return cmd_tune(argc, argv);
    }
    const struct command *command = command_find(word);
    return command ? command_run(command, argc - 1, argv + 1) : unknown(word);
}

static const char *why_not_printed(int error)
{
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY ? "it is closed" : outfile_why(error);
}

int main(int argc, char **argv)
{
    argp_program_version = "tune " GT_VERSION;
    argp_err_exit_status = status_exit_code(E_USAGE); /* argp ends the process itself on a wrong option */
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit answers with an error, which has a sentence */
    outfile_guard();
    enum status st = standard_files_keep();
    if (!st) st = limits_stack();
    if (!st) st = dispatch(argc, argv);
    /* What was printed counts only once it has been written. */
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && (st == OK || st == E_ABSENT || st == E_HELPED))
        st = fail(E_IO, "cannot write to standard output: %s", why_not_printed(errno));
    if (st && st != E_HELPED && *status_text()) print_line(stderr, "tune: %s", status_text());
    return status_exit_code(st);
}
