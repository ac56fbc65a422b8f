#include "watch.h"

#include "clock.h"
#include "db.h"
#include "env.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EVERY_S    2.0
#define WORK_SHARE 4.0 /* so many times as long as a call took it rests, at least */

/* What tells two states of the database's files apart. */
struct sight {
    struct {
        int64_t inode, bytes, seconds, nanoseconds;
    } file[2]; /* the database, and its log */
};

struct watch {
    char path[4096];
    double every_s;
    void (*changed)(void *self);
    void *self;
    struct sight seen;
    pthread_t thread;
    pthread_mutex_t lock; /* stopping */
    pthread_cond_t stop;
    bool stopping;
};

static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER; /* held during every call of changed */
static bool ended;                                          /* under it */
static pthread_once_t at_exit = PTHREAD_ONCE_INIT;

void watch_end(void)
{
    pthread_mutex_lock(&calling);
    ended = true;
    pthread_mutex_unlock(&calling);
}

/* A forked child has the handler, and no thread. */
static pid_t registered_by;

static void end_here(void)
{
    if (getpid() == registered_by) watch_end();
}

/* The libraries that a call of changed uses may have objects that end before ours; registered after they were
 * loaded, this comes before. */
static void end_at_exit(void)
{
    registered_by = getpid();
    atexit(end_here);
}

static struct sight look(const char *path)
{
    struct sight sight;
    char log[4096 + 8];
    memset(&sight, 0, sizeof sight);
    snprintf(log, sizeof log, "%s-wal", path);
    for (int i = 0; i < 2; i++) {
        struct stat s;
        if (stat(i ? log : path, &s)) continue;
        sight.file[i].inode = (int64_t)s.st_ino;
        sight.file[i].bytes = (int64_t)s.st_size;
        sight.file[i].seconds = (int64_t)s.st_mtim.tv_sec;
        sight.file[i].nanoseconds = (int64_t)s.st_mtim.tv_nsec;
    }
    return sight;
}

/* False: it is to stop. */
static bool rest(struct watch *w, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)(1e9 * (seconds - floor(seconds)));
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&w->lock);
    while (!w->stopping && pthread_cond_timedwait(&w->stop, &w->lock, &until) == 0) {
    }
    const bool goes_on = !w->stopping;
    pthread_mutex_unlock(&w->lock);
    return goes_on;
}

static void *run(void *self)
{
    struct watch *w = self;
    bool again = false;
    double pause_s = w->every_s;
    while (rest(w, pause_s)) {
        const struct sight now = look(w->path);
        const bool differs = memcmp(&now, &w->seen, sizeof now) != 0;
        pause_s = w->every_s;
        if (differs || again) {
            const double from = now_s();
            pthread_mutex_lock(&calling);
            if (!ended) w->changed(w->self);
            pthread_mutex_unlock(&calling);
            pthread_once(&at_exit, end_at_exit);
            pause_s = fmax(pause_s, WORK_SHARE * (now_s() - from));
        }
        again = differs;
        w->seen = now;
    }
    return NULL;
}

struct watch *watch_start(const char *database, void (*changed)(void *self), void *self)
{
    double every_s = EVERY_S;
    env_seconds("GEMMTUNE_RENEW_S", &every_s);
    struct watch *w = every_s > 0 ? calloc(1, sizeof *w) : NULL;
    if (!w) return NULL;
    const bool named = database ? snprintf(w->path, sizeof w->path, "%s", database) < (int)sizeof w->path
                                : db_default_path(w->path, sizeof w->path) == OK;
    if (!named) w->path[0] = '\0'; /* nothing is watched */
    w->every_s = every_s;
    w->changed = changed;
    w->self = self;
    w->seen = look(w->path);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t by_clock;
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w->stop, &by_clock);
    pthread_condattr_destroy(&by_clock);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool runs = w->path[0] && pthread_create(&w->thread, NULL, run, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (runs) return w;
    pthread_cond_destroy(&w->stop);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

void watch_stop(struct watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->stop);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->stop);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
