#include "background.h"

#include "compile.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define STACK_BYTES (16 << 20) /* for the compiler, whatever the program's limit says */

struct piece {
    struct piece *next;
    void (*work)(void *item), (*drop)(void *item);
    void *item;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct piece *first, **last = &first;
static bool working, ending;                                 /* under the lock, as the list is */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER; /* the next two */
static bool started, runs;                                   /* runs: the thread, for good */

static struct piece *next_piece(void)
{
    pthread_mutex_lock(&lock);
    working = false;
    pthread_cond_broadcast(&done);
    while (!first || ending) pthread_cond_wait(&added, &lock);
    struct piece *piece = first;
    first = piece->next;
    if (!first) last = &first;
    working = true;
    pthread_mutex_unlock(&lock);
    return piece;
}

static void *run(void *unused)
{
    for (;;) {
        struct piece *piece = next_piece();
        piece->work(piece->item);
        free(piece);
    }
    return unused;
}

static void wait_at_end(void)
{
    pthread_mutex_lock(&lock);
    ending = true;
    while (working) pthread_cond_wait(&done, &lock);
    struct piece *left = first;
    first = NULL;
    last = &first;
    pthread_mutex_unlock(&lock);
    for (struct piece *next; left; left = next) {
        next = left->next;
        left->drop(left->item);
        free(left);
    }
}

static void start(int arch)
{
    char version[16];
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (compile_load(version)) return;
    compile_until_exit(arch, wait_at_end);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    runs = pthread_create(&thread, &attributes, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

bool background_add(int arch, void (*work)(void *item), void (*drop)(void *item), void *item)
{
    pthread_mutex_lock(&starting);
    if (!started) start(arch);
    started = true;
    struct piece *piece = runs ? malloc(sizeof *piece) : NULL;
    pthread_mutex_unlock(&starting);
    if (!piece) return false;
    *piece = (struct piece){.work = work, .drop = drop, .item = item};
    pthread_mutex_lock(&lock);
    const bool late = ending; /* nothing is done any more */
    if (!late) {
        *last = piece;
        last = &piece->next;
        pthread_cond_signal(&added);
    }
    pthread_mutex_unlock(&lock);
    if (late) {
        free(piece);
        drop(item);
    }
    return true;
}
