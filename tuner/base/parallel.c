#include "parallel.h"

#include "cores.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MOST = 16 }; /* more would gain little on what takes some tenths of a second */

struct work {
    void (*piece)(void *self, size_t i);
    void *self;
    size_t count;
    atomic_size_t next;
};

static void *do_pieces(void *self)
{
    struct work *w = self;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count;) w->piece(w->self, i);
    return NULL;
}

void parallel_for(size_t count, void (*piece)(void *self, size_t i), void *self)
{
    struct work work = {.piece = piece, .self = self, .count = count};
    pthread_t thread[THREADS_MOST];
    size_t threads = 0;
    const size_t cores = (size_t)cores_allowed();
    size_t wanted = cores < count ? cores : count;
    if (wanted > THREADS_MOST) wanted = THREADS_MOST;
    while (threads + 1 < wanted && pthread_create(&thread[threads], NULL, do_pieces, &work) == 0) threads++;
    do_pieces(&work);
    for (size_t i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}
