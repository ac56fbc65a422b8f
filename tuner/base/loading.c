#include "loading.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* A fork waits no longer: it may come from a constructor, which holds the loader's lock that the opening
 * needs. */
#define PATIENCE_S 5

/* Held for reading while a library is opened, for writing during a fork. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_bool spoilt; /* the loader's lists were inherited half-changed */
static _Thread_local int inside;
static _Thread_local bool held;

static bool begin(void)
{
    if (atomic_load_explicit(&spoilt, memory_order_relaxed)) return false;
    if (inside++ == 0) pthread_rwlock_rdlock(&lock);
    return true;
}

static void end(void)
{
    if (--inside == 0) pthread_rwlock_unlock(&lock);
}

const struct loading loading_own = {begin, end};
static _Atomic(const struct loading *) used = &loading_own;

void loading_use(const struct loading *others)
{
    atomic_store(&used, others);
}

bool loading_begin(void)
{
    return atomic_load(&used)->begin();
}

void loading_end(void)
{
    atomic_load(&used)->end();
}

static void before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    /* A constructor that starts another program forks inside of an opening of its own thread. */
    held = inside == 0 && pthread_rwlock_timedwrlock(&lock, &until) == 0;
}

static void in_parent(void)
{
    if (held) pthread_rwlock_unlock(&lock);
}

static void in_child(void)
{
    if (held) pthread_rwlock_unlock(&lock); /* what follows locks knows that it is free */
    if (!held && inside == 0) atomic_store(&spoilt, true);
    pthread_rwlock_init(&lock, NULL); /* other readers do not exist here */
    if (inside) pthread_rwlock_rdlock(&lock);
}

__attribute__((constructor)) static void start(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}
