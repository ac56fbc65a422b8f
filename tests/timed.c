/* timed.c — runs a test and notes what it cost the processor.
 *
 *     timed FILE COMMAND [ARGUMENT...]
 *
 * FILE gets a line: CPU seconds of the command and its children, and of a fixed piece of work done just
 * before, which tells how fast this machine was. The exit status is the command's; 126: it cannot be run.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 400000, TABLE_BITS = 17, FRESH = 4 };

/* Scattered accesses to more memory than is near the core, and to fresh pages: programs with sanitizers spend
 * their time so. */
static double pace(void)
{
    const size_t bytes = sizeof(uint64_t) << TABLE_BITS;
    struct timespec begin, end;
    uint64_t x = 1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int fresh = 0; fresh < FRESH; fresh++) {
        volatile uint64_t *table =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (table == MAP_FAILED) return 0;
        for (int i = 0; i < STEPS / FRESH; i++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
            table[x >> (64 - TABLE_BITS)] += x;
        }
        munmap((void *)(uintptr_t)table, bytes);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* As the command ended, so that ctest sees how. */
static int end_like(int how)
{
    if (!WIFSIGNALED(how)) return WEXITSTATUS(how);
    signal(WTERMSIG(how), SIG_DFL);
    raise(WTERMSIG(how));
    return 126;
}

int main(int argc, char **argv)
{
    struct rusage used;
    int how;
    if (argc < 3) {
        fprintf(stderr, "usage: timed FILE COMMAND [ARGUMENT...]\n");
        return 126;
    }
    const double work_s = pace();
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        fprintf(stderr, "timed: cannot run %s: %s\n", argv[2], strerror(errno));
        _exit(126);
    }
    if (child < 0 || wait4(child, &how, 0, &used) != child) {
        fprintf(stderr, "timed: %s\n", strerror(errno));
        return 126;
    }
    FILE *file = fopen(argv[1], "w");
    if (file) {
        fprintf(file, "%.3f %.6f\n", seconds(used.ru_utime) + seconds(used.ru_stime), work_s);
        fclose(file);
    }
    return end_like(how);
}
