#include "learn.h"

#include "env.h"
#include "gain.h"
#include "print.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What may end or inform a program from outside. */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};

/* As it was when this process started: for the program and the tuner. */
static struct before {
    sigset_t mask;
    struct sigaction child;
} before;

/* The signals wait for wait_for, in this process alone. */
static void hold_signals(sigset_t *held)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigemptyset(held);
    sigaddset(held, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) sigaddset(held, passed_on[i]);
    sigprocmask(SIG_BLOCK, held, &before.mask);
    sigaction(SIGCHLD, &usual, &before.child); /* where it is ignored, nobody can be waited for */
}

static void let_go_of_signals(void)
{
    sigaction(SIGCHLD, &before.child, NULL);
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
}

/* The status with which a child ended. What the terminal or the system sent, the child has got, too. */
static int wait_for(pid_t child, const sigset_t *held)
{
    int status = 0;
    siginfo_t info;
    while (waitpid(child, &status, WNOHANG) != child) {
        const int signal = sigwaitinfo(held, &info);
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) kill(child, signal);
    }
    return status;
}

/* In a child: turns into tune, whose results go where progress goes, since standard output is the program's.
 */
static void become_tuner(char **words)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    unsetenv("GEMMTUNE_CAPTURE");
    execv("/proc/self/exe", words);
    print_line(stderr, "tune run: cannot start the tuner: %s", strerror(errno));
}

/* Runs a child that becomes something; *status as waitpid has it. */
static enum status run_child(void (*become)(char **words), char **words, const sigset_t *held, int *status)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) return fail(E_CHILD, "cannot start a process: %s", strerror(errno));
    if (child == 0) {
        let_go_of_signals();
        become(words);
        _exit(errno == ENOENT ? 127 : 126);
    }
    *status = wait_for(child, held);
    return OK;
}

static enum status capture_file(const char *chosen, char path[PATH_MAX])
{
    const char *folder = env_text("TMPDIR");
    const int length = chosen
                           ? snprintf(path, PATH_MAX, "%s", chosen)
                           : snprintf(path, PATH_MAX, "%s/gemmtune-learn-XXXXXX", folder ? folder : "/tmp");
    if (length >= PATH_MAX)
        return fail(E_INPUT, "the path %.60s... of the capture is longer than %d characters", path,
                    PATH_MAX - 1);
    if (!chosen) {
        const int file = mkstemp(path);
        if (file < 0) return fail(E_IO, "cannot create %s: %s", path, strerror(errno));
        close(file);
    }
    setenv("GEMMTUNE_CAPTURE", path, 1);
    return OK;
}

static bool is_empty(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 ? errno == ENOENT : info.st_size == 0;
}

/* Tunes what the program has computed, and says what that brings. */
static void tune(const struct learn *learn, char *capture, const sigset_t *held)
{
    char *words[] = {(char[]){"tune"},
                     (char[]){"tune"},
                     (char[]){"--from-capture"},
                     capture,
                     (char[]){"--budget"},
                     (char *)(uintptr_t)learn->budget, /* execv changes none of them */
                     NULL};
    int status = 0;
    if (is_empty(capture)) {
        print_line(stderr, "tune run: nothing is tuned: the program made no product that was recorded");
        return;
    }
    enum status st = run_child(become_tuner, words, held, &status);
    if (!st && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        print_line(stderr, "tune run: the tuner ended early; what it had finished is kept");
    if (!st) st = gain_tell(capture);
    if (st) print_line(stderr, "tune run: %s", status_text());
}

/* Ends this process as the program was ended, without a core of its own. */
static void end_by(int signal)
{
    const struct rlimit none = {0, 0};
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t one;
    setrlimit(RLIMIT_CORE, &none);
    sigaction(signal, &usual, NULL);
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(signal);
}

enum status learn(const struct learn *learn, int *exit_code)
{
    char capture[PATH_MAX];
    sigset_t held;
    int status = 0;
    enum status st = capture_file(learn->capture, capture);
    if (st) return st;
    hold_signals(&held);
    st = run_child(learn->become, learn->words, &held, &status);
    const bool started =
        !st && !(WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127));
    if (started) tune(learn, capture, &held);
    if (!learn->capture) unlink(capture);
    if (!st && WIFSIGNALED(status)) end_by(WTERMSIG(status));
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    let_go_of_signals();
    return st;
}
