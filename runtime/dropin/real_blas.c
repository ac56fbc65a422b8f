#include "real_blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

_Atomic(const struct real_blas *) real_blas_found;
_Atomic(const struct real_lt *) real_lt_found;
static struct real_blas blas_found;
static struct real_lt lt_found;
static pthread_once_t blas_once = PTHREAD_ONCE_INIT, lt_once = PTHREAD_ONCE_INIT;

struct symbol {
    const char *name;
    void *target;
};

static const struct symbol blas_symbols[] = {
    {"cublasSgemm_v2", &blas_found.Sgemm},
    {"cublasSgemm_v2_64", &blas_found.Sgemm64},
    {"cublasSgemmStridedBatched", &blas_found.SgemmStrided},
    {"cublasSgemmStridedBatched_64", &blas_found.SgemmStrided64},
    {"cublasSgemmBatched", &blas_found.SgemmBatched},
    {"cublasSgemmBatched_64", &blas_found.SgemmBatched64},
    {"cublasGemmEx", &blas_found.GemmEx},
    {"cublasGemmEx_64", &blas_found.GemmEx64},
    {"cublasGemmStridedBatchedEx", &blas_found.GemmStridedEx},
    {"cublasGemmStridedBatchedEx_64", &blas_found.GemmStridedEx64},
    {"cublasGetStream_v2", &blas_found.GetStream},
    {"cublasGetPointerMode_v2", &blas_found.GetPointerMode},
    {"cublasGetMathMode", &blas_found.GetMathMode},
};

static const struct symbol lt_symbols[] = {
    {"cublasLtMatmul", &lt_found.Matmul},
    {"cublasLtMatmulDescGetAttribute", &lt_found.DescGet},
    {"cublasLtMatrixLayoutGetAttribute", &lt_found.LayoutGet},
};

/* A library that the program has loaded for itself alone is not in the scope that RTLD_NEXT searches. */
static void *loaded(const char *const *names, int flags)
{
    void *library = NULL;
    for (int i = 0; names[i] && !library; i++) library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL | flags);
    return library;
}

static void find(const struct symbol *symbols, size_t count, const char *const *names)
{
    void *from = RTLD_NEXT;
    if (!dlsym(from, symbols[0].name)) from = loaded(names, RTLD_NOLOAD);
    if (!from) from = loaded(names, 0);
    for (size_t i = 0; i < count && from; i++) {
        void *address = dlsym(from, symbols[i].name);
        memcpy(symbols[i].target, &address, sizeof address);
    }
}

static void find_blas(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", NULL};
    find(blas_symbols, sizeof blas_symbols / sizeof *blas_symbols, names);
}

static void find_lt(void)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", NULL};
    find(lt_symbols, sizeof lt_symbols / sizeof *lt_symbols, names);
}

const struct real_blas *real_blas_find(void)
{
    pthread_once(&blas_once, find_blas);
    atomic_store(&real_blas_found, &blas_found);
    return &blas_found;
}

const struct real_lt *real_lt_find(void)
{
    pthread_once(&lt_once, find_lt);
    atomic_store(&real_lt_found, &lt_found);
    return &lt_found;
}
