#include "cluster.h"

#include "clock.h"
#include "env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)16 << 20) /* of squeue: a line of some 30 bytes for each task of a user */
#define LOOK_MS    20

extern char **environ;

struct child {
    pid_t group;
    int fd; /* of what it prints */
    const char *program;
    sigset_t usual; /* the signals that were blocked before */
};

/* Those that end this program: they wait until the group has got them. */
static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void hold_signals(struct child *child)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) sigaddset(&held, deadly[i]);
    sigprocmask(SIG_BLOCK, &held, &child->usual);
}

/* A terminal sends them to its foreground group only. */
static void pass_on(const struct child *child)
{
    sigset_t waiting;
    bool any = false;
    if (sigpending(&waiting) != 0) return;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (sigismember(&waiting, deadly[i]) == 1) any |= kill(-child->group, deadly[i]) == 0;
    if (any) sigprocmask(SIG_SETMASK, &child->usual, NULL); /* and here this program ends */
}

/* Standard output and error go to `out`. */
static enum status start(char *const argv[], int out, struct child *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &child->usual);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    const int error = posix_spawnp(&child->group, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error == ENOENT) return fail(E_ABSENT, "there is no %s in PATH", argv[0]);
    return error ? fail(E_IO, "cannot run %s: %s", argv[0], strerror(error)) : OK;
}

/* Takes in what is there now. *open: false at its end. */
static enum status take(const struct child *child, struct printed *printed, bool *open)
{
    char piece[4096];
    const ssize_t got = read(child->fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) return OK;
    if (got < 0) return fail(E_IO, "cannot read what %s prints: %s", child->program, strerror(errno));
    *open = got > 0;
    if (got == 0 || printed->length + (size_t)got > OUTPUT_MAX) return OK;
    char *grown = realloc(printed->text, printed->length + (size_t)got + 1);
    if (!grown) return fail(E_MEMORY, "out of memory for what %s prints", child->program);
    printed->text = grown;
    memcpy(grown + printed->length, piece, (size_t)got);
    printed->length += (size_t)got;
    grown[printed->length] = '\0';
    return OK;
}

/* Until it has ended and nothing is left to read: what it has started itself may keep the pipe open. */
static enum status wait_for(const struct child *child, double limit_s, struct printed *printed)
{
    const double until_s = now_s() + limit_s;
    bool open = true, ended = false;
    int status = 0;
    for (;;) {
        struct pollfd look = {.fd = open ? child->fd : -1, .events = POLLIN};
        const bool readable = poll(&look, 1, ended ? 0 : LOOK_MS) > 0;
        enum status st = readable ? take(child, printed, &open) : OK;
        if (ended && (!readable || !open)) break;
        if (!ended) ended = waitpid(child->group, &status, WNOHANG) == child->group;
        if (!ended) pass_on(child);
        if (!st && !ended && limit_s > 0 && now_s() > until_s)
            st = fail(E_CHILD,
                      "%s has not ended within %g s, and was killed (GEMMTUNE_SLURM_S: another limit, in "
                      "seconds)",
                      child->program, limit_s);
        if (!st) continue;
        if (!ended) kill(-child->group, SIGKILL);
        if (!ended)
            (void)waitpid(child->group, NULL,
                          WNOHANG); /* one that hangs in the kernel outlives this program */
        return st;
    }
    printed->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return OK;
}

enum status child_run(char *const argv[], double limit_s, struct printed *printed)
{
    int ends[2];
    struct child child = {.program = argv[0]};
    *printed = (struct printed){.code = -1};
    env_seconds("GEMMTUNE_SLURM_S", &limit_s);
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(E_IO, "cannot run %s: %s", argv[0], strerror(errno));
    child.fd = ends[0];
    hold_signals(&child);
    enum status st = start(argv, ends[1], &child);
    close(ends[1]);
    if (!st) st = wait_for(&child, limit_s, printed);
    sigprocmask(SIG_SETMASK, &child.usual, NULL);
    close(ends[0]);
    return st;
}

void child_lines(const struct printed *printed, char lines[CHILD_LINES_MAX])
{
    static const char between[] = " | ", gap[] = " [...] ";
    const char *text = printed->text ? printed->text : "";
    const size_t half = (CHILD_LINES_MAX - sizeof gap) / 2;
    char *all = malloc(3 * strlen(text) + 1), *to = all;
    for (const char *at = text; all && *at; at += strspn(at, "\r\n")) {
        const size_t length = strcspn(at, "\r\n");
        if (length) to += sprintf(to, "%s%.*s", to > all ? between : "", (int)length, at);
        at += length;
    }
    const size_t used = (size_t)(to - all);
    if (used == 0) snprintf(lines, CHILD_LINES_MAX, "it says nothing");
    else if (used < CHILD_LINES_MAX) memcpy(lines, all, used + 1);
    else snprintf(lines, CHILD_LINES_MAX, "%.*s%s%s", (int)half, all, gap, all + used - half);
    free(all);
}
