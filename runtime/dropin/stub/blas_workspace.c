#include "blas_workspace.h"

#include <stdatomic.h>

/* A handle may be in any slot of the bucket that its address selects. A full bucket accepts no more. */
enum { BUCKET_BITS = 6, BUCKET_SLOTS = 16 };

struct slot {
    _Atomic(blas_handle) handle; /* NULL: free */
    _Atomic(void *) memory;
    atomic_size_t bytes;
};

static struct slot buckets[1 << BUCKET_BITS][BUCKET_SLOTS];
static atomic_bool used;

static struct slot *bucket_of(blas_handle handle)
{
    return buckets[(uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15U >> (64 - BUCKET_BITS)];
}

/* NULL: not found. */
static struct slot *find(blas_handle handle)
{
    if (!handle || !atomic_load_explicit(&used, memory_order_relaxed)) return NULL;
    struct slot *bucket = bucket_of(handle);
    for (int i = 0; i < BUCKET_SLOTS; i++)
        if (atomic_load_explicit(&bucket[i].handle, memory_order_relaxed) == handle) return &bucket[i];
    return NULL;
}

/* NULL: there is no room. */
static struct slot *add(blas_handle handle)
{
    struct slot *bucket = bucket_of(handle);
    atomic_store(&used, true);
    for (int i = 0; i < BUCKET_SLOTS; i++) {
        blas_handle nobody = NULL;
        if (atomic_compare_exchange_strong(&bucket[i].handle, &nobody, handle)) return &bucket[i];
    }
    return NULL;
}

static void put(struct slot *slot, void *memory, size_t bytes)
{
    atomic_store_explicit(&slot->memory, memory, memory_order_relaxed);
    atomic_store_explicit(&slot->bytes, bytes, memory_order_relaxed);
}

struct blas_workspace blas_workspace_of(blas_handle handle)
{
    struct slot *slot = find(handle);
    if (!slot) return (struct blas_workspace){NULL, 0};
    return (struct blas_workspace){atomic_load_explicit(&slot->memory, memory_order_relaxed),
                                   atomic_load_explicit(&slot->bytes, memory_order_relaxed)};
}

void blas_workspace_set(blas_handle handle, void *memory, size_t bytes)
{
    struct slot *slot = find(handle);
    if (!slot && handle && memory) slot = add(handle);
    if (slot) put(slot, memory, bytes);
}

void blas_workspace_reset(blas_handle handle)
{
    blas_workspace_set(handle, NULL, 0);
}

void blas_workspace_forget(blas_handle handle)
{
    struct slot *slot = find(handle);
    if (!slot) return;
    put(slot, NULL, 0);
    atomic_store_explicit(&slot->handle, NULL, memory_order_release);
}
