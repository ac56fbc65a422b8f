#include "memory.h"

/* Sizes are rounded up, so that problems of similar sizes need no new allocation. */
#define HEAD_STEP ((size_t)4 << 10)
#define DATA_STEP ((size_t)256 << 10)

static size_t round_up(size_t bytes, size_t step)
{
    return (bytes + step - 1) / step * step;
}

void memory_start(struct memory *memory, CUdevice device)
{
    int pools = 0;
    *memory = (struct memory){.device = device};
    pthread_mutex_init(&memory->lock, NULL);
    if (cuda.DeviceGetAttribute(&pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device) != CUDA_SUCCESS)
        pools = 0;
    memory->plain = !pools;
}

/* NULL: no pool is used. */
static CUmemoryPool pool_of(struct memory *memory)
{
    const CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = memory->device}};
    pthread_mutex_lock(&memory->lock);
    if (!memory->plain && !memory->pool)
        memory->plain = cuda.MemPoolCreate(&memory->pool, &properties) != CUDA_SUCCESS;
    CUmemoryPool pool = memory->pool;
    pthread_mutex_unlock(&memory->lock);
    return pool;
}

static CUresult allocate(struct memory *memory, size_t bytes, CUstream stream, CUdeviceptr *address)
{
    CUmemoryPool pool = pool_of(memory);
    return pool ? cuda.MemAllocFromPoolAsync(address, bytes, pool, stream) : cuda.MemAlloc(address, bytes);
}

enum status memory_take(struct memory *memory, const struct workspace_need *need, CUstream stream,
                        struct workspace_buffer *buffer)
{
    struct workspace_buffer fresh = {.head = round_up(need->counters, HEAD_STEP),
                                     .data = round_up(need->bytes - need->counters, DATA_STEP)};
    enum status st =
        device_check(allocate(memory, fresh.head + fresh.data, stream, &fresh.base), "allocate a workspace");
    if (st) return st;
    if (fresh.head > 0)
        st = device_check(cuda.MemsetD8Async(fresh.base, 0, fresh.head, stream), "clear a workspace");
    if (st) memory_give(memory, &fresh, stream);
    else *buffer = fresh;
    return st;
}

void memory_give(struct memory *memory, struct workspace_buffer *buffer, CUstream stream)
{
    if (!pool_of(memory)) memory_give_idle(buffer);
    else if (buffer->base) cuda.MemFreeAsync(buffer->base, stream);
    *buffer = (struct workspace_buffer){0};
}

void memory_give_idle(struct workspace_buffer *buffer)
{
    if (buffer->base) cuda.MemFree(buffer->base);
    *buffer = (struct workspace_buffer){0};
}

void memory_trim(struct memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    if (memory->pool) cuda.MemPoolTrimTo(memory->pool, 0);
    pthread_mutex_unlock(&memory->lock);
}

void memory_close(struct memory *memory)
{
    if (memory->pool) cuda.MemPoolDestroy(memory->pool);
    memory->pool = NULL;
    pthread_mutex_destroy(&memory->lock);
}
