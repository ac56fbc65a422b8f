/* object.h — the objects that callers hold pointers to; one comparison tells a valid pointer from one to a
 * closed object or to something else.
 *
 * The first member is a type tag. Closing an object clears it, and its memory is used for another only after
 * OBJECTS_CLOSED more have been closed. It is never returned to the system, because then reading the tag
 * would be an error itself.
 */
#ifndef GT_OBJECT_H
#define GT_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECTS_CLOSED 32

struct object {
    _Atomic uint64_t kind;
    struct object *next; /* of the closed */
};

/* The objects of a kind; a pool has static storage. */
struct object_pool {
    uint64_t kind; /* a number that is unlikely anywhere else */
    size_t bytes;
    pthread_mutex_t lock;
    int closed_count;
    struct object *closed, *newest;
};

#define OBJECT_POOL(number, type)                                                                            \
    {                                                                                                        \
        .kind = (number), .bytes = sizeof(type), .lock = PTHREAD_MUTEX_INITIALIZER                           \
    }

/* Zeroed but for the object; NULL: out of memory. */
void *object_make(struct object_pool *pool);

/* False: another thread is closing it, or it is none; then it must be left alone. */
bool object_close(const struct object_pool *pool, void *object);

/* Frees an object after its last user has left it. */
void object_free(struct object_pool *pool, void *object);

static inline bool object_is(const struct object_pool *pool, const void *object)
{
    return object &&
           atomic_load_explicit(&((const struct object *)object)->kind, memory_order_relaxed) == pool->kind;
}

#endif
