/* bench_dropin.c — bench_dropin LIBGEMMTUNE_CUBLAS: the cost that the drop-in adds to a call on a real GPU.
 * In a process that has it preloaded, cuBLAS's own functions and the drop-in's are called in turns: for
 * problems around 128x128x128 without a winner, which pass through, and for one with a winner. Prints a
 * table; exits with 77 if there is no GPU or no cuBLAS, with 1 if a call that passes costs more than 200 ns
 * more. */
#include "cublas_abi.h"
#include "library.h"
#include "loaded_from.h"
#include "rounds.h"

#include <dlfcn.h>
#include <unistd.h>

#define BOUND_NS 200

enum { SIZE = 128, PROBLEMS = 16, RUNNERS = 7 };

static struct device device;
static struct device_buffer buffers[3];
static blas_handle handle;
static lt_handle lt;
static const float one = 1, zero = 0;

/* cuBLAS's own functions, and those that a program linked with it gets. */
static struct functions {
    __typeof__(cublasSgemm_v2) *Sgemm;
    __typeof__(cublasGemmEx) *GemmEx;
    __typeof__(cublasLtMatmul) *Matmul;
} own, seen;

static struct {
    int (*Create)(lt_handle *);
    int (*DescCreate)(lt_desc *, int compute, int scale);
    int (*LayoutCreate)(struct lt_layout **, int type, uint64_t rows, uint64_t columns, int64_t ld);
} make;

static struct {
    lt_desc desc;
    struct lt_layout *a, *b, *c;
} products[PROBLEMS];
static int calls;

/* ---- runners ---- */

static float *at(int i)
{
    return (float *)(uintptr_t)buffers[i].address; /* NOLINT: a device address */
}

/* Each call uses another one of the problems, because programs rarely repeat the same one all the time. */
static int next(void)
{
    return calls++ % PROBLEMS;
}

static int sgemm(__typeof__(cublasSgemm_v2) *f, int m)
{
    return f(handle, BLAS_OP_N, BLAS_OP_N, m, SIZE, SIZE, &one, at(0), SIZE + PROBLEMS, at(1), SIZE, &zero,
             at(2), SIZE + PROBLEMS);
}

static int run_own_sgemm(void)
{
    return sgemm(own.Sgemm, SIZE + next());
}

static int run_seen_sgemm(void)
{
    return sgemm(seen.Sgemm, SIZE + next());
}

static int gemm_ex(__typeof__(cublasGemmEx) *f)
{
    return f(handle, BLAS_OP_N, BLAS_OP_N, SIZE + next(), SIZE, SIZE, &one, at(0), BLAS_R_32F,
             SIZE + PROBLEMS, at(1), BLAS_R_32F, SIZE, &zero, at(2), BLAS_R_32F, SIZE + PROBLEMS,
             BLAS_COMPUTE_32F, -1);
}

static int run_own_ex(void)
{
    return gemm_ex(own.GemmEx);
}

static int run_seen_ex(void)
{
    return gemm_ex(seen.GemmEx);
}

static int matmul(__typeof__(cublasLtMatmul) *f)
{
    const int i = next();
    return f(lt, products[i].desc, &one, at(0), products[i].a, at(1), products[i].b, &zero, at(2),
             products[i].c, at(2), products[i].c, NULL, NULL, 0, device.stream);
}

static int run_own_matmul(void)
{
    return matmul(own.Matmul);
}

static int run_seen_matmul(void)
{
    return matmul(seen.Matmul);
}

/* The one problem that a tuned kernel computes. */
static int run_tuned(void)
{
    return seen.Sgemm(handle, BLAS_OP_N, BLAS_OP_N, SIZE, SIZE, SIZE, &one, at(0), SIZE, at(1), SIZE, &zero,
                      at(2), SIZE);
}

/* ---- setup ---- */

static void find(struct functions *f, void *blas_library, void *lt_library)
{
    const struct library_symbol symbols[] = {{"cublasSgemm_v2", &f->Sgemm}, {"cublasGemmEx", &f->GemmEx}};
    const struct library_symbol lt_symbols[] = {{"cublasLtMatmul", &f->Matmul}};
    must(library_bind(blas_library, symbols, 2) || library_bind(lt_library, lt_symbols, 1), "look up cuBLAS");
}

static void prepare(void)
{
    char path[4096], *name;
    void *symbol;
    memcpy(&symbol, &blas.Create, sizeof symbol);
    loaded_from(symbol, path, sizeof path - 8);
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    must(!(name = strstr(path, "cublas.so")), path);
    memmove(name + 8, name + 6, strlen(name + 6) + 1);
    memcpy(name, "cublasLt", 8);
    void *lt_library = dlopen(path, RTLD_LAZY);
    must(!library || !lt_library, path);
    find(&own, library, lt_library);
    find(&seen, RTLD_DEFAULT, RTLD_DEFAULT);
    must(own.Sgemm == seen.Sgemm || own.GemmEx == seen.GemmEx || own.Matmul == seen.Matmul,
         "the drop-in is not preloaded");
    const struct library_symbol makers[] = {{"cublasLtCreate", &make.Create},
                                            {"cublasLtMatmulDescCreate", &make.DescCreate},
                                            {"cublasLtMatrixLayoutCreate", &make.LayoutCreate}};
    must(library_bind(lt_library, makers, 3) != NULL, "look up cublasLt");
    must(blas.Create(&handle) || blas.SetStream(handle, device.stream) || make.Create(&lt), "start cuBLAS");
    for (int i = 0; i < PROBLEMS; i++) {
        const uint64_t m = SIZE + (uint64_t)i;
        must(make.DescCreate(&products[i].desc, BLAS_COMPUTE_32F, BLAS_R_32F) ||
                 make.LayoutCreate(&products[i].a, BLAS_R_32F, m, SIZE, SIZE + PROBLEMS) ||
                 make.LayoutCreate(&products[i].b, BLAS_R_32F, SIZE, SIZE, SIZE) ||
                 make.LayoutCreate(&products[i].c, BLAS_R_32F, m, SIZE, SIZE + PROBLEMS),
             "describe a product");
    }
}

/* The drop-in reads its settings and winners at the first call. */
static void settle(const char *folder)
{
    char path[256];
    struct config config;
    snprintf(path, sizeof path, "%s/no.db", folder);
    setenv("GEMMTUNE_DB", path, 1);
    setenv("GEMMTUNE_CONFIGS", folder, 1);
    setenv("GEMMTUNE_CACHE", folder, 1);
    setenv("GEMMTUNE_LOG", "1", 1);
    snprintf(path, sizeof path, "%s/log", folder);
    must(!freopen(path, "w", stderr), path);
    snprintf(path, sizeof path, "mkdir '%s/winners'", folder);
    must(system(path), "make a folder");
    snprintf(path, sizeof path, "%s/winners/one.jsonl", folder);
    FILE *file = fopen(path, "w");
    must(!file, path);
    round_config(&config, 1);
    round_winner(file, &device, "sgemm:nn:128x128x128", &config);
    fclose(file);
}

/* According to its log, which is printed if the call was not tuned. */
static int was_tuned(const char *folder)
{
    char line[1024];
    int found = 0, failed = 0;
    snprintf(line, sizeof line, "%s/log", folder);
    FILE *log = fopen(line, "r");
    must(!log, line);
    while (fgets(line, sizeof line, log)) {
        found |= strstr(line, "128x128x128 -> tuned kernel") != NULL;
        failed |= strstr(line, "the tuned kernel failed") != NULL;
    }
    rewind(log);
    while ((!found || failed) && fgets(line, sizeof line, log)) fputs(line, stdout);
    fclose(log);
    return found && !failed;
}

static int preload(char **argv)
{
    setenv("LD_PRELOAD", argv[1], 1);
    execv("/proc/self/exe", argv);
    must(1, "start anew");
    return 1;
}

int main(int argc, char **argv)
{
    static struct runner runners[RUNNERS] = {{.name = "cublasSgemm", .run = run_own_sgemm},
                                             {.name = "  passed through", .run = run_seen_sgemm},
                                             {.name = "cublasGemmEx", .run = run_own_ex},
                                             {.name = "  passed through", .run = run_seen_ex},
                                             {.name = "cublasLtMatmul", .run = run_own_matmul},
                                             {.name = "  passed through", .run = run_seen_matmul},
                                             {.name = "cublasSgemm, by a tuned kernel", .run = run_tuned}};
    char folder[] = "/tmp/gemmtune-bench-XXXXXX", version[16], command[64];
    if (argc != 2) {
        fprintf(stderr, "usage: bench_dropin LIBGEMMTUNE_CUBLAS\n");
        return 2;
    }
    if (!getenv("LD_PRELOAD")) return preload(argv);
    if (device_load() || device_open(0, &device) || blas_load(version)) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
    must(!mkdtemp(folder), "make a folder");
    for (int i = 0; i < 3; i++)
        must(device_allocate(&buffers[i], sizeof(float) * (SIZE + PROBLEMS) * (SIZE + PROBLEMS)) != OK,
             "allocate");
    settle(folder);
    prepare();
    rounds_run(runners, RUNNERS, &device, "host time of a call around 128x128x128");
    int kept = 1;
    for (int i = 0; i < 6; i += 2) {
        const double more = round_median(&runners[i + 1]) - round_median(&runners[i]);
        printf("%s: the drop-in adds %.0f ns\n", runners[i].name, more);
        kept &= more <= BOUND_NS;
    }
    printf("a call that passes through costs at most %d ns more: %s\n", BOUND_NS, kept ? "kept" : "NOT kept");
    fflush(stderr);
    if (!was_tuned(folder)) {
        printf("the last line of the table is no tuned kernel's\n");
        kept = 0;
    }
    blas.Destroy(handle);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) || !kept;
}
