/* test_gpus.c — the descriptors that ship in configs/gpus. */
#include "gpu.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

TEST(a_gpu_is_meant_by_its_first_words_or_its_architecture)
{
    struct gpu gpu;
    static const char *const h100[] = {
        "h100", "H100", "h100_sxm", "NVIDIA H100", "NVIDIA H100 80GB HBM3", "h100 80gb", "h100-sxm"};
    for (size_t i = 0; i < sizeof h100 / sizeof *h100; i++) {
        assert_ok(gpu_choose(FOLDER, h100[i], &gpu));
        assert_string_equal(gpu.id, "h100_sxm");
    }
    static const char *const t4[] = {"t4", "sm_75", "SM_75", "compute_75", "7.5", "Tesla T4"};
    for (size_t i = 0; i < sizeof t4 / sizeof *t4; i++) {
        assert_ok(gpu_choose(FOLDER, t4[i], &gpu));
        assert_string_equal(gpu.id, "t4");
    }
    assert_ok(gpu_choose(FOLDER, "sm_100a", &gpu));
    assert_string_equal(gpu.id, "b200");
    assert_fails(gpu_choose(FOLDER, "sm_90", &gpu), E_ABSENT, "'sm_90' fits 2 GPUs: h100_sxm h200; name one");
    assert_fails(gpu_choose(FOLDER, "rtx", &gpu), E_ABSENT, "'rtx' fits 2 GPUs");
    static const char *const none[] = {"", "h", "h10", "100", "90", "sm_9", "sm_900", "sm_90b"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_fails(gpu_choose(FOLDER, none[i], &gpu), E_ABSENT, "known:");
    assert_fails(gpu_choose(FOLDER, "h20", &gpu), E_ABSENT, "did you mean 'h200'?");
    /* What a person means is not what a driver says. */
    assert_fails(gpu_find(FOLDER, "NVIDIA H100", &gpu), E_ABSENT, "known:");
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
    assert_true(fabs(gpu_rate(gpu, "fp32") / peak - 1) < 0.01);
}

TEST(the_published_peak_is_that_of_lanes_and_clock)
{
    for_each(peak_follows_from_lanes);
}

/* Tensor cores compute at least what the lanes do, and have come with sm_80. */
static void tf32_is_published_where_it_exists(const struct gpu *gpu)
{
    assert_int_equal(gpu_rate(gpu, "tf32") > 0, gpu->arch >= 80);
    assert_true(gpu_peak_tflops(gpu, GEMM_TF32) >= gpu_rate(gpu, "fp32"));
    assert_true(gpu_peak_tflops(gpu, GEMM_SGEMM) == gpu_rate(gpu, "fp32"));
    assert_true(gpu_peak_tflops(gpu, GEMM_SGEMM_ACCURATE) >= gpu_rate(gpu, "fp32"));
    if (gpu->arch == 90) assert_true(gpu_peak_tflops(gpu, GEMM_SGEMM_ACCURATE) > 2 * gpu_rate(gpu, "fp32"));
    if (gpu->arch == 90) assert_true(gpu_peak_tflops(gpu, GEMM_SGEMM_NORMWISE) > 4 * gpu_rate(gpu, "fp32"));
    if (gpu->arch < 80) return;
    /* Without the figure it is estimated: within a factor of two, and never better than it is by much. */
    struct gpu unknown = *gpu;
    memset(unknown.rate, 0, sizeof unknown.rate);
    assert_true(gpu_set_rate(&unknown, "fp32", gpu_rate(gpu, "fp32")));
    const double estimate = gpu_peak_tflops(&unknown, GEMM_TF32) / gpu_rate(gpu, "tf32");
    assert_true(estimate > 0.49 && estimate < 1.1);
}

TEST(the_rate_of_a_type_is_published_or_estimated)
{
    for_each(tf32_is_published_where_it_exists);
}

TEST(rates_have_names_and_there_is_room_for_some)
{
    struct gpu gpu = {.arch = 90};
    char name[] = "r0";
    assert_true(gpu_rate(&gpu, "fp32") == 0);
    for (int i = 0; i < GPU_RATES_MAX; i++, name[1]++) assert_true(gpu_set_rate(&gpu, name, i));
    assert_false(gpu_set_rate(&gpu, name, 1));
    assert_true(gpu_set_rate(&gpu, "r1", 42));
    assert_true(gpu_rate(&gpu, "r1") == 42);
    assert_true(gpu_rate(&gpu, "r7") == 7);
    assert_false(gpu_set_rate(&gpu, "", 1));
    assert_false(gpu_set_rate(&gpu, "a_name_that_is_too_long", 1));
}

/* A descriptor with other words for the line of the rate. */
static enum status read_with(const char *line, struct gpu *gpu)
{
    char path[] = "/tmp/gemmtune-gpu-XXXXXX", text[200];
    FILE *out = fdopen(mkstemp(path), "w"), *in = fopen(FOLDER "/h200.conf", "r");
    assert_true(out && in);
    while (fgets(text, sizeof text, in)) fputs(strncmp(text, "fp32_tflops", 11) == 0 ? line : text, out);
    fclose(in);
    fclose(out);
    enum status st = gpu_read(path, gpu);
    unlink(path);
    return st;
}

TEST(any_rate_may_be_in_a_descriptor_and_that_of_fp32_must)
{
    struct gpu gpu;
    assert_ok(read_with("fp32_tflops = 66.9\nfp8_tflops = 1979\n", &gpu));
    assert_true(gpu_rate(&gpu, "fp8") == 1979);
    assert_true(gpu_rate(&gpu, "fp32") == 66.9);
    assert_fails(read_with("", &gpu), E_INPUT, "the key fp32_tflops is missing");
    assert_fails(read_with("fp32_tflops = fast\n", &gpu), E_INPUT,
                 "fp32_tflops = fast is not a number in 0.01..100000");
    assert_fails(read_with("_tflops = 1\n", &gpu), E_INPUT, "unknown key _tflops");
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

TEST(a_descriptor_that_is_no_text_is_refused)
{
    struct gpu gpu;
    char path[] = "/tmp/gemmtune-gpus-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "\0", 1) == 1 && close(fd) == 0);
    assert_fails(gpu_read(path, &gpu), E_INPUT, ":1: holds a NUL byte");
    assert_int_equal(unlink(path), 0);
    assert_fails(gpu_read("/dev/zero", &gpu), E_IO, "it is a device, and no file");
    assert_fails(gpu_read("/tmp", &gpu), E_IO, "it is a folder, and no file");
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
        cmocka_unit_test(a_gpu_is_meant_by_its_first_words_or_its_architecture),
        cmocka_unit_test(each_descriptor_is_the_file_of_its_id),
        cmocka_unit_test(the_published_peak_is_that_of_lanes_and_clock),
        cmocka_unit_test(the_rate_of_a_type_is_published_or_estimated),
        cmocka_unit_test(rates_have_names_and_there_is_room_for_some),
        cmocka_unit_test(any_rate_may_be_in_a_descriptor_and_that_of_fp32_must),
        cmocka_unit_test(a_descriptor_that_is_no_text_is_refused),
        cmocka_unit_test(limits_are_those_of_the_compute_capability),
        cmocka_unit_test(each_names_where_its_figures_come_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
