/* What the launcher tells the driver: plain launches, clusters and dependent launches, tensor maps of the
 * operands, again for each piece of a batch and each slab of k. */
#include "launcher.h"

#include "fake_gpu.h"
#include "gemm_block.h"
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define A         0x1000000u
#define B         0x2000000u
#define C         0x3000000u
#define AT_VIEW_A 192
#define AT_VIEW_C 320

static struct device device;
static CUmodule module;
static CUfunction functions[LAUNCH_KERNELS_MAX];
static struct {
    struct fake_launch *launches;
    int *launch_count;
    struct fake_extended *extended;
    int *extended_count;
    _Atomic int *encoded, *replaced; /* maps */
    enum fake_replacing *replacing;
} fake;

static int setup(void **state)
{
    (void)state;
    setenv("GEMMTUNE_LIBCUDA", FAKE_GPU, 1);
    if (device_open(0, &device) || cuda.ModuleLoadData(&module, "") != CUDA_SUCCESS) return -1;
    for (int i = 0; i < 2; i++) cuda.ModuleGetFunction(&functions[i], module, i ? "gemm" : "gemm_pack");
    void *gpu = dlopen(FAKE_GPU, RTLD_NOW);
    fake.launches = dlsym(gpu, "fake_launches");
    fake.launch_count = dlsym(gpu, "fake_launch_count");
    fake.extended = dlsym(gpu, "fake_extended");
    fake.extended_count = dlsym(gpu, "fake_extended_count");
    fake.encoded = dlsym(gpu, "fake_maps_encoded");
    fake.replaced = dlsym(gpu, "fake_maps_replaced");
    fake.replacing = dlsym(gpu, "fake_replacing");
    *fake.launch_count = *fake.extended_count = 0;
    *fake.encoded = *fake.replaced = 0;
    *fake.replacing = FAKE_REPLACES;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cuda.ModuleUnload(module);
    device_close(&device);
    return 0;
}

/* Five items of 64 x 48 x 100, two a launch, k in slabs of 40; kernel 1 is a cluster of 2 along x that may
 * begin early, and reads A (m rows of 112 floats) and writes C through views. */
static struct launch_plan plan_of(struct problem *p)
{
    struct launch_plan plan;
    *p = problem_make(64, 48, 100);
    p->lda = 112;
    p->stride_a = 64 * 112;
    p->batch = 5;
    const struct gemm_args args = gemm_args_of(p);
    launch_plan_clear(&plan);
    gemm_args_put(&plan, p, &args);
    plan.batch_per_launch = 2;
    plan.k_slab = 40;
    plan.kernels = 2;
    plan.kernel[0] = (struct kernel_launch){
        .entry = "gemm_pack", .grid = {7, 1, 2}, .last_slab = 3, .threads = 32, .smem_bytes = 16};
    plan.kernel[1] = (struct kernel_launch){.entry = "gemm",
                                            .grid = {4, 1, 2},
                                            .last_slab = 4,
                                            .threads = 128,
                                            .smem_bytes = 256,
                                            .cluster = {2, 1, 1},
                                            .cluster_at_launch = true,
                                            .dependent = true};
    plan.views = 2;
    plan.view[0] = (struct tensor_view){.operand = LAUNCH_A,
                                        .element = ELEMENT_TF32, /* FP32 that copies round */
                                        .rank = 3,
                                        .extent = {100, 64, 5},
                                        .stride_bytes = {4, 4 * 112, 4 * 64 * 112},
                                        .box = {32, 64, 1},
                                        .swizzle_bytes = 128,
                                        .k_axis = 0,
                                        .batch_axis = 2,
                                        .at = AT_VIEW_A};
    plan.view[1] = (struct tensor_view){.operand = LAUNCH_C,
                                        .element = ELEMENT_BF16,
                                        .rank = 2,
                                        .offset_bytes = 16,
                                        .extent = {48, 64},
                                        .stride_bytes = {4, 4 * 48},
                                        .box = {16, 8},
                                        .k_axis = -1,
                                        .batch_axis = -1,
                                        .at = AT_VIEW_C};
    plan.argument_bytes = AT_VIEW_C + LAUNCH_VIEW_BYTES;
    return plan;
}

static struct fake_view view_in(const struct fake_extended *launch, int at)
{
    struct fake_view view;
    memcpy(&view, launch->argument + at, sizeof view);
    return view;
}

TEST(attributes_and_views_arrive_with_every_piece)
{
    struct problem p;
    const struct launch_plan plan = plan_of(&p);
    const struct launch_call call = {.operand = {A, B, C}, .alpha = 2, .beta = 0.5f};
    bool touched = false;
    assert_ok(launcher_check(&plan, 90));
    assert_int_equal(launcher_enqueue(&plan, functions, &call, device.stream, &touched), CUDA_SUCCESS);
    assert_int_equal(*fake.launch_count, 3 * 3 * 2); /* pieces, slabs, kernels */
    assert_int_equal(*fake.extended_count, 3 * 3);   /* the packing is launched plainly */
    for (int i = 0; i < 9; i++) {
        const struct fake_extended *x = &fake.extended[i];
        const int item = i / 3 * 2, slab = i % 3, items = item < 4 ? 2 : 1, k = slab < 2 ? 40 : 20;
        const struct fake_launch *l = &fake.launches[x->launch];
        assert_int_equal(x->launch, 2 * i + 1);
        assert_true(x->cluster_told && x->dependent);
        assert_true(x->cluster[0] == 2 && x->cluster[1] == 1 && x->cluster[2] == 1);
        assert_true(l->grid[0] == 4 && l->grid[1] == 1 && l->grid[2] == (unsigned)items);
        assert_true(l->threads == 128 && l->smem_bytes == 256 && l->stream == (void *)device.stream);
        const unsigned long long a = A + 4ull * (unsigned)(item * 64 * 112 + slab * 40);
        assert_int_equal((uintptr_t)l->args.a, a);
        assert_int_equal(l->args.k, k);
        assert_true(l->args.alpha == 2 && l->args.beta == (slab ? 1.0f : 0.5f));
        const struct fake_view of_a = view_in(x, AT_VIEW_A), of_c = view_in(x, AT_VIEW_C);
        assert_int_equal(of_a.address, a);
        assert_int_equal(of_a.rank, 3);
        assert_int_equal(of_a.type, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
        assert_int_equal(of_a.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
        assert_true(of_a.extent[0] == (unsigned)k && of_a.extent[1] == 64 &&
                    of_a.extent[2] == (unsigned)items);
        assert_true(of_a.stride[0] == 4 * 112 && of_a.stride[1] == 4 * 64 * 112);
        assert_true(of_a.box[0] == 32 && of_a.box[1] == 64 && of_a.box[2] == 1);
        assert_int_equal(of_c.address, C + 16 + 4u * (unsigned)(item * 64 * 48));
        assert_true(of_c.rank == 2 && of_c.extent[0] == 48 && of_c.extent[1] == 64);
        assert_int_equal(of_c.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
        assert_int_equal(of_c.swizzle, CU_TENSOR_MAP_SWIZZLE_NONE);
    }
}

TEST(without_attributes_the_driver_is_asked_as_ever)
{
    struct problem p;
    struct launch_plan plan = plan_of(&p);
    const struct launch_call call = {.operand = {A, B, C}, .alpha = 2};
    bool touched = false;
    plan.kernel[1].cluster_at_launch = plan.kernel[1].dependent = false; /* the text says so itself */
    plan.views = 0;
    assert_ok(launcher_check(&plan, 75));
    assert_int_equal(launcher_enqueue(&plan, functions, &call, device.stream, &touched), CUDA_SUCCESS);
    assert_int_equal(*fake.launch_count, 18);
    assert_int_equal(*fake.extended_count, 0);
}

TEST(a_refusal_says_whether_c_was_touched)
{
    struct problem p;
    struct launch_plan plan = plan_of(&p);
    const struct launch_call call = {.operand = {A + 4, B, C}, .alpha = 2};
    bool touched = true;
    /* A is less aligned than any view may be. */
    assert_int_equal(launcher_enqueue(&plan, functions, &call, device.stream, &touched),
                     CUDA_ERROR_INVALID_VALUE);
    assert_false(touched);
    assert_int_equal(*fake.launch_count, 0);
    plan.batch_step_bytes[LAUNCH_A] += 4; /* the second piece is */
    const struct launch_call aligned = {.operand = {A, B, C}, .alpha = 2};
    plan.k_slab = 0;
    plan.batch_per_launch = 1;
    assert_int_equal(launcher_enqueue(&plan, functions, &aligned, device.stream, &touched),
                     CUDA_ERROR_INVALID_VALUE);
    assert_true(touched);
    assert_int_equal(*fake.launch_count, 2);
}

TEST(what_driver_or_gpu_lack_is_refused_when_a_kernel_is_loaded)
{
    struct problem p;
    struct launch_plan plan = plan_of(&p);
    struct cuda_api whole = cuda;
    assert_fails(launcher_check(&plan, 89), E_ABSENT, "sm_90");
    cuda.TensorMapEncodeTiled = NULL;
    assert_fails(launcher_check(&plan, 90), E_ABSENT, "cuTensorMapEncodeTiled");
    plan.views = 0;
    assert_ok(launcher_check(&plan, 90));
    cuda.LaunchKernelEx = NULL;
    assert_fails(launcher_check(&plan, 90), E_ABSENT, "cuLaunchKernelEx");
    plan.kernel[1].cluster_at_launch = plan.kernel[1].dependent = false;
    assert_ok(launcher_check(&plan, 75));
    cuda = whole;
}

TEST(an_empty_axis_is_still_a_view)
{
    struct problem p;
    struct launch_plan plan = plan_of(&p);
    const struct launch_call call = {.operand = {A, B, C}, .alpha = 2};
    bool touched = false;
    plan.k = plan.k_slab = 0;
    plan.batch = 1;
    assert_int_equal(launcher_enqueue(&plan, functions, &call, device.stream, &touched), CUDA_SUCCESS);
    assert_int_equal(*fake.extended_count, 1);
    assert_int_equal(view_in(&fake.extended[0], AT_VIEW_A).extent[0], 1);
}

/* ---- maps that were encoded ahead ---- */

/* All five items and all of k in one launch. */
static struct launch_plan whole_plan(struct problem *p)
{
    struct launch_plan plan = plan_of(p);
    plan.batch_per_launch = 65535;
    plan.k_slab = 0;
    return plan;
}

/* So many maps were encoded, and so many addresses replaced, since the last time. */
static void assert_asked(int encoded, int replaced)
{
    assert_int_equal(*fake.encoded, encoded);
    assert_int_equal(*fake.replaced, replaced);
    *fake.encoded = *fake.replaced = 0;
}

/* The launches of a plan get the arguments that they get where each encodes its maps, from whatever is asked
 * of the driver, and leave the plan as it was. */
static void check_as_encoded(const struct launch_plan *plan, uintptr_t a, int encoded, int replaced)
{
    static struct fake_extended expected[FAKE_EXTENDED_MAX];
    const struct launch_call call = {.operand = {a, B, C}, .alpha = 2};
    const struct launch_plan before = *plan;
    struct launch_plan plain = *plan;
    bool touched = false;
    plain.maps_items = 0;
    for (int i = 0; i < plan->views; i++) memset(plain.argument + plan->view[i].at, 0, LAUNCH_VIEW_BYTES);
    *fake.launch_count = *fake.extended_count = 0;
    assert_int_equal(launcher_enqueue(&plain, functions, &call, device.stream, &touched), CUDA_SUCCESS);
    const int launches = *fake.launch_count, count = *fake.extended_count;
    assert_asked(2 * launches, 0);
    memcpy(expected, fake.extended, sizeof expected);
    *fake.launch_count = *fake.extended_count = 0;
    assert_int_equal(launcher_enqueue(plan, functions, &call, device.stream, &touched), CUDA_SUCCESS);
    assert_int_equal(*fake.launch_count, launches);
    assert_int_equal(*fake.extended_count, count);
    for (int i = 0; i < count; i++)
        assert_memory_equal(fake.extended[i].argument, expected[i].argument, (size_t)plan->argument_bytes);
    assert_memory_equal(plan, &before, sizeof before);
    assert_asked(encoded, replaced);
}

TEST(maps_are_encoded_once_and_launches_replace_their_addresses)
{
    struct problem p;
    struct launch_plan plan = whole_plan(&p);
    launcher_encode_ahead(&plan);
    assert_asked(4, 2); /* two maps at two addresses, to compare with what replacing gives */
    assert_true(plan.maps_items == 5 && plan.maps_k == 100);
    for (unsigned i = 0; i < 5; i++) check_as_encoded(&plan, A + 16 * i, 0, 2 * 2); /* maps, kernels */
    assert_int_equal(view_in(&fake.extended[0], AT_VIEW_A).address, A + 64);
}

/* Of 18 launches 8 are of two items and 40 k, as the first. */
TEST(maps_of_other_extents_are_encoded_for_their_launch)
{
    struct problem p;
    struct launch_plan plan = plan_of(&p);
    launcher_encode_ahead(&plan);
    assert_asked(4, 2);
    assert_true(plan.maps_items == 2 && plan.maps_k == 40);
    check_as_encoded(&plan, A, 2 * 10, 2 * 8);
    plan = whole_plan(&p);
    plan.batch_per_launch = 2; /* the last piece has one item */
    launcher_encode_ahead(&plan);
    assert_asked(4, 2);
    check_as_encoded(&plan, A, 2 * 2, 2 * 4);
    plan = whole_plan(&p);
    plan.k_slab = 60; /* the second has 40 */
    launcher_encode_ahead(&plan);
    assert_asked(4, 2);
    check_as_encoded(&plan, A, 2 * 2, 2 * 2);
}

TEST(a_driver_that_cannot_replace_encodes_at_each_launch)
{
    struct problem p;
    struct launch_plan plan = whole_plan(&p);
    const struct cuda_api whole = cuda;
    cuda.TensorMapReplaceAddress = NULL;
    launcher_encode_ahead(&plan);
    assert_asked(0, 0);
    cuda = whole;
    check_as_encoded(&plan, A, 2 * 2, 0);
    *fake.replacing = FAKE_REPLACE_REFUSES;
    launcher_encode_ahead(&plan);
    assert_asked(4, 1);
    check_as_encoded(&plan, A, 2 * 2, 0);
    *fake.replacing = FAKE_REPLACES;
    launcher_encode_ahead(&plan);
    assert_asked(4, 2);
    *fake.replacing = FAKE_REPLACE_REFUSES; /* all of a sudden */
    check_as_encoded(&plan, A, 2 * 2, 2);
    cuda.TensorMapReplaceAddress = NULL;
    check_as_encoded(&plan, A, 2 * 2, 0);
    cuda = whole;
}

TEST(a_driver_that_makes_another_map_by_replacing_is_not_asked_to)
{
    struct problem p;
    struct launch_plan plan = whole_plan(&p);
    *fake.replacing = FAKE_REPLACE_DIFFERS;
    launcher_encode_ahead(&plan);
    assert_asked(4, 1);
    assert_int_equal(plan.maps_items, 0);
    check_as_encoded(&plan, A, 2 * 2, 0);
}

TEST(what_encoding_refuses_is_refused_where_addresses_are_replaced)
{
    struct problem p;
    struct launch_plan plan = whole_plan(&p);
    const struct launch_call unaligned = {.operand = {A + 4, B, C}, .alpha = 2};
    const struct launch_call call = {.operand = {A, B, C}, .alpha = 2};
    bool touched = true;
    launcher_encode_ahead(&plan);
    assert_asked(4, 2);
    assert_int_equal(launcher_enqueue(&plan, functions, &unaligned, device.stream, &touched),
                     CUDA_ERROR_INVALID_VALUE);
    assert_false(touched);
    assert_asked(1, 0);                   /* whether replacing minds is the driver's affair */
    check_as_encoded(&plan, 0, 2 * 2, 0); /* nor is no address replaced */
    plan.view[0].stride_bytes[1] += 4;
    launcher_encode_ahead(&plan);
    assert_asked(1, 0);
    assert_int_equal(plan.maps_items, 0);
    assert_int_equal(launcher_enqueue(&plan, functions, &call, device.stream, &touched),
                     CUDA_ERROR_INVALID_VALUE);
    plan = whole_plan(&p);
    plan.views = 0;
    *fake.encoded = 0;
    launcher_encode_ahead(&plan);
    plan = whole_plan(&p);
    plan.kernels = 0;
    launcher_encode_ahead(&plan);
    assert_asked(0, 0);
}

TEST(a_forked_child_reaches_no_driver_for_its_maps)
{
    struct problem p;
    int left = 0;
    struct launch_plan plan = whole_plan(&p);
    const struct launch_call call = {.operand = {A, B, C}, .alpha = 2};
    launcher_encode_ahead(&plan);
    *fake.replaced = 0;
    const pid_t child = fork();
    if (child == 0) {
        bool touched;
        const CUresult result = launcher_enqueue(&plan, functions, &call, device.stream, &touched);
        _exit(result == CUDA_ERROR_NOT_INITIALIZED && *fake.replaced == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &left, 0), child);
    assert_int_equal(left, 0);
}

#define ON_FAKE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKE(attributes_and_views_arrive_with_every_piece),
        ON_FAKE(without_attributes_the_driver_is_asked_as_ever),
        ON_FAKE(a_refusal_says_whether_c_was_touched),
        ON_FAKE(what_driver_or_gpu_lack_is_refused_when_a_kernel_is_loaded),
        ON_FAKE(an_empty_axis_is_still_a_view),
        ON_FAKE(maps_are_encoded_once_and_launches_replace_their_addresses),
        ON_FAKE(maps_of_other_extents_are_encoded_for_their_launch),
        ON_FAKE(a_driver_that_cannot_replace_encodes_at_each_launch),
        ON_FAKE(a_driver_that_makes_another_map_by_replacing_is_not_asked_to),
        ON_FAKE(what_encoding_refuses_is_refused_where_addresses_are_replaced),
        ON_FAKE(a_forked_child_reaches_no_driver_for_its_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
