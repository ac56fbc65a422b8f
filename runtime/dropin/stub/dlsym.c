#include "dlsym.h"

#include "env.h"
#include "graph_calls.h"
#include "loading.h"
#include "print.h"
#include "real_blas.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* The versions of dlsym in the C library: that of its first release for this processor, and the one of 2.34,
 * which took in libdl. */
#ifdef __aarch64__
#define FIRST_VERSION "GLIBC_2.17"
#else
#define FIRST_VERSION "GLIBC_2.2.5"
#endif
#define LATER_VERSION "GLIBC_2.34"

typedef void *dlsym_function(void *handle, const char *name);

static _Atomic(dlsym_function *) real_found;

/* Libraries of the sanitizers ask before they are set up, so what every dlsym runs is not instrumented and
 * calls no function that they replace. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static dlsym_function *find_real(void)
{
    dlsym_function *real;
    void *address = dlvsym(RTLD_NEXT, "dlsym", LATER_VERSION);
    if (!address) address = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
    __builtin_memcpy(&real, &address, sizeof real);
    atomic_store_explicit(&real_found, real, memory_order_relaxed);
    return real;
}

EARLY static inline dlsym_function *real_dlsym(void)
{
    dlsym_function *real = atomic_load_explicit(&real_found, memory_order_relaxed);
    return real ? real : find_real();
}

void *gemmtune_real_dlsym(void *handle, const char *name)
{
    return real_dlsym()(handle, name);
}

EARLY static inline bool begins(const char *name, const char *with)
{
    for (int i = 0; with[i]; i++)
        if (name[i] != with[i]) return false;
    return true;
}

#define OF_CUBLAS "cublas"
#define OF_DRIVER "cuG" /* graphs, and the address of any function */

static void say_second_copy(void *address, const char *name)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    Dl_info info;
    if (env_is_on("GEMMTUNE_QUIET") || atomic_flag_test_and_set(&said)) return;
    print_line(
        stderr,
        "gemmtune: calls of %s go to cuBLAS: the program has loaded another copy of that version before",
        dladdr(address, &info) && info.dli_fname ? info.dli_fname : name);
}

/* Our entry for a function that the program has found at `address`. NULL: it has none, or the address is in
 * another copy than the one to which the entry passes calls on. */
static void *entry_for(void *handle, const char *name, void *address)
{
    char version[BLAS_VERSION_MAX];
    void *entry = NULL;
    Dl_info own;
    if (!dladdr((void *)&real_found, &own)) return NULL;
    void *stub = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!stub) return NULL;
    const enum blas_major major = real_blas_major(handle, name, address, version);
    void *found = dlvsym(stub, name, version);
    if (found && found != address) {
        if (real_blas_address(major, name) == address) entry = found;
        else if (major != BLAS_ANY) say_second_copy(address, name);
    }
    dlclose(stub);
    return entry;
}

static void *answer(void *handle, const char *name)
{
    void *address = gemmtune_real_dlsym(handle, name), *entry = NULL;
    if (address && begins(name, OF_DRIVER)) entry = graph_calls_replace(name, address);
    else if (address && loading_begin()) {
        entry = entry_for(handle, name, address);
        loading_end();
        dlerror(); /* of our own questions; the program's has an answer */
    }
    return entry ? entry : address;
}

/* RTLD_DEFAULT and RTLD_NEXT depend on who asks, which the C library sees by the return address: so the call
 * is passed on as a jump. */
#ifdef __clang__
#define AS_A_JUMP
#define PASS_ON __attribute__((musttail)) return
#else
#define AS_A_JUMP __attribute__((optimize("O2")))
#define PASS_ON   return
#endif

void *dlsym_entry(void *handle, const char *name);
EARLY AS_A_JUMP void *dlsym_entry(void *handle, const char *name)
{
    if (handle != RTLD_DEFAULT && handle != RTLD_NEXT && (begins(name, OF_CUBLAS) || begins(name, OF_DRIVER)))
        return answer(handle, name);
    PASS_ON real_dlsym()(handle, name);
}
__asm__(".symver dlsym_entry, dlsym@@" LATER_VERSION);
__asm__(".globl dlsym_entry_first\n.set dlsym_entry_first, dlsym_entry\n"
        ".symver dlsym_entry_first, dlsym@" FIRST_VERSION);
