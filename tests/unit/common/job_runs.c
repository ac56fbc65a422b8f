#include "job_runs.h"

#include "cmd_tune.h"
#include "interrupts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPACE GT_SOURCE_DIR "/tests/fake/space.conf"

static char folder[64];

char *in_folder(const char *name)
{
    static char path[8][256];
    static int turn;
    char *p = path[turn++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) abort();
}

int fresh_folder(void **state)
{
    (void)state;
    /* In memory where there is such a place: each trial is synced to the disk twice. */
    snprintf(folder, sizeof folder, "%s/gt_job_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) return -1;
    setenv("FAKE_LOG", in_folder("log"), 1);
    return 0;
}

int clean_up(void **state)
{
    (void)state;
    remove_folder();
    static const char *const variables[] = {"FAKE_TRIAL_MS",
                                            "FAKE_BLOCK_MS",
                                            "FAKE_COMPILE_MS",
                                            "FAKE_PREPARE_MS",
                                            "FAKE_FIRST_PREPARE_MS",
                                            "FAKE_DEVICES",
                                            "FAKE_POWER_LIMIT",
                                            "FAKE_DRIVER",
                                            "FAKE_CUBLAS",
                                            "FAKE_NVRTC",
                                            "FAKE_CRASH",
                                            "FAKE_HANG",
                                            "FAKE_GARBAGE",
                                            "FAKE_WRONG",
                                            "FAKE_CRASH_ONCE",
                                            "FAKE_REFUSE",
                                            "FAKE_DEAD_GPU",
                                            "FAKE_NO_NVRTC",
                                            "FAKE_UNBUILDABLE",
                                            "FAKE_SPILLS",
                                            "FAKE_NO_CUBLAS",
                                            "FAKE_FAST_CUBLAS",
                                            "FAKE_LOST_CUBIN",
                                            "FAKE_COMPILER_CRASH",
                                            "FAKE_COMPILER_DEATH",
                                            "FAKE_COMPILER_DEATH_2",
                                            "FAKE_WORKER_DEATH",
                                            "FAKE_WORKER_DEATH_2",
                                            "FAKE_DEAD_FROM",
                                            "FAKE_NO_ROOM",
                                            "FAKE_OTHER_GPU",
                                            "FAKE_FAST",
                                            "FAKE_COMPILE_UPTO_MS",
                                            "FAKE_CHECK_MS",
                                            "FAKE_STEADY",
                                            "FAKE_SLOW",
                                            "FAKE_SLOW_MS",
                                            "FAKE_SMOOTH",
                                            "FAKE_LOSE_CUBIN",
                                            "FAKE_LOSE_AT",
                                            "FAKE_NO_COMPILER_FROM",
                                            "FAKE_CRASH_BLOCK",
                                            "FAKE_REFUSE_FROM",
                                            "FAKE_LIBRARY",
                                            "FAKE_INACCURATE",
                                            "FAKE_WRONG_CUBLAS",
                                            "FAKE_LAUNCH_MS",
                                            "FAKE_CAPPED",
                                            "FAKE_TIRES",
                                            "FAKE_JOULES",
                                            "FAKE_FRUGAL",
                                            "FAKE_PROCESSES",
                                            "FAKE_LIMIT_FROM"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    return 0;
}

/* ---- running it ---- */

static void redirect(const char *name, int to, int flags)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | flags, 0600);
    if (fd < 0 || dup2(fd, to) < 0) _exit(99);
}

pid_t start(const char *words)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    char copy[1024],
        *argv[48] = {(char[]){"tune tune"}, (char[]){"--db"},     in_folder("t.db"), (char[]){"--cache"},
                     in_folder("cache"),    (char[]){"--format"}, (char[]){"json"}};
    int argc = 7;
    static char jobs[] = "--jobs", two[] = "2";
    if (!strstr(words, "--jobs ")) argv[argc++] = jobs, argv[argc++] = two;
    static char space[] = "--space", small[] = SPACE;
    if (!strstr(words, "--space ")) argv[argc++] = space, argv[argc++] = small;
    static char alone[] = "--no-pretuned"; /* the winners that ship would win here, too */
    if (!getenv("GEMMTUNE_CONFIGS")) argv[argc++] = alone;
    snprintf(copy, sizeof copy, "%s", words);
    char *rest = copy;
    for (char *word; argc < 47 && (word = strtok_r(rest, " ", &rest));) {
        for (char *blank; (blank = strchr(word, '~'));) *blank = ' ';
        argv[argc++] = word;
    }
    redirect("out", STDOUT_FILENO, O_TRUNC);
    redirect("err", STDERR_FILENO, O_TRUNC);
    enum status st = cmd_tune(argc, argv);
    fflush(stdout);
    if (st) fprintf(stderr, "tune: %s\n", status_text());
    fflush(stderr);
    exit(status_exit_code(st)); /* with the leak check of a sanitized build */
}

int wait_exit(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

const char *text_of(const char *name)
{
    static char text[1 << 16];
    FILE *f = fopen(in_folder(name), "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    return text;
}

int tune(const char *words)
{
    int code = wait_exit(start(words));
    if (code == 99 || code < 0 || strstr(text_of("err"), "Sanitizer")) fail_msg("%s", text_of("err"));
    return code;
}

/* ---- looking at what it left ---- */

static struct db *open_db(void)
{
    struct db *db = NULL;
    assert_ok(db_open(in_folder("t.db"), DB_READ, &db));
    return db;
}

static bool keep_winner(void *self, const struct db_winner *winner)
{
    *(struct db_winner *)self = *winner;
    return false;
}

struct db_winner winner_of(const char *shape)
{
    struct db_winner winner = {.base.time_us = 0};
    struct problem problem;
    assert_ok(problem_parse(shape, &problem));
    struct db *db = open_db();
    struct db_filter filter = {.problem = &problem};
    enum status st = db_winners(db, &filter, NULL, keep_winner, &winner);
    assert_true(st == OK || st == E_ABSENT);
    db_close(db);
    return winner;
}

static bool count_trial(void *self, const struct db_trial *trial)
{
    struct census *c = self;
    if (c->part && !strstr(trial->config_text, c->part)) return true;
    if (outcome_usable(&trial->outcome) && (c->best_us == 0 || trial->outcome.time_us < c->best_us))
        c->best_us = trial->outcome.time_us;
    for (int i = 0; i < c->total; i++) c->twice += strcmp(c->seen[i], trial->config_text) == 0;
    snprintf(c->seen[c->total++], CONFIG_TEXT_MAX, "%s", trial->config_text);
    c->verdict[trial->outcome.verdict]++;
    return true;
}

struct census *census(const char *shape, const char *part)
{
    static struct census c;
    struct problem problem;
    memset(&c, 0, sizeof c);
    c.part = part;
    assert_ok(problem_parse(shape, &problem));
    struct db *db = open_db();
    struct db_filter filter = {.problem = &problem};
    enum status st = db_trials(db, &filter, count_trial, &c);
    assert_true(st == OK || st == E_ABSENT);
    db_close(db);
    return &c;
}

void assert_clean_db(void)
{
    char text[4096];
    bool clean_file = false;
    struct db *db = open_db();
    assert_ok(db_check(db, text, sizeof text, &clean_file));
    if (!clean_file) fail_msg("%s", text);
    db_close(db);
}

int count_log(const char *verb)
{
    char line[1024];
    int count = 0;
    FILE *f = fopen(in_folder("log"), "r");
    while (f && fgets(line, sizeof line, f))
        count += strncmp(line, verb, strlen(verb)) == 0 && line[strlen(verb)] == ' ';
    if (f) fclose(f);
    return count;
}

int times_said(const char *part)
{
    int times = 0;
    for (const char *at = text_of("err"); (at = strstr(at, part)); at++) times++;
    return times;
}

void wait_for_log(const char *verb, int times)
{
    while (count_log(verb) < times) usleep(5000);
}

pid_t start_until(const char *words, const char *verb, int times)
{
    const pid_t pid = start(words);
    wait_for_log(verb, times);
    return pid;
}

pid_t last_process(const char *verb)
{
    char line[1024];
    pid_t pid = 0;
    FILE *f = fopen(in_folder("log"), "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, verb, strlen(verb)) == 0) pid = atoi(line + strlen(verb));
    if (f) fclose(f);
    return pid;
}

int main(int argc, char **argv)
{
    accept_interrupts();
    setenv("GEMMTUNE_EXE", FAKE_CHILD, 1);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("job_tests", job_tests, job_test_count, NULL, NULL);
}
