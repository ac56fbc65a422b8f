#include "dropin_runs.h"
#include "files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TESTS_MAX = 64 };

int scenario_start(const char *name, const char *said)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = said ? open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
        if (fd >= 0) dup2(fd, 2);
        setenv("LD_PRELOAD", DROPIN, 1);
        if (getenv("GEMMTUNE_RUN")) { /* the process that tune run becomes */
            char number[32];
            snprintf(number, sizeof number, "%ld", (long)getpid());
            setenv("GEMMTUNE_RUN", number, 1);
        }
        execl("/proc/self/exe", "scenario", name, (char *)NULL);
        _exit(126);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int scenario_start_recorded(const char *name, const char *said, const char *path)
{
    setenv("GEMMTUNE_CAPTURE", path, 1);
    setenv("GEMMTUNE_CAPTURE_S", "0.001", 1);
    setenv("FAKE_GPU_EVENTS", "1", 1);
    const int status = scenario_start(name, said);
    unsetenv("GEMMTUNE_CAPTURE");
    unsetenv("GEMMTUNE_CAPTURE_S");
    unsetenv("FAKE_GPU_EVENTS");
    return status;
}

const char *scenario_log(const char *name)
{
    char path[] = "/tmp/gemmtune-log-XXXXXX";
    close(mkstemp(path));
    setenv("GEMMTUNE_LOG", "1", 1);
    const int status = scenario_start(name, path);
    unsetenv("GEMMTUNE_LOG");
    const char *text = file_text(path);
    unlink(path);
    if (status) fail_msg("%s: %d, %s", name, status, text);
    return text;
}

const char *scenario_capture(const char *name)
{
    char path[] = "/tmp/gemmtune-capture-XXXXXX";
    close(mkstemp(path));
    setenv("GEMMTUNE_CAPTURE", path, 1);
    const int status = scenario_start(name, NULL);
    unsetenv("GEMMTUNE_CAPTURE");
    const char *text = file_text(path);
    unlink(path);
    assert_int_equal(status, 0);
    return text;
}

static void scenario_passes(void **state)
{
    const struct scenario *s = *state;
    if (s->variable) setenv(s->variable, s->value, 1);
    int status = scenario_start(s->name, NULL);
    if (s->variable) unsetenv(s->variable);
    assert_int_equal(status, 0);
}

int scenarios_run(int argc, char **argv, const struct scenario_group *group)
{
    struct CMUnitTest tests[TESTS_MAX];
    int count = 0;
    assert_in_range(group->count + group->more_count, 1, TESTS_MAX);
    unsetenv("LD_PRELOAD"); /* not for the programs that a program starts */
    for (int i = 0; i < group->count; i++) {
        const struct scenario *s = &group->scenarios[i];
        struct CMUnitTest alone = {s->name, s->run, group->setup, NULL, NULL};
        if (argc > 1 && strcmp(argv[1], s->name) == 0)
            return _cmocka_run_group_tests(s->name, &alone, 1, NULL, group->teardown);
        tests[count++] = (struct CMUnitTest){s->name, scenario_passes, NULL, NULL, (void *)(uintptr_t)s};
    }
    if (argc > 1) return 1; /* no scenario has that name */
    for (int i = 0; i < group->more_count; i++) tests[count++] = group->more[i];
    return _cmocka_run_group_tests(group->name, tests, (size_t)count, NULL, NULL);
}
