#include "dlsym.h"

#include "env.h"
#include "graph_calls.h"
#include "loading.h"
#include "print.h"
#include "real_blas.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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

/* The C library's, and the next one behind ours: the same, or that of another library that answers dlsym,
 * such as one that limits what a program takes of its GPU. */
static _Atomic(dlsym_function *) c_found, next_found;
static _Atomic uintptr_t other_begin, other_end; /* where that library lies */

/* This thread asks for the real functions. Volatile, since <dlfcn.h> promises that dlsym calls nothing here.
 */
static __thread volatile bool asks_for_real;

/* Libraries of the sanitizers ask before they are set up, so what every dlsym runs is not instrumented and
 * calls no function that they replace. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static dlsym_function *as_function(void *address)
{
    dlsym_function *function;
    __builtin_memcpy(&function, &address, sizeof function);
    return function;
}

EARLY static void find_extent(void *address)
{
    Dl_info info;
    if (!dladdr(address, &info)) return;
    const char *base = info.dli_fbase;
    const ElfW(Ehdr) *head = (const void *)base;
    const ElfW(Phdr) *segments = (const void *)(base + head->e_phoff);
    uintptr_t end = 0;
    for (int i = 0; i < head->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD) end = segments[i].p_vaddr + segments[i].p_memsz;
    atomic_store_explicit(&other_begin, (uintptr_t)base, memory_order_relaxed);
    atomic_store_explicit(&other_end, (uintptr_t)base + end, memory_order_relaxed);
}

/* By dlvsym the C library's is found, since no other has its version; by its dlsym the next one, whatever its
 * version. */
EARLY static dlsym_function *find_next(void)
{
    void *address = dlvsym(RTLD_NEXT, "dlsym", LATER_VERSION);
    if (!address) address = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
    atomic_store_explicit(&c_found, as_function(address), memory_order_relaxed);
    void *next = as_function(address)(RTLD_NEXT, "dlsym");
    if (next && next != address) find_extent(next);
    dlsym_function *found = as_function(next ? next : address);
    atomic_store_explicit(&next_found, found, memory_order_release);
    return found;
}

/* Who answers what we do not. The other library's own questions, which arrive here, too, go past it. */
EARLY static inline dlsym_function *next_for(const void *caller)
{
    dlsym_function *next = atomic_load_explicit(&next_found, memory_order_acquire);
    if (!next) next = find_next();
    const uintptr_t begin = atomic_load_explicit(&other_begin, memory_order_relaxed);
    const bool is_others =
        (uintptr_t)caller - begin < atomic_load_explicit(&other_end, memory_order_relaxed) - begin;
    return is_others ? atomic_load_explicit(&c_found, memory_order_relaxed) : next;
}

/* Whoever is the first to answer dlsym may have functions of its own for the driver's: we are asked, too, and
 * pass everything on. */
void *gemmtune_real_dlsym(void *handle, const char *name)
{
    const bool before = asks_for_real;
    asks_for_real = true;
    void *address = dlsym(handle, name);
    asks_for_real = before;
    return address;
}

void *dlsym_behind(const char *name)
{
    next_for(NULL);
    void *volatile found = atomic_load(&c_found)(RTLD_NEXT, name); /* not as a jump: it sees who asks */
    return found;
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
    if (!dladdr((void *)&next_found, &own)) return NULL;
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

static void *answer(void *handle, const char *name, const void *caller)
{
    void *address = next_for(caller)(handle, name), *entry = NULL;
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
    const void *caller = __builtin_return_address(0);
    if (handle != RTLD_DEFAULT && handle != RTLD_NEXT &&
        (begins(name, OF_CUBLAS) || begins(name, OF_DRIVER)) && !asks_for_real)
        return answer(handle, name, caller);
    PASS_ON next_for(caller)(handle, name);
}
__asm__(".symver dlsym_entry, dlsym@@" LATER_VERSION);
__asm__(".globl dlsym_entry_first\n.set dlsym_entry_first, dlsym_entry\n"
        ".symver dlsym_entry_first, dlsym@" FIRST_VERSION);
