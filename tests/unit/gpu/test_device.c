/* The driver layer without a GPU: a fake driver and a fake cuBLAS (fake_gpu.c) stand in. */
#include "fake_device.h"
#include "nvml.h"

#include <math.h>
#include <stdio.h>

TEST(without_a_driver_one_sentence_says_what_to_do)
{
    setenv("GEMMTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    assert_fails(device_load(), E_GPU, "no NVIDIA driver");
    assert_non_null(strstr(status_text(), "/nowhere/libcuda.so.1"));
    assert_non_null(strstr(status_text(), "install it"));
    int count;
    assert_int_equal(device_count(&count), E_GPU);
    struct device none;
    assert_int_equal(device_open(0, &none), E_GPU);
    device_close(&none);
}

TEST(a_driver_older_than_the_toolkit_is_refused_with_both_versions)
{
    char both[2][16];
    setenv("FAKE_GPU_VERSION", "11040", 1);
    snprintf(both[0], sizeof both[0], "CUDA %d.%d", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    assert_fails(device_load(), E_GPU, "CUDA 11.4");
    assert_non_null(strstr(status_text(), both[0]));
}

TEST(a_driver_that_does_not_start_says_why)
{
    setenv("FAKE_GPU_FAIL", "cuInit=100", 1);
    assert_fails(device_load(), E_GPU, "finds no GPU (CUDA_ERROR_NO_DEVICE)");
    setenv("FAKE_GPU_FAIL", "cuInit=34", 1);
    assert_fails(device_load(), E_GPU, "stub");
    setenv("FAKE_GPU_FAIL", "cuInit=803", 1);
    assert_fails(device_load(), E_GPU, "restart the machine");
    setenv("FAKE_GPU_FAIL", "cuInit=999", 1);
    assert_fails(device_load(), E_GPU, "CUDA error 999");
    assert_false(device_lost());
}

TEST(a_library_that_is_no_driver_is_refused)
{
    setenv("GEMMTUNE_LIBCUDA", "libm.so.6", 1);
    assert_fails(device_load(), E_GPU, "lacks cuInit");
}

TEST(attributes_become_the_gpu)
{
    const struct gpu *gpu = &device.gpu;
    assert_string_equal(gpu->name, "NVIDIA H200");
    assert_string_equal(gpu->id, "h200");
    assert_int_equal(gpu->arch, 90);
    assert_int_equal(gpu->sm_count, 132);
    assert_int_equal(gpu->threads_per_sm, 2048);
    assert_int_equal(gpu->blocks_per_sm, 32);
    assert_int_equal(gpu->registers_per_sm, 65536);
    assert_int_equal(gpu->smem_per_sm_bytes, 233472);
    assert_int_equal(gpu->smem_per_block_bytes, 232448);
    assert_int_equal(gpu->smem_reserved_bytes, 1024);
    assert_int_equal(gpu->l2_bytes, 62914560);
    assert_true(gpu->memory_bytes == (int64_t)140 << 30);
    assert_true(fabs(gpu->clock_mhz - 1980) < 1e-9);
    assert_true(fabs(gpu->memory_gb_per_s - 4916.736) < 1e-6); /* published: 4.8 TB/s */
    assert_true(fabs(gpu_rate(gpu, "fp32") - 66.9) < 0.05);
    assert_string_equal(device.uuid, "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
}

TEST(a_gpu_that_is_not_there_is_named)
{
    struct device none;
    assert_fails(device_open(1, &none), E_GPU, "no GPU 1");
    assert_fails(device_open(-1, &none), E_GPU, "no GPU -1");
}

TEST(ids_are_short)
{
    static const char *const names[][2] = {
        {"NVIDIA H200", "h200"},
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 PCIe", "h100pcie"},
        {"NVIDIA A100-SXM4-80GB", "a100"},
        {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"NVIDIA GeForce RTX 3080 Ti Laptop GPU", "rtx3080tilaptop"},
        {"Tesla T4", "t4"},
        {"NVIDIA L40S", "l40s"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
        {"  ", ""},
    };
    char id[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        device_short_id(names[i][0], id, sizeof id);
        assert_string_equal(id, names[i][1]);
    }
    device_short_id("A Name With So Many Words That No Id Can Hold It", id, sizeof id);
    assert_true(strlen(id) < sizeof id);
}

TEST(out_of_memory_names_the_sizes_and_is_survived)
{
    struct device_buffer buffer;
    assert_fails(device_allocate(&buffer, (size_t)3 << 30), E_GPU, "3073 MiB wanted, 100 of 143360 MiB");
    assert_false(device_lost());
    assert_ok(device_allocate(&buffer, 0));
    assert_true(buffer.address != 0);
    device_free(&buffer);
    assert_ok(device_allocate(&buffer, 1000));
    assert_int_equal(buffer.bytes, 1000);
    device_free(&buffer);
    device_free(&buffer);
}

TEST(without_nvml_the_figures_are_0_and_nothing_fails)
{
    struct nvml nvml = {(void *)1};
    struct gpu_state state = {.sm_clock_mhz = 5};
    char version[32] = "x";
    int sm, memory;
    double power;
    setenv("GEMMTUNE_LIBNVML", "/nowhere/libnvidia-ml.so.1", 1);
    assert_false(nvml_open(&nvml, "GPU-0"));
    assert_null(nvml.handle);
    assert_false(nvml_read(&nvml, &state));
    assert_int_equal(state.sm_clock_mhz, 0);
    assert_false(nvml_limits(&nvml, &sm, &memory, &power));
    assert_false(nvml_driver_version(version, sizeof version));
    assert_string_equal(version, "");
}

TEST(only_results_that_end_the_process_lose_the_device)
{
    assert_ok(device_check(CUDA_SUCCESS, "nothing"));
    assert_fails(device_check(CUDA_ERROR_OUT_OF_MEMORY, "allocate"), E_GPU, "allocate");
    assert_fails(device_check(CUDA_ERROR_INVALID_VALUE, "set"), E_GPU, "set: CUDA_ERROR_INVALID_VALUE");
    assert_fails(device_check(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "launch"), E_GPU, "launch");
    assert_fails(device_check(CUDA_ERROR_INVALID_CONTEXT, "look"), E_GPU, "look");
    assert_fails(device_check(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "launch"), E_GPU, "launch");
    assert_fails(device_check(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "launch"), E_GPU, "launch");
    assert_false(device_lost());
    assert_fails(device_check(CUDA_ERROR_ILLEGAL_ADDRESS, "run"), E_GPU, "run: CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_true(device_lost());
    assert_ok(device_check(CUDA_SUCCESS, "nothing"));
    assert_true(device_lost()); /* for good */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITHOUT_GPU(without_a_driver_one_sentence_says_what_to_do),
        WITHOUT_GPU(a_library_that_is_no_driver_is_refused),
        WITHOUT_GPU(a_driver_older_than_the_toolkit_is_refused_with_both_versions),
        WITHOUT_GPU(a_driver_that_does_not_start_says_why),
        ON_FAKE(attributes_become_the_gpu),
        ON_FAKE(a_gpu_that_is_not_there_is_named),
        cmocka_unit_test(ids_are_short),
        ON_FAKE(out_of_memory_names_the_sizes_and_is_survived),
        cmocka_unit_test(without_nvml_the_figures_are_0_and_nothing_fails),
        ON_FAKE(only_results_that_end_the_process_lose_the_device), /* last: it cannot be undone */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
