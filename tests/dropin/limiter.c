/* limiter.c — what libraries that limit a program's GPU do (HAMi, vgpu-manager): preloaded, it answers dlsym
 * itself, to give its own functions for the driver's. This one gives the driver's and counts who was asked
 * for; its last word is a line.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#ifdef __aarch64__
#define VERSION "GLIBC_2.17"
#else
#define VERSION "GLIBC_2.2.5"
#endif

static int launches, allocations, streams;

/* strcmp may be a sanitizer's, which asks before it is set up. */
static bool is(const char *name, const char *other)
{
    while (*name && *name == *other) name++, other++;
    return *name == *other;
}

void *dlsym(void *handle, const char *name)
{
    static __typeof__(dlsym) *real;
    if (!real) {
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", VERSION);
        void *volatile own = dlsym(RTLD_DEFAULT, "dlsym"); /* it asks others, too, and not itself for ever */
        (void)own;
    }
    launches += is(name, "cuLaunchKernel");
    allocations += is(name, "cuMemAlloc_v2");
    streams += is(name, "cuStreamCreate"); /* by the program, too */
    return real(handle, name);
}

__attribute__((destructor)) static void say(void)
{
    fprintf(stderr, "limiter: asked for launches %d, allocations %d, streams %d\n", launches, allocations,
            streams);
}
