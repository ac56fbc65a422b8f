#include "calls.h"

#include "dropin.h"
#include "lt_shortcut.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct calls *all; /* under the lock, as is every place */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

/* At the end of a thread: the next thread that begins takes them over, counts included. */
static void end(void *of)
{
    struct calls *mine = of;
    if (!dropin_on()) return; /* in a forked child another thread may hold the lock for ever */
    pthread_mutex_lock(&lock);
    lt_shortcut_flush(mine, true);
    *mine->place = NULL; /* other destructors may call, too */
    mine->place = NULL;
    pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end) == 0;
}

/* The lock is held. */
static struct calls *take_unused(void)
{
    struct calls *found = all;
    while (found && found->place) found = found->next;
    return found;
}

struct calls *calls_begin(void **place)
{
    pthread_once(&once, make_key);
    if (!has_key) return NULL;
    pthread_mutex_lock(&lock);
    struct calls *mine = take_unused();
    if (!mine && (mine = calloc(1, sizeof *mine))) {
        mine->next = all;
        all = mine;
    }
    if (mine) mine->place = place;
    pthread_mutex_unlock(&lock);
    if (!mine) return NULL;
    if (pthread_setspecific(key, mine)) { /* nobody would tell that the thread ends */
        pthread_mutex_lock(&lock);
        mine->place = NULL;
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    *place = mine;
    return mine;
}

void calls_sum(uint64_t *products, uint64_t *answered)
{
    *products = *answered = 0;
    pthread_mutex_lock(&lock);
    for (struct calls *x = all; x; x = x->next) {
        lt_shortcut_flush(x, false);
        *products += atomic_load_explicit(&x->products, memory_order_relaxed);
        *answered += atomic_load_explicit(&x->answered, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
}
