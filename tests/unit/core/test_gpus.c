/* test_gpus.c — the descriptors that ship in configs/gpus. */
#include "gpu.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER GT_SOURCE_DIR "/configs/gpus"

static void for_each(void (*claim)(const struct gpu *gpu))
{
    struct gpu *gpus;
    size_t count;
    assert_ok(gpu_list(FOLDER, &gpus, &count));
    for (size_t i = 0; i < count; i++) claim(&gpus[i]);
    free(gpus);
}

TEST(the_eight_gpus_of_the_manual_are_there)
{
    const char *const ids[] = {"h200", "h100_sxm", "a100", "l40s", "rtx4090", "rtx3090", "b200", "t4"};
    const int archs[] = {90, 90, 80, 89, 89, 86, 100, 75};
    for (size_t i = 0; i < 8; i++) {
        struct gpu gpu;
        assert_ok(gpu_find(FOLDER, ids[i], &gpu));
        assert_string_equal(gpu.id, ids[i]);
        assert_int_equal(gpu.arch, archs[i]);
    }
}

TEST(a_gpu_is_found_by_the_name_of_its_driver)
{
    struct gpu gpu;
    assert_ok(gpu_find(FOLDER, "NVIDIA H200", &gpu));
    assert_string_equal(gpu.id, "h200");
    assert_ok(gpu_find(FOLDER, "GeForce rtx 4090", &gpu));
    assert_string_equal(gpu.id, "rtx4090");
    assert_fails(gpu_find(FOLDER, "voodoo2", &gpu), E_ABSENT, "rtx3090");
}

static void named_as_its_file(const struct gpu *gpu)
{
    char path[4096];
    struct gpu again;
    snprintf(path, sizeof path, "%s/%s.conf", FOLDER, gpu->id);
    assert_ok(gpu_read(path, &again));
    assert_string_equal(again.name, gpu->name);
}

TEST(each_descriptor_is_the_file_of_its_id)
{
    for_each(named_as_its_file);
}

static void peak_follows_from_lanes(const struct gpu *gpu)
{
    int lanes = gpu->arch == 75 || gpu->arch == 80 ? 64 : 128; /* FP32 lanes an SM */
    double peak = 2e-6 * gpu->sm_count * lanes * gpu->clock_mhz;
    assert_true(fabs(gpu->fp32_tflops / peak - 1) < 0.01);
}

TEST(the_published_peak_is_that_of_lanes_and_clock)
{
    for_each(peak_follows_from_lanes);
}

static void limits_fit_the_compute_capability(const struct gpu *gpu)
{
    /* CUDA C++ Programming Guide, technical specifications per compute capability. */
    static const struct {
        int arch, threads, blocks, smem_per_sm_kib, smem_per_block_kib;
    } table[] = {{75, 1024, 16, 64, 64},  {80, 2048, 32, 164, 163}, {86, 1536, 16, 100, 99},
                 {89, 1536, 24, 100, 99}, {90, 2048, 32, 228, 227}, {100, 2048, 32, 228, 227}};
    size_t i = 0;
    while (i < sizeof table / sizeof *table && table[i].arch != gpu->arch) i++;
    assert_true(i < sizeof table / sizeof *table);
    assert_int_equal(gpu->threads_per_sm, table[i].threads);
    assert_int_equal(gpu->blocks_per_sm, table[i].blocks);
    assert_int_equal(gpu->registers_per_sm, 65536);
    assert_int_equal(gpu->smem_per_sm_bytes, 1024 * table[i].smem_per_sm_kib);
    assert_int_equal(gpu->smem_per_block_bytes, 1024 * table[i].smem_per_block_kib);
    assert_int_equal(gpu->smem_reserved_bytes, gpu->arch < 80 ? 0 : 1024);
}

TEST(limits_are_those_of_the_compute_capability)
{
    for_each(limits_fit_the_compute_capability);
}

static void source_is_named(const struct gpu *gpu)
{
    assert_non_null(strstr(gpu->source, "CUDA guide"));
    assert_true(strstr(gpu->source, "datasheet") || strstr(gpu->source, "whitepaper"));
}

TEST(each_names_where_its_figures_come_from)
{
    for_each(source_is_named);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_eight_gpus_of_the_manual_are_there),
        cmocka_unit_test(a_gpu_is_found_by_the_name_of_its_driver),
        cmocka_unit_test(each_descriptor_is_the_file_of_its_id),
        cmocka_unit_test(the_published_peak_is_that_of_lanes_and_clock),
        cmocka_unit_test(limits_are_those_of_the_compute_capability),
        cmocka_unit_test(each_names_where_its_figures_come_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
