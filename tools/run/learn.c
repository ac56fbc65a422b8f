#include "cmd_run.h"

#include "print.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What may end or inform a program from outside. */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGTSTP};

/* As it was when this process started: for the program and the tuner. */
static struct before {
    sigset_t mask, ignored; /* of passed_on */
    struct sigaction child;
} before;

/* The signals wait for wait_for, in this process alone. */
static void hold_signals(sigset_t *held)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction now;
    sigemptyset(held);
    sigaddset(held, SIGCHLD);
    sigemptyset(&before.ignored);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        sigaddset(held, passed_on[i]);
        if (sigaction(passed_on[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            sigaddset(&before.ignored, passed_on[i]);
    }
    sigprocmask(SIG_BLOCK, held, &before.mask);
    sigaction(SIGCHLD, &usual, &before.child); /* where it is ignored, nobody can be waited for */
}

static void let_go_of_signals(void)
{
    sigaction(SIGCHLD, &before.child, NULL);
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
}

/* The user, or a system that takes the machine back, wants an end: of the program and of us. Ctrl-C ends the
 * program, or the tuner after it: the terminal sends it to both. What was ignored from the start (nohup) asks
 * nothing. */
static bool asks_to_end(int signal, const siginfo_t *info)
{
    if (sigismember(&before.ignored, signal)) return false;
    return (signal == SIGHUP && info->si_code > 0) ||
           ((signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) && info->si_code <= 0);
}

/* The status with which a child ended. What the terminal or the system sent, the child has got, too. After
 * SIGTSTP this process stops when the child has. A server reads its files again at a SIGHUP of another
 * process, so that this one asks for the end only if the child dies of it. */
static int wait_for(pid_t child, const sigset_t *held, bool *asked)
{
    int status = 0;
    bool hung_up = false, told_to_stop = false, stopped = false;
    siginfo_t info;
    for (;;) {
        const pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED);
        if (changed == child && !WIFSTOPPED(status)) break;
        stopped = stopped || changed == child;
        if (stopped && told_to_stop) {
            stopped = told_to_stop = false;
            raise(SIGSTOP);
        }
        const int signal = sigwaitinfo(held, &info);
        if (signal <= 0 || signal == SIGCHLD) continue;
        if (signal == SIGHUP) hung_up = true;
        if (signal == SIGTSTP) told_to_stop = true;
        if (signal == SIGCONT) stopped = told_to_stop = false;
        if (asks_to_end(signal, &info)) *asked = true;
        if (info.si_code <= 0) kill(child, signal);
    }
    if (hung_up && WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP) *asked = true;
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

/* If its parent is killed, so is the child, gently. A program keeps this when it becomes another one, unless
 * that gets rights of its own. */
static void end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(128 + SIGTERM); /* it was killed before */
}

/* Runs a child that becomes something; *status as waitpid has it; *asked: set if a signal asked to end. */
static enum status run_child(void (*become)(char **words), char **words, const sigset_t *held, int *status,
                             bool *asked)
{
    fflush(NULL);
    const pid_t self = getpid(), child = fork();
    if (child < 0) return fail(E_CHILD, "cannot start a process: %s", strerror(errno));
    if (child == 0) {
        end_with(self);
        let_go_of_signals();
        become(words);
        _exit(errno == ENOENT ? 127 : 126);
    }
    *status = wait_for(child, held, asked);
    return OK;
}

/* Tunes what the program has computed, and says what that brings. False: there is more to tune. */
static bool tune(const struct learn *learn, struct recording *recording, const sigset_t *held)
{
    char *words[] = {(char[]){"tune"},
                     (char[]){"tune"},
                     (char[]){"--from-capture"},
                     recording->path,
                     (char[]){"--budget"},
                     (char *)(uintptr_t)learn->budget, /* execv changes none of them */
                     NULL};
    int status = 0;
    bool asked = false;
    enum status st = run_child(become_tuner, words, held, &status, &asked);
    const bool done = !st && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!done)
        recording_tell(recording,
                       st ? "the tuner cannot be started"
                          : "the tuner ended early, and what it had finished is kept",
                       learn->budget);
    if (!st && !asked) st = gain_tell(recording->path);
    if (st) print_line(stderr, "tune run: %s", status_text());
    return done;
}

static void say_nothing_recorded(const char *program, bool killed)
{
    print_line(
        stderr,
        "tune run: nothing was recorded of %s: %sit made no product, or its capture could not be written "
        "(see above), or it was out of reach, behind a wrapper that "
        "sets LD_PRELOAD or clears the environment, or in a container (see tune run --help)",
        program, killed ? "a signal killed it before the first save, or " : "");
}

/* After the program's end. asked: a signal asked us to end, too. */
static void conclude(const struct learn *learn, struct recording *recording, const sigset_t *held, bool grown,
                     bool killed, bool asked)
{
    bool done = true;
    if (!grown) say_nothing_recorded(learn->words[0], killed);
    if (learn->budget && !recording_is_empty(recording)) {
        if (asked) recording_tell(recording, "a signal asked to end, so nothing is tuned", learn->budget);
        done = !asked && tune(learn, recording, held);
    }
    if (done) recording_forget(recording);
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
    struct recording recording;
    sigset_t held;
    int status = 0;
    bool asked = false;
    enum status st = recording_open(&recording, learn->capture);
    if (st) return st;
    hold_signals(&held);
    st = run_child(learn->become, learn->words, &held, &status, &asked);
    const bool grown = !st && recording_end(&recording);
    const bool started =
        grown || (!st && !(WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)));
    if (started) conclude(learn, &recording, &held, grown, WIFSIGNALED(status), asked);
    else recording_forget(&recording);
    if (!st && WIFSIGNALED(status)) end_by(WTERMSIG(status));
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    let_go_of_signals();
    return st;
}
