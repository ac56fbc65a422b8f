/* campaign_clock.c — falsifies the time of day, for LD_PRELOAD. The monotonic clocks are not changed.
 *
 *   CAMPAIGN_CLOCK="S S S ..."   offsets of the time of day in seconds; each call uses the next one, and
 *                                after the last comes the first again
 *   CAMPAIGN_FIRED=FILE          each process that asked for the time of day adds a line
 *   CAMPAIGN_PLANT=wall-clock    a defect: the monotonic clock stands still
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define STEPS_MAX 64

static long long steps[STEPS_MAX];
static int step_count;
static bool still;
static _Atomic unsigned turn;

static int (*real_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void read_plan(void)
{
    *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    const char *at = getenv("CAMPAIGN_CLOCK"), *plant = getenv("CAMPAIGN_PLANT");
    still = plant && strcmp(plant, "wall-clock") == 0;
    for (char *end; at && step_count < STEPS_MAX; at = end) {
        long long step = strtoll(at, &end, 10);
        if (end == at) break;
        steps[step_count++] = step;
    }
}

static void note(void)
{
    static _Atomic bool noted;
    const char *path = getenv("CAMPAIGN_FIRED");
    if (!path || atomic_exchange(&noted, true)) return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "clock asked\n", 12) != 12) abort();
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!real_gettime) read_plan(); /* another library's constructor came first */
    int rc = real_gettime(clock, time);
    if (rc || !step_count) return rc;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        note();
        time->tv_sec += steps[atomic_fetch_add(&turn, 1) % (unsigned)step_count];
    } else if (still && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)) {
        *time = (struct timespec){.tv_sec = 1000};
    }
    return rc;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
