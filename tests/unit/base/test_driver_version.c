/* What the driver is called, and which of its names are of different drivers. */
#include "driver_version.h"
#include "files.h"
#include "scratch_folder.h"
#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>

/* A /proc whose driver says this; NULL: none does, as in a container that hides it. */
static void fake_proc(const char *says)
{
    mkdir(in_folder("driver"), 0700);
    mkdir(in_folder("driver/nvidia"), 0700);
    remove(in_folder("driver/nvidia/version"));
    if (says) file_write(in_folder("driver/nvidia/version"), says);
    setenv("GEMMTUNE_PROC", folder, 1);
}

static const char *release_by(const char *says)
{
    static char version[DRIVER_VERSION_MAX];
    fake_proc(says);
    driver_release(version);
    return version;
}

TEST(the_kernel_s_driver_says_its_release)
{
    assert_string_equal(release_by("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 "
                                   "10:11:16 UTC 2025\nGCC version:  gcc version 13.3.0\n"),
                        "580.95.05");
    assert_string_equal(
        release_by("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  590.10  Release "
                   "Build\n"),
        "590.10");
    assert_string_equal(release_by(NULL), "");
    assert_string_equal(release_by(""), "");
    assert_string_equal(release_by("NVRM version: none\n580.95.05\n"), "");
    /* A line of which a part would be another release. */
    char line[700];
    snprintf(line, sizeof line, "NVRM version:%*s580.95.05\n", 490, "");
    assert_string_equal(release_by(line), "580.95.05");
}

TEST(without_nvml_the_kernel_is_asked_and_then_the_version_of_cuda_stands_for_the_release)
{
    char version[DRIVER_VERSION_MAX];
    fake_proc("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue\n");
    driver_version("", 13000, version);
    assert_string_equal(version, "580.95.05");
    driver_version("590.10", 13010, version);
    assert_string_equal(version, "590.10");
    fake_proc(NULL);
    driver_version("", 13010, version);
    assert_string_equal(version, "CUDA 13.1");
}

TEST(a_release_and_a_version_of_cuda_are_not_known_to_be_different)
{
    static const struct {
        const char *x, *y;
        bool differ;
    } pairs[] = {{"580.95.05", "580.95.05", false}, {"580.95.05", "580.159.04", true},
                 {"580.95.05", "CUDA 13.0", false}, {"580.95.05", "CUDA 12.4", false},
                 {"CUDA 13.0", "CUDA 13.0", false}, {"CUDA 13.0", "CUDA 13.1", true},
                 {"", "580.95.05", false},          {"", "CUDA 13.0", false}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (driver_differs(pairs[i].x, pairs[i].y) != pairs[i].differ ||
            driver_differs(pairs[i].y, pairs[i].x) != pairs[i].differ)
            fail_msg("'%s' and '%s'", pairs[i].x, pairs[i].y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(the_kernel_s_driver_says_its_release),
        FOLDER_TEST(without_nvml_the_kernel_is_asked_and_then_the_version_of_cuda_stands_for_the_release),
        cmocka_unit_test(a_release_and_a_version_of_cuda_are_not_known_to_be_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
