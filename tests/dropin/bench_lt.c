/* bench_lt.c — LD_PRELOAD=libgemmtune_cublas.so bench_lt DRIVER: what the drop-in adds to a cublasLtMatmul
 * that it passes on, with the descriptors of NVIDIA's own cublasLt, which need no GPU. By hand. DRIVER is the
 * fake one of the tests (libfake_gpu.so), which GEMMTUNE_LIBCUDA must name, too. cublasLt is given no handle
 * and refuses at once, so that nearly all that is timed is the drop-in's. Least of many rounds, both in
 * turns.
 */
#include "cublas_abi.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PRODUCTS = 64, CALLS = 20000, ROUNDS = 40 };

typedef __typeof__(cublasLtMatmul) matmul_function;

static struct {
    lt_desc desc;
    struct lt_layout *a, *b, *c;
} products[PRODUCTS];

static void must(int failed, const char *what)
{
    if (!failed) return;
    fprintf(stderr, "cannot %s\n", what);
    exit(2);
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    must(!found, name);
    return found;
}

static void make_current(const char *driver)
{
    CUdevice device;
    CUcontext context;
    void *library = dlopen(driver, RTLD_NOW);
    must(!library, driver);
    __typeof__(cuInit) *init;
    __typeof__(cuDevicePrimaryCtxRetain) *retain;
    __typeof__(cuCtxSetCurrent) *set;
    __typeof__(cuDeviceGet) *get;
    *(void **)&init = symbol(library, "cuInit");
    *(void **)&get = symbol(library, "cuDeviceGet");
    *(void **)&retain = symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&set = symbol(library, "cuCtxSetCurrent");
    must(init(0) || get(&device, 0) || retain(&context, device) || set(context), "make a context");
}

static void describe(void *library)
{
    int (*desc_create)(lt_desc *, int compute, int scale);
    int (*layout_create)(struct lt_layout **, int type, uint64_t rows, uint64_t columns, int64_t ld);
    *(void **)&desc_create = symbol(library, "cublasLtMatmulDescCreate");
    *(void **)&layout_create = symbol(library, "cublasLtMatrixLayoutCreate");
    for (int i = 0; i < PRODUCTS; i++) {
        const int m = 1280 + 4 * i;
        must(desc_create(&products[i].desc, BLAS_COMPUTE_32F, BLAS_R_32F) ||
                 layout_create(&products[i].a, BLAS_R_32F, (uint64_t)m, 128, m) ||
                 layout_create(&products[i].b, BLAS_R_32F, 128, 128, 128) ||
                 layout_create(&products[i].c, BLAS_R_32F, (uint64_t)m, 128, m),
             "describe a product");
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double call_ns(matmul_function *matmul)
{
    static float memory[4] __attribute__((aligned(16)));
    const float one = 1, zero = 0;
    int answers = 0;
    const double start = seconds();
    for (int n = 0; n < CALLS; n++) {
        const int i = n % PRODUCTS;
        answers |= matmul(NULL, products[i].desc, &one, memory, products[i].a, memory, products[i].b, &zero,
                          memory, products[i].c, memory, products[i].c, NULL, NULL, 0, NULL);
    }
    must(!answers, "have the call refused");
    return (seconds() - start) / CALLS * 1e9;
}

int main(int argc, char **argv)
{
    double least[2] = {INFINITY, INFINITY};
    must(argc != 2, "do without the fake driver's path: bench_lt DRIVER");
    make_current(argv[1]);
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_GLOBAL);
    must(!library, "open libcublasLt.so.13 (LD_LIBRARY_PATH)");
    matmul_function *own, *seen;
    *(void **)&own = symbol(library, "cublasLtMatmul");
    *(void **)&seen = symbol(RTLD_DEFAULT, "cublasLtMatmul");
    must(own == seen, "see the drop-in: is it preloaded?");
    describe(library);
    for (int round = 0; round < ROUNDS; round++) {
        least[0] = fmin(least[0], call_ns(own));
        least[1] = fmin(least[1], call_ns(seen));
    }
    printf("cublasLtMatmul %.1f ns, passed on by the drop-in %.1f ns more\n", least[0], least[1] - least[0]);
    return 0;
}
