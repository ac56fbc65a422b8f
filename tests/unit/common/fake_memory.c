/* fake_memory.c — the fake driver's device memory, which is the host's: how much there is, whose it is, and
 * whether an address is still allocated. FAKE_GPU_MEMORY: bytes that can be allocated at once.
 */
#include "fake_lock.h"
#include "fake_stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Atomic long long fake_bytes, fake_bytes_most;
_Atomic int fake_buffers, fake_allocations;

struct block {
    struct block *next;
    char *at;
    size_t bytes;
    CUcontext context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static struct block *freed,
    **freed_end = &freed; /* not the host's again for a while, so that uses are noticed */
static size_t freed_bytes;

struct pool {
    struct pool *next;
    CUcontext context;
};
static struct pool *pools;

#define FREED_BYTES_MAX ((size_t)256 << 20)

static bool fits(size_t bytes)
{
    const char *most = getenv("FAKE_GPU_MEMORY");
    return bytes <= (size_t)1 << 31 && (!most || fake_bytes + (long long)bytes <= atoll(most));
}

/* What was there before is nobody's promise. */
static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    struct block *block = fits(bytes) ? malloc(sizeof *block) : NULL;
    char *at = block ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
    if (!at) {
        free(block);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(at, 0x5a, bytes < 4096 ? bytes : 4096);
    *block = (struct block){.at = at, .bytes = bytes};
    cuCtxGetCurrent(&block->context);
    fake_lock(&lock);
    block->next = blocks;
    blocks = block;
    fake_bytes += (long long)bytes;
    if (fake_bytes > fake_bytes_most) fake_bytes_most = fake_bytes;
    fake_unlock(&lock);
    fake_count(&fake_buffers, 1);
    fake_count(&fake_allocations, 1);
    fake_count(&fake_open, 1);
    *address = (CUdeviceptr)(uintptr_t)at;
    return CUDA_SUCCESS;
}

/* The lock is held. */
static void release(struct block **link)
{
    struct block *block = *link;
    *link = block->next;
    fake_forget(block->at, block->bytes);
    fake_bytes -= (long long)block->bytes;
    fake_count(&fake_buffers, -1);
    fake_count(&fake_open, -1);
    block->next = NULL;
    *freed_end = block;
    freed_end = &block->next;
    for (freed_bytes += block->bytes; freed_bytes > FREED_BYTES_MAX && freed->next;) {
        struct block *oldest = freed;
        freed = oldest->next;
        freed_bytes -= oldest->bytes;
        free(oldest->at);
        free(oldest);
    }
}

static const struct block *find(const struct block *list, const void *at)
{
    for (; list; list = list->next)
        if ((const char *)at >= list->at && (const char *)at < list->at + list->bytes) return list;
    return NULL;
}

static CUresult free_at(CUdeviceptr address)
{
    CUresult result = address ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    fake_lock(&lock);
    for (struct block **link = &blocks; *link; link = &(*link)->next)
        if ((*link)->at == (char *)(uintptr_t)address) {
            release(link);
            result = CUDA_SUCCESS;
            break;
        }
    fake_unlock(&lock);
    return result;
}

/* A caller's own workspace may be any memory of the host. */
bool fake_is_freed(const void *at)
{
    fake_lock(&lock);
    bool is = find(freed, at);
    fake_unlock(&lock);
    return is;
}

const void *fake_block_of(const void *at)
{
    fake_lock(&lock);
    const struct block *block = find(blocks, at);
    const void *start = block ? block->at : NULL;
    fake_unlock(&lock);
    return start;
}

/* Only of which device it is, and only for memory of the device. */
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL || !fake_block_of((const void *)(uintptr_t)address))
        return CUDA_ERROR_INVALID_VALUE;
    *(int *)value = 0;
    return RESULT;
}

/* One pool, or all of a context. */
static bool free_pools(const struct pool *one, CUcontext context)
{
    bool any = false;
    fake_lock(&lock);
    for (struct pool **link = &pools; *link;) {
        struct pool *p = *link;
        if (one ? p != one : p->context != context) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        free(p);
        fake_count(&fake_open, -1);
        any = true;
    }
    fake_unlock(&lock);
    return any;
}

void fake_memory_reset(void *context)
{
    fake_lock(&lock);
    for (struct block **link = &blocks; *link;)
        if ((*link)->context == (CUcontext)context) release(link);
        else link = &(*link)->next;
    fake_unlock(&lock);
    free_pools(NULL, (CUcontext)context);
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = (size_t)100 << 20;
    *total = (size_t)140 << 30;
    return RESULT;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    CUresult result = SAFE_RESULT;
    return result == CUDA_SUCCESS ? allocate(address, bytes) : result;
}

CUresult cuMemFree(CUdeviceptr address)
{
    CUresult result = SAFE_RESULT;
    return result == CUDA_SUCCESS ? free_at(address) : result;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    CUresult result =
        properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? SAFE_RESULT : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) return result;
    struct pool *p = calloc(1, sizeof *p);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    cuCtxGetCurrent(&p->context);
    fake_lock(&lock);
    p->next = pools;
    pools = p;
    fake_unlock(&lock);
    *pool = (CUmemoryPool)(void *)p;
    fake_count(&fake_open, 1);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    return pool && free_pools((struct pool *)pool, NULL) ? RESULT : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
    return pool && bytes == 0 ? RESULT : CUDA_ERROR_INVALID_VALUE;
}

/* In a captured stream it would be a node of the program's graph. */
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    if (result != CUDA_SUCCESS) return result;
    if (!pool || fake_is_captured(stream)) return CUDA_ERROR_INVALID_VALUE;
    return allocate(address, bytes);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    if (result != CUDA_SUCCESS) return result;
    if (fake_is_captured(stream)) return CUDA_ERROR_INVALID_VALUE;
    fake_access(stream, (const void *)(uintptr_t)address);
    return free_at(address);
}

static void copy(void *to, const void *from, size_t bytes)
{
    fake_device_begin();
    memmove(to, from, bytes);
    fake_device_end();
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    CUresult result = SAFE_RESULT;
    if (result == CUDA_SUCCESS) copy((void *)(uintptr_t)to, from, bytes);
    return result;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    CUresult result = SAFE_RESULT;
    if (result == CUDA_SUCCESS) copy(to, (const void *)(uintptr_t)from, bytes);
    return result;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    if (result == CUDA_SUCCESS) copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return result;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    if (result == CUDA_SUCCESS && !fake_is_captured(stream)) fake_access(stream, (void *)(uintptr_t)to);
    fake_device_begin();
    if (result == CUDA_SUCCESS) memset((void *)(uintptr_t)to, value, count);
    fake_device_end();
    return result;
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    CUresult result = fake_enqueue(stream, __func__);
    fake_device_begin();
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) ((unsigned *)(uintptr_t)to)[i] = value;
    fake_device_end();
    return result;
}
