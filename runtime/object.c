#include "object.h"

#include <stdlib.h>
#include <string.h>

void *object_make(struct object_pool *pool)
{
    struct object *object = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->closed_count > OBJECTS_CLOSED) {
        object = pool->closed;
        pool->closed = object->next;
        pool->closed_count--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (object) memset((void *)object, 0, pool->bytes);
    else object = calloc(1, pool->bytes);
    if (object) atomic_store(&object->kind, pool->kind);
    return object;
}

bool object_close(const struct object_pool *pool, void *opaque)
{
    struct object *object = opaque;
    uint64_t kind = pool->kind;
    return object && atomic_compare_exchange_strong(&object->kind, &kind, 0);
}

void object_free(struct object_pool *pool, void *opaque)
{
    struct object *object = opaque;
    object->next = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->closed) pool->newest->next = object;
    else pool->closed = object;
    pool->newest = object;
    pool->closed_count++;
    pthread_mutex_unlock(&pool->lock);
}
