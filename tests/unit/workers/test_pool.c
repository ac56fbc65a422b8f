/* The pool, with children that answer, die, hang and talk nonsense as they are told. */
#include "interrupts.h"
#include "unit.h"

#include "children.h"
#include "pool.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 60 }; /* then nothing comes */

static const char *const worker_argv[] = {"tune", "_worker", "--device", "0", NULL};

static int start(struct pool **pool)
{
    int child;
    assert_ok(pool_open(pool));
    assert_ok(pool_start(*pool, worker_argv, 0, &child));
    return child;
}

static void ask(struct pool *pool, int child, const char *verb, double deadline_s, void *job)
{
    json_t *message = json_pack("{s:s, s:s}", "do", verb, "config", "X=1");
    assert_ok(pool_submit(pool, child, message, deadline_s, job));
    json_decref(message);
}

static struct pool_event wait_for(struct pool *pool)
{
    struct pool_event event;
    assert_ok(pool_wait(pool, PATIENCE_S, &event));
    return event;
}

TEST(an_answer_comes_back_with_its_job)
{
    struct pool *pool;
    int child = start(&pool), job;
    ask(pool, child, "hello", PATIENCE_S, &job);
    assert_false(pool_idle(pool, child));
    struct pool_event e = wait_for(pool);
    assert_int_equal(e.kind, POOL_REPLY);
    assert_ptr_equal(e.job, &job);
    assert_true(json_is_true(json_object_get(e.message, "ok")));
    assert_true(pool_idle(pool, child));
    json_decref(e.message);
    pool_close(pool);
}

TEST(a_second_request_before_the_answer_is_refused)
{
    struct pool *pool;
    int child = start(&pool);
    ask(pool, child, "hello", PATIENCE_S, NULL);
    json_t *message = json_pack("{s:s}", "do", "hello");
    assert_int_equal(pool_submit(pool, child, message, PATIENCE_S, NULL), E_BUSY);
    json_decref(message);
    struct pool_event e = wait_for(pool);
    json_decref(e.message);
    pool_close(pool);
}

TEST(a_crash_is_told_with_its_signal_and_the_child_is_there_again)
{
    struct pool *pool;
    setenv("FAKE_CRASH", "X=1", 1);
    int child = start(&pool), job, before = pool_pid(pool, child);
    ask(pool, child, "trial", PATIENCE_S, &job);
    struct pool_event e = wait_for(pool);
    unsetenv("FAKE_CRASH");
    assert_int_equal(e.kind, POOL_DIED);
    assert_ptr_equal(e.job, &job);
    assert_non_null(strstr(e.reason, strsignal(SIGABRT)));
    assert_false(e.gone);
    assert_true(pool_idle(pool, child));
    assert_int_not_equal(pool_pid(pool, child), before);
    ask(pool, child, "hello", PATIENCE_S, NULL);
    e = wait_for(pool);
    assert_int_equal(e.kind, POOL_REPLY);
    json_decref(e.message);
    pool_close(pool);
}

/* A child with this fault is asked for a trial, and another takes its place. */
static void assert_replaced(const char *fault, double deadline_s, enum pool_event_kind kind,
                            const char *reason)
{
    struct pool *pool;
    setenv(fault, "X=1", 1);
    int child = start(&pool);
    ask(pool, child, "trial", deadline_s, NULL);
    struct pool_event e = wait_for(pool);
    unsetenv(fault);
    assert_int_equal(e.kind, kind);
    assert_non_null(strstr(e.reason, reason));
    assert_true(pool_idle(pool, child));
    pool_close(pool);
}

TEST(a_child_that_hangs_is_killed_at_its_deadline)
{
    assert_replaced("FAKE_HANG", 0.2, POOL_TIMEOUT, "deadline");
}

/* Processes that keep one processor busy, which the child must share with them. */
static void crowd(pid_t *hogs, int count, pid_t child)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    for (int i = 0; i < count; i++)
        if ((hogs[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            setsid(); /* the scheduler may share among sessions */
            sched_setaffinity(0, sizeof one, &one);
            for (;;) continue;
        }
    assert_int_equal(sched_setaffinity(child, sizeof one, &one), 0);
}

/* It gets a twentieth of a processor, and would be done after a tenth of its deadline with a whole one. */
TEST(a_child_that_waits_for_a_processor_has_more_time)
{
    enum { HOGS = 19, DEADLINE_S = 1 };
    struct pool *pool;
    pid_t hogs[HOGS];
    if (access("/proc/self/schedstat", R_OK) != 0) skip(); /* a kernel that does not say it */
    setenv("FAKE_WORK_MS", "100", 1);
    int child = start(&pool);
    unsetenv("FAKE_WORK_MS");
    ask(pool, child, "hello", PATIENCE_S, NULL);
    json_decref(wait_for(pool).message);
    crowd(hogs, HOGS, pool_pid(pool, child));
    ask(pool, child, "trial", DEADLINE_S, NULL);
    struct pool_event e;
    assert_ok(pool_wait(pool, 3 * DEADLINE_S, &e));
    for (int i = 0; i < HOGS; i++) kill(hogs[i], SIGKILL), waitpid(hogs[i], NULL, 0);
    if (e.kind == POOL_TICK) e = wait_for(pool);
    assert_int_equal(e.kind, POOL_REPLY);
    json_decref(e.message);
    pool_close(pool);
}

/* A file that children make when they have answered. */
static char answered[] = "/tmp/gemmtune-answered-XXXXXX";

static void expect_answer(void)
{
    const int fd = mkstemp(answered);
    assert_true(fd >= 0);
    close(fd), unlink(answered);
    setenv("FAKE_ANSWERED", answered, 1);
}

static void await_answer(void)
{
    while (access(answered, F_OK) != 0) usleep(1000);
    unlink(answered);
    unsetenv("FAKE_ANSWERED");
    memset(strchr(answered, '\0') - 6, 'X', 6);
}

/* Until the child's process has ended, which the pool does not know yet. */
static void await_end(const struct pool *pool, int child)
{
    siginfo_t how;
    const int pid = pool_pid(pool, child);
    if (pid > 0) assert_int_equal(waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT), 0);
}

/* The supervisor was at work for longer than the deadline. */
TEST(an_answer_that_waits_to_be_read_came_in_time)
{
    struct pool *pool;
    expect_answer();
    int child = start(&pool), before = pool_pid(pool, child);
    ask(pool, child, "hello", 1, NULL);
    await_answer();
    sleep(2);
    struct pool_event e = wait_for(pool);
    assert_int_equal(e.kind, POOL_REPLY);
    json_decref(e.message);
    assert_true(pool_idle(pool, child));
    assert_ok(pool_wait(pool, 0.5, &e));
    assert_int_equal(e.kind, POOL_TICK);
    assert_int_equal(pool_pid(pool, child), before);
    pool_close(pool);
}

/* Who is told of the answer asks nothing of the next process before it is told that this one has ended. */
TEST(a_child_that_answers_and_dies_is_not_idle_before_its_death_is_told)
{
    struct pool *pool;
    expect_answer();
    int child = start(&pool);
    ask(pool, child, "hello", PATIENCE_S, NULL);
    await_answer();
    kill(pool_pid(pool, child), SIGKILL);
    await_end(pool, child);
    struct pool_event e = wait_for(pool);
    assert_int_equal(e.kind, POOL_REPLY);
    json_decref(e.message);
    assert_false(pool_idle(pool, child));
    e = wait_for(pool);
    assert_int_equal(e.kind, POOL_DIED);
    assert_true(pool_idle(pool, child));
    pool_close(pool);
}

TEST(a_child_that_talks_nonsense_is_ended)
{
    assert_replaced("FAKE_GARBAGE", PATIENCE_S, POOL_DIED, "not a frame");
}

TEST(a_child_that_dies_idle_is_told_without_a_job)
{
    struct pool *pool;
    int child = start(&pool);
    kill(pool_pid(pool, child), SIGKILL);
    struct pool_event e = wait_for(pool);
    assert_int_equal(e.kind, POOL_DIED);
    assert_null(e.job);
    assert_non_null(strstr(e.reason, strsignal(SIGKILL)));
    pool_close(pool);
}

TEST(five_deaths_without_an_answer_and_the_child_is_gone)
{
    struct pool *pool;
    int child = start(&pool), deaths = 0;
    struct pool_event e = {.gone = false};
    while (!e.gone && deaths < 20) {
        kill(pool_pid(pool, child), SIGKILL);
        e = wait_for(pool);
        assert_int_equal(e.kind, POOL_DIED);
        deaths++;
    }
    assert_int_equal(deaths, 5);
    assert_int_equal(pool_pid(pool, child), -1);
    json_t *message = json_pack("{s:s}", "do", "hello");
    assert_int_equal(pool_submit(pool, child, message, PATIENCE_S, NULL), E_CHILD);
    json_decref(message);
    pool_close(pool);
}

/* Deaths that wait behind other events: only the last one known is that of the child's latest start. */
TEST(a_death_tells_that_a_later_one_follows)
{
    struct pool *pool;
    int child, deaths = 0, superseded = 0;
    setenv("GEMMTUNE_EXE", "/bin/false", 1);
    assert_ok(pool_open(&pool));
    assert_ok(pool_start(pool, worker_argv, 0, &child));
    setenv("GEMMTUNE_EXE", FAKE_CHILD, 1);
    for (int i = 0; i < 8; i++) raise(SIGINT);
    for (struct pool_event e = {.gone = false}; !e.gone;) {
        await_end(pool, child);
        e = wait_for(pool);
        if (e.kind == POOL_INTERRUPT) continue;
        assert_int_equal(e.kind, POOL_DIED);
        deaths++;
        superseded += e.superseded;
        if (e.gone) assert_false(e.superseded);
    }
    assert_int_equal(deaths, 5);
    assert_true(superseded > 0);
    pool_close(pool);
}

TEST(an_answer_between_deaths_forgives_them)
{
    struct pool *pool;
    int child = start(&pool);
    for (int i = 0; i < 12; i++) {
        kill(pool_pid(pool, child), SIGKILL);
        struct pool_event e = wait_for(pool);
        assert_false(e.gone);
        ask(pool, child, "hello", PATIENCE_S, NULL);
        e = wait_for(pool);
        assert_int_equal(e.kind, POOL_REPLY);
        json_decref(e.message);
    }
    pool_close(pool);
}

TEST(a_cancelled_job_brings_nothing_and_the_child_comes_back)
{
    struct pool *pool;
    setenv("FAKE_HANG", "X=1", 1);
    int child = start(&pool), job;
    ask(pool, child, "trial", PATIENCE_S, &job);
    pool_cancel(pool, child);
    struct pool_event e = wait_for(pool);
    unsetenv("FAKE_HANG");
    assert_int_equal(e.kind, POOL_DIED);
    assert_null(e.job);
    assert_true(pool_idle(pool, child));
    pool_close(pool);
}

TEST(a_program_that_cannot_be_run_is_an_error)
{
    struct pool *pool;
    int child;
    const char *program = getenv("GEMMTUNE_EXE");
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", program);
    setenv("GEMMTUNE_EXE", "/nonexistent/program", 1);
    assert_ok(pool_open(&pool));
    assert_fails(pool_start(pool, worker_argv, 0, &child), E_CHILD, "/nonexistent/program");
    pool_close(pool);
    setenv("GEMMTUNE_EXE", copy, 1);
}

TEST(nothing_happening_is_a_tick)
{
    struct pool *pool;
    start(&pool);
    struct pool_event e;
    assert_ok(pool_wait(pool, 0.05, &e));
    assert_int_equal(e.kind, POOL_TICK);
    assert_ok(pool_wait(pool, 0, &e));
    assert_int_equal(e.kind, POOL_TICK);
    pool_close(pool);
}

TEST(each_interrupt_is_an_event_and_reaches_no_child)
{
    struct pool *pool;
    int child = start(&pool);
    assert_int_equal(getsid(pool_pid(pool, child)), pool_pid(pool, child)); /* its own session */
    raise(SIGINT);
    assert_int_equal(wait_for(pool).kind, POOL_INTERRUPT);
    raise(SIGTERM);
    assert_int_equal(wait_for(pool).kind, POOL_INTERRUPT);
    assert_true(pool_idle(pool, child));
    pool_close(pool);
}

TEST(a_nice_child_is_nicer_than_we_are)
{
    struct pool *pool;
    int child;
    assert_ok(pool_open(&pool));
    assert_ok(pool_start(pool, worker_argv, 7, &child));
    errno = 0;
    int own = getpriority(PRIO_PROCESS, 0), its = getpriority(PRIO_PROCESS, (id_t)pool_pid(pool, child));
    assert_int_equal(its, own + 7 > 19 ? 19 : own + 7);
    pool_close(pool);
}

TEST(closing_leaves_no_process_behind)
{
    struct pool *pool;
    setenv("FAKE_HANG", "X=1", 1);
    int child = start(&pool), pid = pool_pid(pool, child);
    ask(pool, child, "trial", PATIENCE_S, NULL);
    pool_close(pool);
    unsetenv("FAKE_HANG");
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie either */
}

TEST(children_die_with_a_supervisor_that_is_killed)
{
    int report[2];
    assert_int_equal(pipe(report), 0);
    pid_t supervisor = fork();
    if (supervisor == 0) {
        struct pool *pool;
        int child, pid;
        if (pool_open(&pool) || pool_start(pool, worker_argv, 0, &child)) _exit(1);
        json_t *message = json_pack("{s:s}", "do", "hello");
        struct pool_event e;
        if (pool_submit(pool, child, message, PATIENCE_S, NULL) || pool_wait(pool, PATIENCE_S, &e)) _exit(1);
        pid = pool_pid(pool, child);
        if (write(report[1], &pid, sizeof pid) != sizeof pid) _exit(1);
        pause();
    }
    int pid = 0;
    assert_int_equal(read(report[0], &pid, sizeof pid), sizeof pid);
    kill(supervisor, SIGKILL);
    waitpid(supervisor, NULL, 0);
    bool dead = false;
    for (int i = 0; i < 100 * PATIENCE_S && !dead; i++) {
        char path[64], state[512] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *f = fopen(path, "r"); /* nobody may be there to reap it */
        dead = !f || !fgets(state, sizeof state, f) || strstr(state, ") Z");
        if (f) fclose(f);
        usleep(10000);
    }
    assert_true(dead);
    close(report[0]), close(report[1]);
}

/* The environment that a process was started with. */
static bool was_given(int pid, const char *assignment)
{
    static char text[1 << 16];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    for (const char *at = text; at < text + length; at += strlen(at) + 1)
        if (strncmp(at, assignment, strlen(assignment)) == 0) return true;
    return false;
}

TEST(a_variable_that_is_kept_from_children_is_ours_alone)
{
    static const char *const kept[] = {"GT_KEPT", NULL};
    struct pool *pool;
    int child;
    setenv("GT_KEPT", "1", 1), setenv("GT_KEPT_NOT", "2", 1);
    assert_ok(pool_open(&pool));
    pool_keep_from_children(pool, kept);
    assert_ok(pool_start(pool, worker_argv, 0, &child));
    ask(pool, child, "hello", PATIENCE_S, NULL);
    struct pool_event e = wait_for(pool);
    json_decref(e.message);
    assert_false(was_given(pool_pid(pool, child), "GT_KEPT="));
    assert_true(was_given(pool_pid(pool, child), "GT_KEPT_NOT=2"));
    assert_string_equal(getenv("GT_KEPT"), "1");
    pool_close(pool);
    unsetenv("GT_KEPT"), unsetenv("GT_KEPT_NOT");
}

/* Whatever the shell says of TF32, emulation and waiting, the processes that load NVIDIA's libraries do not
 * hear it. */
TEST(no_child_is_told_to_compute_something_else_than_fp32)
{
    static const char *const variables[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                                            "CUBLAS_EMULATION_STRATEGY", "CUDA_LAUNCH_BLOCKING"};
    enum { COUNT = sizeof variables / sizeof *variables };
    static const int devices[] = {0};
    char log[] = "/tmp/gemmtune-children-XXXXXX", verb[32];
    int fd = mkstemp(log), pid, child_count = 0;
    assert_true(fd >= 0);
    setenv("FAKE_LOG", log, 1);
    for (int i = 0; i < COUNT; i++) setenv(variables[i], i == 0 ? "0" : "1", 1);
    const struct children_options options = {
        .cache = "/tmp", .compilers = 1, .devices = devices, .device_count = 1};
    struct children *children;
    assert_ok(children_open(&options, &children));
    FILE *file = fopen(log, "r");
    while (fscanf(file, "%31s %d%*[^\n]", verb, &pid) == 2) {
        child_count++;
        assert_true(was_given(pid, "FAKE_LOG="));
        for (int i = 0; i < COUNT; i++) assert_false(was_given(pid, variables[i]));
    }
    fclose(file);
    assert_int_equal(child_count, 2);
    children_close(children);
    close(fd), unlink(log), unsetenv("FAKE_LOG");
    assert_string_equal(getenv(variables[0]), "0");
    for (int i = 0; i < COUNT; i++) unsetenv(variables[i]);
}

int main(void)
{
    accept_interrupts();
    setenv("GEMMTUNE_EXE", FAKE_CHILD, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_back_with_its_job),
        cmocka_unit_test(a_second_request_before_the_answer_is_refused),
        cmocka_unit_test(a_crash_is_told_with_its_signal_and_the_child_is_there_again),
        cmocka_unit_test(a_child_that_hangs_is_killed_at_its_deadline),
        cmocka_unit_test(a_child_that_waits_for_a_processor_has_more_time),
        cmocka_unit_test(an_answer_that_waits_to_be_read_came_in_time),
        cmocka_unit_test(a_child_that_answers_and_dies_is_not_idle_before_its_death_is_told),
        cmocka_unit_test(a_child_that_talks_nonsense_is_ended),
        cmocka_unit_test(a_child_that_dies_idle_is_told_without_a_job),
        cmocka_unit_test(five_deaths_without_an_answer_and_the_child_is_gone),
        cmocka_unit_test(a_death_tells_that_a_later_one_follows),
        cmocka_unit_test(an_answer_between_deaths_forgives_them),
        cmocka_unit_test(a_cancelled_job_brings_nothing_and_the_child_comes_back),
        cmocka_unit_test(a_program_that_cannot_be_run_is_an_error),
        cmocka_unit_test(nothing_happening_is_a_tick),
        cmocka_unit_test(each_interrupt_is_an_event_and_reaches_no_child),
        cmocka_unit_test(a_nice_child_is_nicer_than_we_are),
        cmocka_unit_test(closing_leaves_no_process_behind),
        cmocka_unit_test(a_variable_that_is_kept_from_children_is_ours_alone),
        cmocka_unit_test(no_child_is_told_to_compute_something_else_than_fp32),
        cmocka_unit_test(children_die_with_a_supervisor_that_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
