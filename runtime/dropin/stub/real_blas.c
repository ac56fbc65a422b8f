#include "real_blas.h"

#include "dlsym.h"
#include "loading.h"
#include "stub.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Atomic(const struct real_blas *) real_blas_found[BLAS_MAJORS];
_Atomic(const struct real_lt *) real_lt_found[BLAS_MAJORS];

struct symbol {
    const char *name;
    size_t place; /* offset in the struct */
};

/* The first one is in every version. */
static const struct symbol blas_symbols[] = {
    {"cublasSgemm_v2", offsetof(struct real_blas, Sgemm)},
    {"cublasSgemm_v2_64", offsetof(struct real_blas, Sgemm64)},
    {"cublasSgemmStridedBatched", offsetof(struct real_blas, SgemmStrided)},
    {"cublasSgemmStridedBatched_64", offsetof(struct real_blas, SgemmStrided64)},
    {"cublasSgemmBatched", offsetof(struct real_blas, SgemmBatched)},
    {"cublasSgemmBatched_64", offsetof(struct real_blas, SgemmBatched64)},
    {"cublasSgemmEx", offsetof(struct real_blas, SgemmEx)},
    {"cublasSgemmEx_64", offsetof(struct real_blas, SgemmEx64)},
    {"cublasGemmEx", offsetof(struct real_blas, GemmEx)},
    {"cublasGemmEx_64", offsetof(struct real_blas, GemmEx64)},
    {"cublasGemmStridedBatchedEx", offsetof(struct real_blas, GemmStridedEx)},
    {"cublasGemmStridedBatchedEx_64", offsetof(struct real_blas, GemmStridedEx64)},
    {"cublasGemmBatchedEx", offsetof(struct real_blas, GemmBatchedEx)},
    {"cublasGemmBatchedEx_64", offsetof(struct real_blas, GemmBatchedEx64)},
    {"cublasSetStream_v2", offsetof(struct real_blas, SetStream)},
    {"cublasSetWorkspace_v2", offsetof(struct real_blas, SetWorkspace)},
    {"cublasDestroy_v2", offsetof(struct real_blas, Destroy)},
    {"cublasGetStream_v2", offsetof(struct real_blas, GetStream)},
    {"cublasGetPointerMode_v2", offsetof(struct real_blas, GetPointerMode)},
    {"cublasGetMathMode", offsetof(struct real_blas, GetMathMode)},
    {"cublasGetSmCountTarget", offsetof(struct real_blas, GetSmCountTarget)},
};

static const struct symbol lt_symbols[] = {
    {"cublasLtMatmul", offsetof(struct real_lt, Matmul)},
    {"cublasLtMatmulDescInit_internal", offsetof(struct real_lt, DescInit)},
    {"cublasLtMatmulDescSetAttribute", offsetof(struct real_lt, DescSet)},
    {"cublasLtMatmulDescGetAttribute", offsetof(struct real_lt, DescGet)},
    {"cublasLtMatrixLayoutInit_internal", offsetof(struct real_lt, LayoutInit)},
    {"cublasLtMatrixLayoutGetAttribute", offsetof(struct real_lt, LayoutGet)},
    {"cublasLtMatmulAlgoGetIds", offsetof(struct real_lt, AlgoGetIds)},
    {"cublasLtMatmulAlgoCheck", offsetof(struct real_lt, AlgoCheck)},
};

struct library {
    const char *name; /* "libcublas" */
    const struct symbol *symbols;
    size_t count;
};

static const struct library blas_library = {"libcublas", blas_symbols,
                                            sizeof blas_symbols / sizeof *blas_symbols};
static const struct library lt_library = {"libcublasLt", lt_symbols, sizeof lt_symbols / sizeof *lt_symbols};

static const struct library *library_of(const char *name)
{
    return strncmp(name, "cublasLt", strlen("cublasLt")) == 0 ? &lt_library : &blas_library;
}

/* The file's name, which is also the version of its symbols. */
static void name_of(const struct library *library, enum blas_major major, char name[BLAS_VERSION_MAX])
{
    snprintf(name, BLAS_VERSION_MAX, "%s.so.%d", library->name, major - BLAS_11 + 11);
}

/* version NULL: any. */
static void *symbol(void *from, const char *name, const char *version)
{
    if (version) return dlvsym(from, name, version);
    return from == RTLD_NEXT ? dlsym_behind(name) : gemmtune_real_dlsym(from, name);
}

/* A library that is already loaded. If the program loaded it with local scope, RTLD_NEXT does not find it. */
static void *loaded(const char *name)
{
    return dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

static bool is_ours(void *address)
{
    Dl_info own, other;
    return dladdr(&real_blas_found, &own) && dladdr(address, &other) && own.dli_fbase == other.dli_fbase;
}

struct visit {
    int left; /* number of libraries still to skip */
    char file[PATH_MAX];
};

static int visit_one(struct dl_phdr_info *info, size_t size, void *of)
{
    struct visit *visit = of;
    (void)size;
    if (visit->left-- > 0) return 0;
    snprintf(visit->file, sizeof visit->file, "%s", info->dlpi_name);
    return 1;
}

/* The n-th file that the program has loaded; NULL: there are fewer. Files are not opened during the visit,
 * because it holds the loader's locks. */
static const char *file_at(int n, struct visit *visit)
{
    visit->left = n;
    return dl_iterate_phdr(visit_one, visit) ? visit->file : NULL;
}

/* For packages that contain cuBLAS under another name: a library that has the symbol, or needs one that has
 * it. */
static void *loaded_with(const char *name, const char *version)
{
    struct visit visit;
    for (int n = 0; file_at(n, &visit); n++) {
        void *library = visit.file[0] ? loaded(visit.file) : NULL;
        void *address = library ? dlvsym(library, name, version) : NULL;
        if (address && !is_ours(address)) return library;
        if (library) dlclose(library);
    }
    return NULL;
}

static void *loaded_major(const struct library *library, enum blas_major major,
                          char version[BLAS_VERSION_MAX])
{
    name_of(library, major, version);
    void *found = loaded(version);
    return found ? found : loaded_with(library->symbols[0].name, version);
}

/* The library in which symbols are searched, and their version; NULL: there is none. It stays loaded. */
static void *locate(const struct library *library, enum blas_major major, char version[BLAS_VERSION_MAX])
{
    const bool any = major == BLAS_ANY;
    void *address, *found = NULL;
    Dl_info info;
    if (!any) name_of(library, major, version);
    address = symbol(RTLD_NEXT, library->symbols[0].name, any ? NULL : version);
    if (address) {
        if (dladdr(address, &info) && info.dli_fname) loaded(info.dli_fname); /* keeps it loaded */
        return RTLD_NEXT;
    }
    if (!any) return loaded_major(library, major, version);
    for (int newest = BLAS_13; newest >= BLAS_11 && !found; newest--)
        found = loaded_major(library, (enum blas_major)newest, version);
    return found;
}

/* The functions, in allocated memory of `bytes` bytes; NULL: there is no such library, or no memory. */
static void *search(const struct library *library, enum blas_major major, size_t bytes)
{
    char version[BLAS_VERSION_MAX];
    void *from = locate(library, major, version);
    char *functions = from ? calloc(1, bytes) : NULL;
    for (size_t i = 0; functions && i < library->count; i++) {
        void *address = symbol(from, library->symbols[i].name, major == BLAS_ANY ? NULL : version);
        memcpy(functions + library->symbols[i].place, &address, sizeof address);
    }
    return functions;
}

struct search {
    const struct library *library;
    enum blas_major major;
    size_t bytes;
    void *functions;
};

static void find_by(void *self)
{
    struct search *s = self;
    if (!loading_begin()) return;
    s->functions = search(s->library, s->major, s->bytes);
    dlerror(); /* the program is to find its own errors only */
    loading_end();
}

static void *find(const struct library *library, enum blas_major major, size_t bytes)
{
    struct search wanted = {library, major, bytes, NULL};
    stack_room_run(&stub_room, find_by, &wanted);
    return wanted.functions;
}

/* No thread waits for another one: a constructor that calls cuBLAS holds the loader's lock, which the search
 * needs, too. Of several threads the first one's result is kept. */
const struct real_blas *real_blas_find(enum blas_major major)
{
    struct real_blas *functions = find(&blas_library, major, sizeof *functions);
    const struct real_blas *known = NULL;
    if (!functions || !atomic_compare_exchange_strong(&real_blas_found[major], &known, functions))
        free(functions);
    return atomic_load(&real_blas_found[major]);
}

const struct real_lt *real_lt_find(enum blas_major major)
{
    struct real_lt *functions = find(&lt_library, major, sizeof *functions);
    const struct real_lt *known = NULL;
    if (!functions || !atomic_compare_exchange_strong(&real_lt_found[major], &known, functions))
        free(functions);
    return atomic_load(&real_lt_found[major]);
}

enum blas_major real_blas_major(void *library, const char *name, const void *address,
                                char version[BLAS_VERSION_MAX])
{
    for (int major = BLAS_13; major >= BLAS_11; major--) {
        name_of(library_of(name), (enum blas_major)major, version);
        if (dlvsym(library, name, version) == address) return (enum blas_major)major;
    }
    snprintf(version, BLAS_VERSION_MAX, "gemmtune_cublas"); /* dropin.map */
    return BLAS_ANY;
}

void *real_blas_address(enum blas_major major, const char *name)
{
    const struct library *library = library_of(name);
    const void *functions = library == &lt_library ? (const void *)real_lt(major) : real_blas(major);
    void *address = NULL;
    for (size_t i = 0; functions && i < library->count; i++)
        if (strcmp(library->symbols[i].name, name) == 0)
            memcpy(&address, (const char *)functions + library->symbols[i].place, sizeof address);
    return address;
}
