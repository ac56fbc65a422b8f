/* cmd_run.c — tune run: a program under the drop-in. The program takes the place of this process, so that its
 * arguments, standard files, signals and exit code are its own; only --learn and --capture wait for its end.
 *
 * Whatever is in the way of the drop-in, the program runs, and one line says why without it.
 */
#include "cmd_run.h"
#include "budget.h"
#include "command_line.h"
#include "commands.h"
#include "env.h"
#include "paths.h"
#include "print.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    const char *capture, *db, *learn;
    bool log, off;
    struct command_words before; /* words that are not behind a -- */
};

static enum status check_options(void *self)
{
    const struct run *r = self;
    double seconds;
    if (r->before.count) return fail(E_USAGE, "'%.60s' belongs to no option", r->before.at[0]);
    if (!r->learn || budget_parse(r->learn, &seconds) == OK) return OK;
    return fail(E_USAGE, "--learn '%.60s' is not a time such as 30s, 10m, 8h or 1h30m (at most a year)",
                r->learn);
}

static const struct command_option options[] = {
    {"capture", 0, "FILE", "record the program's problems, how often they occur, and their time",
     OPTION_TEXT(struct run, capture)},
    {"learn", 0, "TIME", "tune its problems for so long after it has ended, and say what its next run gains",
     OPTION_TEXT(struct run, learn)},
    {"log", 0, NULL, "log to standard error which call went where, and why", OPTION_FLAG(struct run, log)},
    {"off", 0, NULL, "every call goes to cuBLAS, to compare", OPTION_FLAG(struct run, off)},
    OPTION_ROW_DB(struct run, db)};

static const char text[] =
    "Run a program with tuned kernels.\vIts calls of cuBLAS and cublasLt are answered by what won on this "
    "GPU, "
    "however it has loaded them: linked, or opened by name or path. All "
    "other calls go to the program's own cuBLAS. The program's arguments, standard files, signals and exit "
    "code are its own. Programs that it starts are served, too. At its end one line on standard error says "
    "how "
    "many of its products were answered (--quiet: none does).\n"
    "\n"
    "Out of reach, and said in one line: cuBLAS that is linked statically, programs that are linked "
    "statically, "
    "set-uid, or of another C library. Then the program runs as it would without tune run. Out of reach, "
    "too, is what a wrapper starts that sets LD_PRELOAD or clears the environment (env -i, sudo), in another "
    "root folder (chroot) or in a container: put tune run behind it. With --capture or --learn a line says "
    "that nothing was recorded.\n"
    "\n"
    "With --learn, Ctrl-C ends the program, and the tuning begins, which a second one ends. SIGTERM, or a "
    "SIGINT that was sent by another process, goes to the program, and nothing is tuned: a line says how "
    "to.\n"
    "\n"
    "Examples:\n"
    "  tune run -- python3 serve.py\n"
    "  tune run --capture seen.txt -- python3 serve.py\n"
    "  tune run --learn 10m -- ./program --its-option\n"
    "\n"
    "Exit status: the program's; 2 wrong command line; 126 the program cannot be run; 127 there is none of "
    "this "
    "name.";

static const char *const excluding[][2] = {
    {"off", "capture"}, {"off", "learn"}, {"off", "log"}, {NULL, NULL}};

const struct command_line cmd_run_line = {.options = options,
                                          .option_count = sizeof options / sizeof *options,
                                          .about = text,
                                          .arguments = "-- PROGRAM [ARGUMENT...]",
                                          .words = offsetof(struct run, before),
                                          .excluding = excluding,
                                          .check = check_options};

/* ---- the environment of the program ---- */

static void without(const char *program, const char *why)
{
    print_line(stderr, "tune run: %s runs without tuned kernels: %s", program, why);
}

/* The program may change its folder. */
static enum status set_path(const char *variable, const char *file)
{
    char folder[PATH_MAX], path[PATH_MAX];
    const bool relative = file[0] != '/' && getcwd(folder, sizeof folder);
    if (snprintf(path, sizeof path, "%s%s%s", relative ? folder : "", relative ? "/" : "", file) >= PATH_MAX)
        return fail(E_USAGE, "the path %.60s... is longer than %d characters", path, PATH_MAX - 1);
    setenv(variable, path, 1);
    return OK;
}

/* Before others that are preloaded. False: it cannot be named there. */
static bool preload(const char *file)
{
    char list[2 * PATH_MAX];
    const char *others = env_text("LD_PRELOAD");
    const size_t own = strlen(file);
    if (strpbrk(file, " :$")) return false;
    if (others && strncmp(others, file, own) == 0 && strchr(": ", others[own])) return true; /* or its end */
    const int length = snprintf(list, sizeof list, "%s%s%s", file, others ? ":" : "", others ? others : "");
    return length < (int)sizeof list && setenv("LD_PRELOAD", list, 1) == 0;
}

/* The address sanitizer ends a program in which it is not the first library. The drop-in tells it not to
 * (__asan_default_options), but a program that has such options of its own does not ask the drop-in. */
static void calm_sanitizer(void)
{
    const char *given = env_text("ASAN_OPTIONS"), *order = "verify_asan_link_order=0";
    char all[PATH_MAX];
    if (given && strstr(given, "verify_asan_link_order")) return; /* the user's own, or an outer tune run's */
    if (snprintf(all, sizeof all, "%s%s%s", given ? given : "", given ? ":" : "", order) < PATH_MAX)
        setenv("ASAN_OPTIONS", all, 1);
}

static void load_drop_in(const char *program)
{
    if (env_choice("GEMMTUNE_DROPIN") == ENV_DROPIN_OFF) return;
    char path[PATH_MAX], drop_in[PATH_MAX], number[32], said[256];
    const char *why = "";
    if (!program_find(program, path, sizeof path)) return;
    const enum program_fit fit = program_fit(path, &why);
    if (fit != PROGRAM_FITS) {
        snprintf(said, sizeof said, "it is %s, so that the loader loads no library before its own", why);
        without(program, said);
        if (fit == PROGRAM_FAILS) return;
    }
    if (paths_library("libgemmtune_cublas.so", drop_in, sizeof drop_in)) {
        without(program, status_text());
        return;
    }
    if (!preload(drop_in)) {
        without(program, "the folder of libgemmtune_cublas.so has a space, a : or a $ in its name, or "
                         "LD_PRELOAD is too long");
        return;
    }
    calm_sanitizer();
    snprintf(number, sizeof number, "%ld", (long)getpid());
    if (fit == PROGRAM_FITS) setenv("GEMMTUNE_RUN", number, 1);
}

/* ---- the command ---- */

int cmd_run_exit;

/* Returns only if there is no such program. */
static void become(char **words)
{
    load_drop_in(words[0]);
    execvp(words[0], words);
    const int error = errno;
    print_quiet(false);
    print_line(stderr, "tune run: cannot run %s: %s", words[0], strerror(error));
    errno = error;
}

static int count_own(int argc, char **argv)
{
    int own = 0;
    while (own < argc && strcmp(argv[own], "--") != 0) own++;
    return own;
}

enum status cmd_run(int argc, char **argv)
{
    struct run r = {0};
    const int own = count_own(argc, argv);
    enum status st = command_line_read(&cmd_run_line, own, argv, &r);
    if (st == E_USAGE && own == argc)
        return fail(st, "%.400s; put -- before the program: tune run -- PROGRAM ARGUMENTS", status_text());
    if (st) return st;
    if (own + 1 >= argc || !*argv[own + 1])
        return fail(E_USAGE, "say which program: tune run -- PROGRAM ARGUMENTS");
    char **words = argv + own + 1;
    if (r.db) st = set_path("GEMMTUNE_DB", r.db);
    if (r.capture && !st) st = set_path("GEMMTUNE_CAPTURE", r.capture);
    if (st) return st;
    if (r.log) setenv("GEMMTUNE_LOG", "1", 1);
    if (r.off) setenv("GEMMTUNE_DROPIN", "off", 1);
    if (print_is_quiet()) setenv("GEMMTUNE_QUIET", "1", 1);
    cmd_run_exit = 126;
    if (r.learn || r.capture) {
        st = learn(&(struct learn){words, env_text("GEMMTUNE_CAPTURE"), r.learn, become}, &cmd_run_exit);
        if (r.learn || !st) return st ? st : E_PROGRAM;
    }
    become(words);
    if (errno == ENOENT) cmd_run_exit = 127;
    return E_PROGRAM;
}
