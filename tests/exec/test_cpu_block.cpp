// Tests of the execution layer itself: it must detect what the tests of kernels rely on. Here threads, warps,
// blocks and clusters.
#include "cpu_runs.h"

/* ---- matrix instructions ---- */

/* A is in[16 x 8], B in[128 + 8 x 8], D out[16 x 8], all row by row. */
static void matrix_product(const struct gemm_args args)
{
    const float *a = args.a, *b = args.a + 128;
    const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x % 4;
    float d[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    multiply_add_tf32(d, a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4], a[(g + 8) * 8 + t + 4],
                      b[t * 8 + g], b[(t + 4) * 8 + g]);
    for (int i = 0; i < 4; i++) args.c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

TEST(a_matrix_instruction_adds_the_product_of_what_all_lanes_hold)
{
    run(matrix_product, 32, ORDER_REVERSE);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 1.0f;
            for (int k = 0; k < 8; k++) sum += in[i * 8 + k] * in[128 + k * 8 + j];
            assert_true(out[i * 8 + j] == sum);
        }
}

static void product_of_thirds(const struct gemm_args args)
{
    float d[4] = {}, x = 1.0f / 3.0f;
    if (args.m) x = rounded_to_tf32(x);
    multiply_add_tf32(d, x, x, x, x, x, x);
}

static void product_of_rounded_thirds(const struct gemm_args args)
{
    struct gemm_args rounded = args;
    rounded.m = 1;
    product_of_thirds(rounded);
}

TEST(a_matrix_instruction_refuses_operands_that_have_not_been_rounded)
{
    assert_int_equal(status_of(product_of_thirds, 32), BROKEN_KERNEL);
    assert_int_equal(status_of(product_of_rounded_thirds, 32), 0);
}

static void product_of_half_a_warp(const struct gemm_args)
{
    float d[4] = {};
    if (threadIdx.x < 16) multiply_add_tf32(d, 0, 0, 0, 0, 0, 0);
}

TEST(a_matrix_instruction_wants_the_whole_warp)
{
    assert_int_equal(status_of(product_of_half_a_warp, 32), BROKEN_KERNEL);
    assert_int_equal(status_of(product_of_half_a_warp, 16), BROKEN_KERNEL);
}

TEST(rounding_to_tf32_goes_to_nearest_and_keeps_what_is_not_finite)
{
    assert_true(rounded_to_tf32(0x1.001p0f) == 1.0f);
    assert_true(rounded_to_tf32(0x1.002p0f) == 0x1.004p0f);
    assert_true(rounded_to_tf32(-0x1.002p0f) == -0x1.004p0f);
    assert_true(rounded_to_tf32(0x1.001ffep0f) == 1.0f);
    assert_true(rounded_to_tf32(0x1.fffp3f) == 0x1p4f);
    const uint32_t nan_bits[] = {0x7fffffff, 0xffffffff, 0x7f800001};
    for (uint32_t bits : nan_bits) {
        float x;
        memcpy(&x, &bits, sizeof x);
        assert_true(is_nan(rounded_to_tf32(x)));
    }
    const float infinity = 2.0f * 0x1.fffffep127f;
    assert_true(rounded_to_tf32(infinity) == infinity && rounded_to_tf32(-infinity) == -infinity);
}

/* Row r of matrix i is the four floats from (8 i + r) * 4 on, in shared memory in reverse order. */
static void matrices_of_shared(const struct gemm_args args)
{
    float *const shared = gt_shared_memory(), v[4];
    const int lane = (int)threadIdx.x;
    for (int i = 0; i < 4; i++) shared[(31 - lane) * 4 + i] = args.a[lane * 4 + i];
    __syncthreads();
    load_matrices(v, place_in_shared(shared + (31 - lane) * 4));
    for (int i = 0; i < 4; i++) args.c[i * 32 + lane] = v[i];
}

static void matrices_between_vectors(const struct gemm_args)
{
    float v[4];
    load_matrices(v, place_in_shared(gt_shared_memory() + 2));
}

TEST(lanes_get_the_floats_of_matrices_whose_rows_others_point_at)
{
    run(matrices_of_shared, 32, ORDER_REVERSE, 1, 512);
    for (int i = 0; i < 128; i++) assert_true(out[i] == (float)i);
    assert_int_equal(status_of(matrices_between_vectors, 32, 512), BROKEN_KERNEL);
}

/* ---- shuffles and warp barriers ---- */

static void sum_of_warp(const struct gemm_args args)
{
    float x = args.a[threadIdx.x];
    for (int bits = 16; bits > 0; bits /= 2) x += __shfl_xor_sync(0xffffffffu, x, bits);
    args.c[threadIdx.x] = x;
}

TEST(a_butterfly_of_shuffles_adds_each_warp)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(sum_of_warp, 64, (block_order)order);
        for (int i = 0; i < 64; i++) assert_true(out[i] == (i < 32 ? 496.0f : 1520.0f));
    }
}

static void from_the_next_lane(const struct gemm_args args)
{
    args.c[threadIdx.x] = __shfl_down_sync(0xffffffffu, args.a[threadIdx.x], 1, 8);
}

TEST(a_shuffle_stays_in_its_width_and_in_a_short_warp)
{
    run(from_the_next_lane, 44);
    for (int i = 0; i < 43; i++) assert_true(out[i] == (float)(i % 8 == 7 ? i : i + 1));
    assert_true(out[43] == 43.0f);
}

static void from_lane(const struct gemm_args args)
{
    if (threadIdx.x < 16) args.c[threadIdx.x] = __shfl_sync(0x0000ffffu, args.a[threadIdx.x], 3);
}

TEST(half_a_warp_may_shuffle_alone)
{
    run(from_lane, 32);
    assert_true(out[0] == 3.0f && out[15] == 3.0f && out[16] == -1.0f);
}

static void lane_outside_its_mask(const struct gemm_args)
{
    __syncwarp(0x0000ffffu);
}
static void read_from_outside_the_mask(const struct gemm_args args)
{
    if (threadIdx.x < 16) args.c[0] = __shfl_sync(0x0000ffffu, 1.0f, 20);
}
static void lane_that_does_not_come(const struct gemm_args)
{
    if (threadIdx.x != 5) __syncwarp();
}

TEST(misused_warp_barriers_end_the_test)
{
    assert_int_equal(status_of(lane_outside_its_mask, 32), BROKEN_KERNEL);
    assert_int_equal(status_of(read_from_outside_the_mask, 32), BROKEN_KERNEL);
    assert_int_equal(status_of(lane_that_does_not_come, 32), BROKEN_KERNEL);
}

/* ---- block barriers ---- */

static void mirror(const struct gemm_args args)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = args.a[threadIdx.x];
    __syncthreads();
    args.c[threadIdx.x] = tile[63 - threadIdx.x];
}
static void mirror_without_barrier(const struct gemm_args args)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = args.a[threadIdx.x];
    args.c[threadIdx.x] = tile[63 - threadIdx.x];
}

TEST(a_missing_barrier_shows_in_every_order)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(mirror, 64, (block_order)order);
        for (int i = 0; i < 64; i++) assert_true(out[i] == (float)(63 - i));
        run(mirror_without_barrier, 64, (block_order)order);
        int poisoned = 0;
        for (int i = 0; i < 64; i++) poisoned += is_nan(out[i]) ? 1 : 0;
        assert_int_equal(poisoned, 32);
    }
}

TEST(shared_memory_is_poisoned_for_every_block)
{
    run(mirror_without_barrier, 64, ORDER_FORWARD, 3);
    assert_true(is_nan(out[0]) && !is_nan(out[63]));
}

static void half_leaves_early(const struct gemm_args)
{
    if (threadIdx.x >= 32) return;
    __syncthreads();
}
static void two_barriers(const struct gemm_args)
{
    if (threadIdx.x < 32) __syncthreads();
    else __syncthreads();
}

TEST(threads_that_part_at_a_barrier_end_the_test)
{
    assert_int_equal(status_of(half_leaves_early, 64), BROKEN_KERNEL);
    assert_int_equal(status_of(two_barriers, 64), BROKEN_KERNEL);
}

static int arrivals;
static void note_arrival(const struct gemm_args args)
{
    args.c[threadIdx.x] = (float)atomicAdd(&arrivals, 1);
}

TEST(threads_run_in_the_order_asked_for)
{
    arrivals = 0;
    run(note_arrival, 64, ORDER_FORWARD);
    for (int i = 0; i < 64; i++) assert_true(out[i] == (float)i);
    arrivals = 0;
    run(note_arrival, 64, ORDER_REVERSE);
    for (int i = 0; i < 64; i++) assert_true(out[i] == (float)(63 - i));
    arrivals = 0;
    run(note_arrival, 64, ORDER_RANDOM);
    int displaced = 0;
    for (int i = 0; i < 64; i++) displaced += out[i] != (float)i;
    assert_true(displaced > 32);
}

/* ---- clusters ---- */

template <bool AWAIT, bool STAY> static void pass_on(const struct gemm_args args)
{
    float *shared = gt_shared_memory(), x;
    shared[threadIdx.x] = (float)(100 * blockIdx.y + threadIdx.x);
    if (AWAIT) cluster_barrier();
    if (!STAY && blockIdx.y == 0) return;
    if (!STAY) __syncthreads();
    load_cluster<1>(&x, shared + threadIdx.x, (blockIdx.y + 1) % gridDim.y);
    args.c[32 * blockIdx.y + threadIdx.x] = x;
    if (STAY) cluster_barrier();
}
static void wait_alone(const struct gemm_args args)
{
    if (blockIdx.y == 0) cluster_barrier();
}
static void read_a_third_block(const struct gemm_args args)
{
    load_cluster<1>(args.c, gt_shared_memory(), 2);
}

TEST(blocks_of_a_cluster_read_each_others_memory_after_their_barrier)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(pass_on<true, true>, 32, (block_order)order, 1, 128, 3);
        for (int i = 0; i < 96; i++) assert_true(out[i] == (float)((i / 32 + 1) % 3 * 100 + i % 32));
    }
    run(pass_on<false, true>, 32, ORDER_FORWARD, 1, 128, 2);
    assert_true(is_nan(out[0]));
}

TEST(the_memory_of_a_block_that_has_ended_is_gone)
{
    run(pass_on<true, false>, 32, ORDER_FORWARD, 1, 128, 2);
    assert_true(is_nan(out[32]));
}

/* Each block sends its number to the next one, whose thread 0 has announced the number of bytes. */
template <bool MEET, int BYTES> static void send_on(const struct gemm_args args)
{
    float *const place = gt_shared_memory();
    struct mbarrier *const full = reinterpret_cast<struct mbarrier *>(gt_shared_memory() + 32);
    const float mine = (float)(100 * blockIdx.y + threadIdx.x);
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_ready_for_send();
        mbarrier_arrive_expect(full, BYTES, true);
    }
    cluster_arrive();
    if (MEET) cluster_wait();
    send<1>(place + threadIdx.x, &mine, full, (blockIdx.y + 1) % gridDim.y);
    mbarrier_wait(full, 0);
    args.c[32 * blockIdx.y + threadIdx.x] = place[threadIdx.x];
}

TEST(what_blocks_send_each_other_is_there_when_its_bytes_are_complete)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(send_on<true, 128>, 32, (block_order)order, 1, 136, 3);
        for (int i = 0; i < 96; i++) assert_true(out[i] == (float)((i / 32 + 2) % 3 * 100 + i % 32));
    }
}

TEST(sending_too_early_or_too_little_ends_the_test)
{
    assert_int_equal(status_of(send_on<false, 128>, 32, 136, 2), BROKEN_KERNEL);
    assert_int_equal(status_of(send_on<true, 132>, 32, 136, 2), BROKEN_KERNEL);
}

TEST(misused_clusters_end_the_test)
{
    assert_int_equal(status_of(wait_alone, 32, 16, 2), BROKEN_KERNEL);
    assert_int_equal(status_of(read_a_third_block, 32, 16, 2), BROKEN_KERNEL);
    assert_int_equal(status_of(wait_alone, 16, 16, 2), BROKEN_KERNEL);
}

/* ---- dependent kernels ---- */

/* Threads 0 to 31 wait, and after the barrier all know what the kernel before wrote. */
static void double_after_waiting(const struct gemm_args args)
{
    if (threadIdx.x < 32) wait_for_kernel_before();
    __syncthreads();
    args.c[64 * blockIdx.x + threadIdx.x] = 2.0f * args.a[threadIdx.x];
}
static void double_before_waiting(const struct gemm_args args)
{
    const float x = args.a[threadIdx.x];
    wait_for_kernel_before();
    args.c[64 * blockIdx.x + threadIdx.x] = 2.0f * x;
}
static void store_before_waiting(const struct gemm_args args)
{
    args.c[64 * blockIdx.x + threadIdx.x] = 1.0f;
    wait_for_kernel_before();
}
static void second_of_two_blocks_does_not_wait(const struct gemm_args)
{
    if (blockIdx.y == 0) wait_for_kernel_before();
}

TEST(a_dependent_block_finds_operands_only_when_it_has_waited)
{
    dependent = true;
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(double_after_waiting, 64, (block_order)order, 3);
        for (int i = 0; i < 192; i++) assert_true(out[i] == 2.0f * (float)(i % 64));
        assert_true(out[192] == -1.0f);
        run(double_before_waiting, 64, (block_order)order, 3);
        int poisoned = 0;
        for (int i = 0; i < 192; i++) poisoned += is_nan(out[i]) ? 1 : 0;
        assert_true(poisoned > 0);
    }
    dependent = false;
}

TEST(a_dependent_block_that_writes_early_or_never_waits_ends_the_test)
{
    dependent = true;
    assert_int_equal(status_of(double_after_waiting, 64), 0);
    assert_int_equal(status_of(store_before_waiting, 64), BROKEN_KERNEL);
    assert_int_equal(status_of(second_of_two_blocks_does_not_wait, 32, 16, 2), BROKEN_KERNEL);
    dependent = false;
    assert_int_equal(status_of(store_before_waiting, 64), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_instruction_adds_the_product_of_what_all_lanes_hold),
        cmocka_unit_test(a_matrix_instruction_refuses_operands_that_have_not_been_rounded),
        cmocka_unit_test(a_matrix_instruction_wants_the_whole_warp),
        cmocka_unit_test(rounding_to_tf32_goes_to_nearest_and_keeps_what_is_not_finite),
        cmocka_unit_test(lanes_get_the_floats_of_matrices_whose_rows_others_point_at),
        cmocka_unit_test(a_butterfly_of_shuffles_adds_each_warp),
        cmocka_unit_test(a_shuffle_stays_in_its_width_and_in_a_short_warp),
        cmocka_unit_test(half_a_warp_may_shuffle_alone),
        cmocka_unit_test(misused_warp_barriers_end_the_test),
        cmocka_unit_test(a_missing_barrier_shows_in_every_order),
        cmocka_unit_test(shared_memory_is_poisoned_for_every_block),
        cmocka_unit_test(threads_that_part_at_a_barrier_end_the_test),
        cmocka_unit_test(threads_run_in_the_order_asked_for),
        cmocka_unit_test(blocks_of_a_cluster_read_each_others_memory_after_their_barrier),
        cmocka_unit_test(the_memory_of_a_block_that_has_ended_is_gone),
        cmocka_unit_test(what_blocks_send_each_other_is_there_when_its_bytes_are_complete),
        cmocka_unit_test(sending_too_early_or_too_little_ends_the_test),
        cmocka_unit_test(misused_clusters_end_the_test),
        cmocka_unit_test(a_dependent_block_finds_operands_only_when_it_has_waited),
        cmocka_unit_test(a_dependent_block_that_writes_early_or_never_waits_ends_the_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
