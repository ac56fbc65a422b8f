#include "blas_pool.h"

#include "env.h"
#include "relaxed.h"

#include <sched.h>
#include <string.h>

void blas_pool_start(struct blas_pool *pool)
{
    *pool = (struct blas_pool){.count = 0};
    pthread_mutex_init(&pool->lock, NULL);
    for (int i = 0; i < BLAS_POOL_MAX; i++) atomic_flag_clear(&pool->slots[i].busy);
}

/* The pedantic mode excludes TF32 and emulation, but is sometimes slower, so it is used only if the
 * environment would allow one of them. The environment belongs to the program and is not changed. */
static bool must_be_pedantic(void)
{
    return env_is_nonzero("NVIDIA_TF32_OVERRIDE") || env_is_nonzero("CUBLAS_EMULATE_SINGLE_PRECISION");
}

/* Adds a handle, busy if the caller wants to use it. The lock is held. */
static enum status grow(struct blas_pool *pool, bool busy, int *index)
{
    int count = atomic_load(&pool->count);
    blas_handle handle = NULL;
    CUstreamCaptureMode mode = relaxed_begin();
    int result = blas.Create(&handle);
    relaxed_end(mode);
    const int math = must_be_pedantic() ? BLAS_PEDANTIC_MATH : BLAS_DEFAULT_MATH;
    if (!result) result = blas.SetMathMode(handle, math);
    if (result) {
        if (handle) blas.Destroy(handle);
        return fail(E_GPU, "cuBLAS %s does not start (status %d)", pool->version, result);
    }
    pool->slots[count].handle = handle;
    pool->slots[count].math = pool->slots[count].strict = math;
    if (busy) atomic_flag_test_and_set(&pool->slots[count].busy);
    *index = count;
    atomic_store(&pool->count, count + 1);
    return OK;
}

enum status blas_pool_open(struct blas_pool *pool)
{
    int index;
    pthread_mutex_lock(&pool->lock);
    enum status st = OK;
    if (atomic_load(&pool->count) == 0) {
        st = blas_load(pool->version);
        if (!st) st = grow(pool, false, &index);
    }
    pthread_mutex_unlock(&pool->lock);
    return st;
}

void blas_pool_close(struct blas_pool *pool)
{
    for (int i = 0; i < atomic_load(&pool->count); i++) blas.Destroy(pool->slots[i].handle);
    atomic_store(&pool->count, 0);
    if (pool->lt) blas_lt.Destroy(pool->lt);
    pthread_mutex_destroy(&pool->lock);
}

void blas_pool_forget(struct blas_pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
}

/* Index of a free handle, which is now marked busy. */
static int take(struct blas_pool *pool)
{
    for (;;) {
        int count = atomic_load(&pool->count), index = 0;
        for (int i = 0; i < count; i++)
            if (!atomic_flag_test_and_set_explicit(&pool->slots[i].busy, memory_order_acquire)) return i;
        enum status st = E_ABSENT;
        if (count < BLAS_POOL_MAX && pthread_mutex_trylock(&pool->lock) == 0) {
            if (atomic_load(&pool->count) < BLAS_POOL_MAX) st = grow(pool, true, &index);
            pthread_mutex_unlock(&pool->lock);
        }
        if (!st) return index;
        sched_yield(); /* calls are short: a handle will be free soon */
    }
}

/* CUBLAS_STATUS_ALLOC_FAILED, _INVALID_VALUE, _ARCH_MISMATCH and _NOT_SUPPORTED are returned before anything
 * is launched. */
static enum status meaning(int result, bool whole)
{
    const bool before = result == 3 || result == 7 || result == 8 || result == 15;
    return !before || !whole ? E_GPU : result == 3 ? E_MEMORY : E_ABSENT;
}

/* A long batch takes several calls, of which some may have been launched. */
static enum status refused(const struct blas_pool *pool, const struct problem *problem, int result)
{
    return fail(meaning(result, problem->batch <= BLAS_BATCH_SLICE),
                "cuBLAS %s could not run the problem (status %d)", pool->version, result);
}

enum status blas_pool_run(struct blas_pool *pool, const struct problem *problem, const struct gemm_call *call)
{
    if (device_forked())
        return fail(E_GPU, DEVICE_FORKED); /* threads that do not exist here may hold handles */
    int i = take(pool);
    blas_handle handle = pool->slots[i].handle;
    /* A handle's first calls load kernels, which is not allowed during a capture. */
    CUstreamCaptureMode mode = relaxed_begin();
    int result = blas.SetStream(handle, call->stream);
    /* With fast math cuBLAS expects items at multiples of 16 bytes, of which nothing is known with pointers.
     */
    const bool fast = gemm_type_compute(problem->type) == BLAS_COMPUTE_32F_FAST_TF32 && !problem->pointers;
    const int math = fast ? BLAS_TF32_MATH : pool->slots[i].strict;
    if (!result && math != pool->slots[i].math && !(result = blas.SetMathMode(handle, math)))
        pool->slots[i].math = math;
    if (!result)
        result =
            blas.SetPointerMode(handle, call->scalars_on_device ? BLAS_DEVICE_SCALARS : BLAS_HOST_SCALARS);
    if (!result)
        result = blas_run(handle, problem, call->at[OPERAND_A], call->at[OPERAND_B], call->at[OPERAND_C],
                          call->alpha, call->beta);
    relaxed_end(mode);
    atomic_flag_clear_explicit(&pool->slots[i].busy, memory_order_release);
    return result ? refused(pool, problem, result) : OK;
}

/* ---- cublasLt ---- */

enum status blas_pool_open_lt(struct blas_pool *pool, bool loaded)
{
    pthread_mutex_lock(&pool->lock);
    enum status st = pool->lt ? OK : loaded ? blas_lt_load_loaded() : blas_lt_load();
    if (!st && !pool->lt) {
        blas_lt_handle handle = NULL;
        CUstreamCaptureMode mode = relaxed_begin();
        const int result = blas_lt.Create(&handle);
        relaxed_end(mode);
        if (result) st = fail(E_GPU, "cublasLt does not start (status %d)", result);
        else pool->lt = handle;
    }
    pthread_mutex_unlock(&pool->lock);
    return st;
}

enum status blas_pool_make_lt(const struct blas_pool *pool, const struct problem *problem,
                              const struct blas_lt_wish *wish, struct blas_lt_product *product, bool *passing)
{
    struct blas_lt_wish with = *wish;
    int result;
    with.compute = blas_lt_compute(problem->type);
    CUstreamCaptureMode mode = relaxed_begin();
    enum status st = blas_lt_open(product, pool->lt, problem, &with, &result);
    relaxed_end(mode);
    *passing |= result == BLAS_LT_ALLOC_FAILED;
    return st;
}

enum status blas_pool_load_lt(const struct blas_pool *pool, const struct problem *problem,
                              const struct config *config, bool scalars_on_device,
                              struct blas_lt_product *product)
{
    CUstreamCaptureMode mode = relaxed_begin();
    enum status st = blas_lt_load_algorithm(product, pool->lt, problem, config, scalars_on_device);
    relaxed_end(mode);
    return st;
}

enum status blas_pool_run_lt(const struct blas_lt_product *product, CUdeviceptr workspace,
                             const struct gemm_call *call)
{
    struct blas_lt_call by_lt = {.alpha = call->alpha,
                                 .beta = call->beta,
                                 .scalars_on_device = call->scalars_on_device,
                                 .workspace = workspace,
                                 .stream = call->stream};
    memcpy(by_lt.at, call->at, sizeof by_lt.at);
    if (!by_lt.at[OPERAND_SOURCE]) by_lt.at[OPERAND_SOURCE] = call->at[OPERAND_C];
    if (device_forked()) return fail(E_GPU, DEVICE_FORKED);
    CUstreamCaptureMode mode = relaxed_begin();
    const int result = blas_lt_run(product, &by_lt);
    relaxed_end(mode);
    return result ? fail(meaning(result, true), "cublasLt could not run the problem (status %d)", result)
                  : OK;
}
