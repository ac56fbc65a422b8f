/* Several majors of cuBLAS: each caller's calls and handles arrive at its own, and none is loaded that the
 * program did not load. */
#include "dropin_main.h"
#include "library.h"
#include "program_half.h"
#include "runtime_fakes.h"

#include <elf.h>
#include <link.h>

#define PROBLEM "sgemm:nn:16x24x32"

static const float unity = 1, nothing = 0;

static void *half_open(const char *file, int scope)
{
    void *half = dlopen(file, RTLD_NOW | scope);
    if (!half) fail_msg("%s", dlerror());
    return half;
}

static bool is_mapped(const char *name)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) found |= strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

/* A half of the program multiplies right; kernels of ours or calls of its own cuBLAS. */
static void check_half(void *half, bool tuned)
{
    struct half_calls calls;
    struct operand_set o = operands_make(PROBLEM, 0);
    CUstream own;
    __typeof__(half_run) *run;
    cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING);
    *(void **)&run = dlsym(half, "half_run");
    assert_non_null(run);
    *fake.launch_count = 0;
    run(o.a, o.b, o.c, own, &calls);
    assert_int_equal(calls.status, 0);
    assert_int_equal(calls.lt_status, 0);
    assert_int_equal(calls.arrived, !tuned);
    assert_int_equal(calls.lt_arrived, !tuned);
    assert_int_equal(*fake.launch_count, 2 * tuned);
    if (tuned) assert_ptr_equal(fake.launches[0].stream, own); /* its own cuBLAS knows the handle's */
    operands_check(&o, 1, "a half");
    operands_free(&o);
    cuda.StreamDestroy(own);
}

static void both_halves(int scope, bool tuned)
{
    use_primary_context();
    void *half_12 = half_open(HALF_12, scope), *half_13 = half_open(HALF_13, scope);
    for (int i = 0; i < 2; i++) {
        check_half(half_12, tuned);
        check_half(half_13, tuned);
    }
}

TEST(each_caller_reaches_its_own)
{
    both_halves(RTLD_GLOBAL, false);
}

TEST(each_caller_reaches_its_own_that_is_loaded_for_it_alone)
{
    both_halves(RTLD_LOCAL, false);
}

TEST(each_callers_handle_is_asked_at_its_own)
{
    put_winner(PROBLEM, SIMT, 5, false);
    both_halves(RTLD_GLOBAL, true);
}

TEST(only_what_the_program_has_loaded_is_called)
{
    use_primary_context();
    check_half(half_open(HALF_12, RTLD_LOCAL), false);
    assert_true(is_mapped("libcublas.so.12"));
    assert_false(is_mapped("libcublas.so.13"));
}

TEST(a_major_that_is_not_known_is_left_alone)
{
    use_primary_context();
    check_half(half_open(HALF_14, RTLD_LOCAL), false);
    assert_true(is_mapped("libcublas.so.14"));
    assert_false(is_mapped("libcublas.so.13"));
}

TEST(a_cublas_under_another_name_is_found)
{
    use_primary_context();
    check_half(half_open(HALF_RENAMED, RTLD_LOCAL), false);
    assert_false(is_mapped("libcublas.so.1"));
}

static void without_a_cublas_a_call_says_so_until_there_is_one(void **state)
{
    enum { NOT_INITIALIZED = 1 };
    static float memory[16];
    const float one = 1;
    blas_handle handle = (blas_handle)(void *)memory;
    __typeof__(cublasSgemm_v2) *sgemm;
    __typeof__(cublasSetStream_v2) *set_stream;
    __typeof__(cublasDestroy_v2) *destroy;
    __typeof__(cublasLtMatmul) *matmul;
    (void)state;
    use_primary_context();
    *(void **)&sgemm = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
    *(void **)&set_stream = dlsym(RTLD_DEFAULT, "cublasSetStream_v2");
    *(void **)&destroy = dlsym(RTLD_DEFAULT, "cublasDestroy_v2");
    *(void **)&matmul = dlsym(RTLD_DEFAULT, "cublasLtMatmul");
    assert_true(sgemm && set_stream && destroy && matmul);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sgemm(handle, 0, 0, 1, 1, 1, &one, memory, 1, memory, 1, &one, memory, 1),
                         NOT_INITIALIZED);
        assert_int_equal(set_stream(handle, NULL), NOT_INITIALIZED);
        assert_int_equal(destroy(handle), NOT_INITIALIZED);
        assert_int_equal(matmul(NULL, NULL, &one, memory, NULL, memory, NULL, &one, memory, NULL, memory,
                                NULL, NULL, NULL, 0, NULL),
                         NOT_INITIALIZED);
    }
    assert_false(is_mapped("libcublas.so"));
    void *half = half_open(HALF_12, RTLD_LOCAL);
    __typeof__(cublasCreate_v2) *create;
    *(void **)&create = dlsym(half, "cublasCreate_v2");
    assert_int_equal(create(&handle), 0);
    assert_int_equal(set_stream(handle, NULL), 0);
    assert_int_equal(sgemm(handle, 0, 0, 1, 1, 1, &one, memory, 1, memory, 1, &one, memory, 1), 0);
    assert_int_equal(destroy(handle), 0);
    check_half(half, false);
}

/* ---- programs that open cuBLAS themselves ---- */

#define REAL_CUBLAS    "/usr/local/cuda/lib64"
#define FILE_OF(major) MAJORS "/libcublas.so." major

/* What such a program asks for, and whom it got: "ours" or "its own". */
struct opened {
    void *library;
    __typeof__(cublasCreate_v2) *create;
    __typeof__(cublasSetStream_v2) *set_stream;
    __typeof__(cublasSgemm_v2) *sgemm;
    __typeof__(cublasDestroy_v2) *destroy;
    int *arrived;
};

static void *opened_symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    const char *error = dlerror();
    if (!address || error) fail_msg("%s: %s", name, error);
    return address;
}

static struct opened opened_by(const char *file, int flags)
{
    struct opened o = {.library = dlopen(file, flags)};
    if (!o.library) fail_msg("%s", dlerror());
    *(void **)&o.create = opened_symbol(o.library, "cublasCreate_v2");
    *(void **)&o.set_stream = opened_symbol(o.library, "cublasSetStream_v2");
    *(void **)&o.sgemm = opened_symbol(o.library, "cublasSgemm_v2");
    *(void **)&o.destroy = opened_symbol(o.library, "cublasDestroy_v2");
    o.arrived = opened_symbol(o.library, "program_blas_calls");
    return o;
}

/* It multiplies right, by kernels of ours or by its own cuBLAS. */
static void check_opened(const struct opened *of, bool tuned)
{
    struct operand_set o = operands_make(PROBLEM, 0);
    blas_handle handle;
    CUstream own;
    cuda.StreamCreate(&own, CU_STREAM_NON_BLOCKING);
    assert_int_equal(of->create(&handle), 0);
    assert_int_equal(of->set_stream(handle, own), 0);
    *fake.launch_count = *of->arrived = 0;
    assert_int_equal(of->sgemm(handle, 0, 0, 24, 16, 32, &unity, o.b, 24, o.a, 32, &nothing, o.c, 24), 0);
    operands_check(&o, 1, "opened");
    assert_int_equal(*of->arrived, !tuned);
    assert_int_equal(*fake.launch_count, tuned);
    if (tuned) assert_ptr_equal(fake.launches[0].stream, own);
    assert_int_equal(of->destroy(handle), 0);
    operands_free(&o);
    cuda.StreamDestroy(own);
}

static void opened_is_tuned(const char *file, int flags)
{
    put_winner(PROBLEM, SIMT, 5, false);
    use_primary_context();
    const struct opened o = opened_by(file, flags);
    check_opened(&o, true);
    check_opened(&o, true);
}

TEST(a_cublas_opened_by_its_path_is_answered)
{
    opened_is_tuned(FILE_OF("13"), RTLD_NOW | RTLD_LOCAL); /* ctypes */
}

TEST(a_cublas_opened_by_its_name_is_answered)
{
    opened_is_tuned("libcublas.so.13", RTLD_LAZY | RTLD_GLOBAL); /* JAX */
}

TEST(a_cublas_opened_as_julia_does_is_answered)
{
#ifdef GT_SANITIZED
    skip(); /* the sanitizers refuse this flag */
#endif
    opened_is_tuned(FILE_OF("12"), RTLD_LAZY | RTLD_DEEPBIND);
}

TEST(a_cublas_opened_under_another_name_is_answered)
{
    opened_is_tuned(MAJORS "/libcublas-a1b2c3.so.12", RTLD_NOW | RTLD_LOCAL);
}

TEST(without_a_winner_what_is_opened_answers_itself)
{
    use_primary_context();
    const struct opened o = opened_by(FILE_OF("13"), RTLD_NOW | RTLD_LOCAL);
    check_opened(&o, false);
}

TEST(two_majors_that_are_opened_are_both_answered)
{
    put_winner(PROBLEM, SIMT, 5, false);
    use_primary_context();
    const struct opened o12 = opened_by(FILE_OF("12"), RTLD_NOW), o13 = opened_by(FILE_OF("13"), RTLD_NOW);
    check_opened(&o12, true);
    check_opened(&o13, true);
}

TEST(of_two_copies_of_a_major_the_second_answers_itself)
{
    char copy[200], command[800];
    put_winner(PROBLEM, SIMT, 5, false);
    use_primary_context();
    snprintf(copy, sizeof copy, "%s/libcublas.so.13", store_folder);
    snprintf(command, sizeof command, "env -u LD_PRELOAD cp %s %s", FILE_OF("13"), copy);
    assert_int_equal(system(command), 0); /* NOLINT: a test's own words */
    const struct opened first = opened_by(FILE_OF("13"), RTLD_NOW | RTLD_LOCAL),
                        second = opened_by(copy, RTLD_NOW | RTLD_LOCAL);
    assert_ptr_not_equal(first.library, second.library);
    check_opened(&first, true);
    check_opened(&second, false);
}

TEST(a_major_that_is_not_known_and_opened_answers_itself)
{
    put_winner(PROBLEM, SIMT, 5, false);
    use_primary_context();
    const struct opened o = opened_by(FILE_OF("14"), RTLD_NOW);
    check_opened(&o, false);
}

/* The functions that are ours, and no other. */
static bool is_replaced(const char *name)
{
    static const char *const names[] = {"cublasSgemm_v2",
                                        "cublasSgemmStridedBatched",
                                        "cublasSgemmBatched",
                                        "cublasGemmEx",
                                        "cublasSgemmEx",
                                        "cublasGemmBatchedEx",
                                        "cublasGemmStridedBatchedEx",
                                        "cublasSetStream_v2",
                                        "cublasSetWorkspace_v2",
                                        "cublasDestroy_v2",
                                        "cublasLtMatmul"};
    const size_t length = strlen(name), end = length > 3 && strcmp(name + length - 3, "_64") == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length - end && strncmp(names[i], name, length - end) == 0) return true;
    return false;
}

/* Every function of the real library at path is found: it itself, by dlvsym; ours only in place of those that
 * the drop-in replaces. Returns how many it has. */
static int check_every_symbol(const char *path, const char *version)
{
    struct link_map *map;
    const char *names = NULL;
    const ElfW(Sym) *symbols = NULL;
    const uint32_t *hash =
        NULL; /* number of buckets, first symbol, words of a filter; filter, buckets, chains */
    int count = 0;
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_GNU_HASH) hash = (const uint32_t *)d->d_un.d_ptr;
    }
    assert_true(names && symbols && hash);
    const uint32_t *buckets = hash + 4 + (size_t)hash[2] * 2, *chains = buckets + hash[0];
    for (uint32_t bucket = 0; bucket < hash[0]; bucket++)
        for (uint32_t i = buckets[bucket]; i; i = chains[i - hash[1]] & 1 ? 0 : i + 1) {
            const char *name = names + symbols[i].st_name;
            if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC) continue;
            void *real = dlvsym(library, name, version), *found = dlsym(library, name);
            if (!real || !found || (found != real) != is_replaced(name))
                fail_msg("%s: %p, %p", name, real, found);
            count++;
        }
    return count;
}

TEST(every_symbol_of_the_real_libraries_is_found)
{
    static const char real_blas[] = REAL_CUBLAS "/libcublas.so.13",
                      real_lt[] = REAL_CUBLAS "/libcublasLt.so.13";
    if (access(real_blas, R_OK) || access(real_lt, R_OK)) skip();
    const int of_lt = check_every_symbol(real_lt, "libcublasLt.so.13"),
              of_blas = check_every_symbol(real_blas, "libcublas.so.13");
    print_message("%d functions of cuBLAS, %d of cublasLt\n", of_blas, of_lt);
    assert_true(of_blas > 700 && of_lt > 150);
}

/* What is measured as cuBLAS is cuBLAS, though the tuner runs under the drop-in. */
TEST(our_own_look_ups_find_the_real_functions)
{
    const struct opened o = opened_by(FILE_OF("13"), RTLD_NOW);
    void *real = NULL;
    const struct library_symbol symbol = {"cublasSgemm_v2", &real};
    assert_null(library_bind(o.library, &symbol, 1));
    assert_ptr_equal(real, dlvsym(o.library, "cublasSgemm_v2", "libcublas.so.13"));
    assert_ptr_not_equal(real, dlsym(o.library, "cublasSgemm_v2"));
}

/* Who asks decides: a part of the program finds itself, though it is loaded for it alone. */
TEST(who_asks_for_the_default_is_not_changed)
{
    void *(*itself)(void);
    *(void **)&itself = opened_symbol(half_open(HALF_13, RTLD_LOCAL), "half_itself");
    assert_non_null(itself());
    assert_null(dlsym(RTLD_DEFAULT, "half_itself"));
}

#define SWITCHED_OFF(function)                                                                               \
    {                                                                                                        \
#function "_switched_off", function, "GEMMTUNE_DROPIN", "off"                                        \
    }

static const struct scenario scenarios[] = {
    SCENARIO(each_caller_reaches_its_own),
    SWITCHED_OFF(each_caller_reaches_its_own),
    SCENARIO(each_caller_reaches_its_own_that_is_loaded_for_it_alone),
    SWITCHED_OFF(each_caller_reaches_its_own_that_is_loaded_for_it_alone),
    SCENARIO(each_callers_handle_is_asked_at_its_own),
    SCENARIO(only_what_the_program_has_loaded_is_called),
    SWITCHED_OFF(only_what_the_program_has_loaded_is_called),
    SCENARIO(a_major_that_is_not_known_is_left_alone),
    SWITCHED_OFF(a_major_that_is_not_known_is_left_alone),
    SCENARIO(a_cublas_under_another_name_is_found),
    SCENARIO(without_a_cublas_a_call_says_so_until_there_is_one),
    SWITCHED_OFF(without_a_cublas_a_call_says_so_until_there_is_one),
    SCENARIO(a_cublas_opened_by_its_path_is_answered),
    SCENARIO(a_cublas_opened_by_its_name_is_answered),
    SCENARIO(a_cublas_opened_as_julia_does_is_answered),
    SCENARIO(a_cublas_opened_under_another_name_is_answered),
    SCENARIO(without_a_winner_what_is_opened_answers_itself),
    SWITCHED_OFF(without_a_winner_what_is_opened_answers_itself),
    SCENARIO(two_majors_that_are_opened_are_both_answered),
    SCENARIO(of_two_copies_of_a_major_the_second_answers_itself),
    SCENARIO(a_major_that_is_not_known_and_opened_answers_itself),
    SCENARIO(every_symbol_of_the_real_libraries_is_found),
    SCENARIO(our_own_look_ups_find_the_real_functions),
    SCENARIO(who_asks_for_the_default_is_not_changed),
};

int main(int argc, char **argv)
{
    setenv("LD_LIBRARY_PATH", MAJORS, 1); /* all of them lie there to be found */
    return dropin_main(argc, argv, "test_dropin_majors", scenarios, sizeof scenarios / sizeof *scenarios,
                       NULL, 0);
}
