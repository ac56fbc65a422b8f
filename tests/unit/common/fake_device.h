/* fake_device.h — a device opened on the fake driver (fake_gpu.c), and what that remembers. */
#ifndef GT_FAKE_DEVICE_H
#define GT_FAKE_DEVICE_H

#include "device.h"
#include "fake_gpu.h"
#include "scratch_folder.h"
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct device device;

/* What the fake remembers, once it is loaded. */
static struct fake_launch *launches;
static int *launch_count, *attributes_set, *open_count, *blas_calls, *blas_wide_calls, *blas_math;

static inline int use_fake(void **state)
{
    (void)state;
    setenv("GEMMTUNE_LIBCUDA", FAKE_GPU, 1);
    setenv("GEMMTUNE_LIBCUBLAS", FAKE_GPU, 1);
    unsetenv("FAKE_GPU_VERSION");
    unsetenv("FAKE_GPU_FAIL");
    unsetenv("FAKE_GPU_THREADS");
    unsetenv("FAKE_GPU_SMEM");
    return 0;
}

static inline int open_fake(void **state)
{
    use_fake(state);
    if (device_open(0, &device)) return -1;
    void *fake = dlopen(FAKE_GPU, RTLD_NOW | RTLD_NOLOAD);
    if (!fake) return -1;
    launches = dlsym(fake, "fake_launches");
    launch_count = dlsym(fake, "fake_launch_count");
    attributes_set = dlsym(fake, "fake_attributes_set");
    open_count = dlsym(fake, "fake_open");
    blas_calls = dlsym(fake, "fake_blas_calls");
    blas_wide_calls = dlsym(fake, "fake_blas_wide_calls");
    blas_math = dlsym(fake, "fake_blas_math");
    *launch_count = 0;
    *open_count = 2; /* context and stream: one test's leak is not the next one's */
    memset(attributes_set, 0, 8 * sizeof *attributes_set);
    return make_folder(state);
}

static inline int close_fake(void **state)
{
    use_fake(state);
    device_close(&device);
    return remove_folder(state) || *open_count != 0; /* nothing may be left open */
}

#define WITHOUT_GPU(test) cmocka_unit_test_setup(test, use_fake)
#define ON_FAKE(test)     cmocka_unit_test_setup_teardown(test, open_fake, close_fake)

#endif
