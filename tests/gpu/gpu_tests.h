/* gpu_tests.h — a real GPU for tests: a device and a folder for the group, operands with their reference, and
 * functions that run in a separate process. */
#ifndef GT_GPU_TESTS_H
#define GT_GPU_TESTS_H

#include "device.h"
#include "reference.h"
#include "scratch_folder.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 }; /* exit status where there is no GPU */

static struct device device;

/* Prints a message. */
static inline bool no_gpu(void)
{
    if (device_load() == OK) return false;
    printf("skipped: %s\n", status_text());
    return true;
}

static inline int open_gpu(void **state)
{
    return make_folder(state) || device_open(0, &device);
}

static inline int close_gpu(void **state)
{
    device_close(&device);
    return remove_folder(state);
}

/* Runs this program with the arguments `what` and the folder, and returns its exit status. */
static inline int run_self(const char *what)
{
    int how = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "self", what, folder, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

/* Integers so small that every sum is exact. skew: offset in bytes of A and B from a multiple of 256. */
struct set {
    struct problem problem;
    struct device_buffer buffer[3];
    float *host[3];
    int64_t count[3];
    char *at[3];
};

static inline void set_make(struct set *s, const char *text, int skew)
{
    assert_ok(problem_parse(text, &s->problem));
    const int64_t spans[] = {problem_span_a(&s->problem), problem_span_b(&s->problem),
                             problem_span_c(&s->problem)};
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)spans[i] * sizeof(float), offset = i < 2 ? (size_t)skew : 0;
        s->count[i] = spans[i];
        s->host[i] = malloc(bytes + 1);
        assert_non_null(s->host[i]);
        for (int64_t j = 0; j < spans[i]; j++) s->host[i][j] = (float)((j * 7 + i * 3 + j / 11) % 9 - 4);
        assert_ok(device_allocate(&s->buffer[i], bytes + 256));
        s->at[i] = (char *)(uintptr_t)(s->buffer[i].address + offset);
        if (bytes)
            assert_ok(device_check(cuda.MemcpyHtoD((CUdeviceptr)s->at[i], s->host[i], bytes), "copy in"));
    }
}

static inline void set_check(struct set *s, int calls, const char *who)
{
    size_t bytes = (size_t)s->count[2] * sizeof(float);
    float *got = malloc(bytes + 1);
    assert_non_null(got);
    assert_ok(device_check(cuda.CtxSynchronize(), who));
    if (bytes) assert_ok(device_check(cuda.MemcpyDtoH(got, (CUdeviceptr)s->at[2], bytes), "copy out"));
    for (int i = 0; i < calls; i++) reference_ijk(&s->problem, s->host[0], s->host[1], s->host[2]);
    for (int64_t i = 0; i < s->count[2]; i++)
        if (got[i] != s->host[2][i])
            fail_msg("%s: C[%lld] is %g, expected %g", who, (long long)i, (double)got[i],
                     (double)s->host[2][i]);
    free(got);
}

static inline void set_free(struct set *s)
{
    for (int i = 0; i < 3; i++) {
        free(s->host[i]);
        device_free(&s->buffer[i]);
    }
}

#endif
