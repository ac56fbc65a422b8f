// Tests of the execution layer itself: it must detect what the tests of kernels rely on.
extern "C" {
#include "cpu_block.h"
#include "gemm_args.h"
#include "unit.h"
}
#include "gt_cpu.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static float in[256], out[256];

static bool is_nan(float x)
{
    return x != x;
}

static void run(void (*kernel)(struct gemm_args), unsigned threads, block_order order = ORDER_FORWARD,
                unsigned blocks = 1, unsigned smem_bytes = 0, unsigned cluster = 0)
{
    struct grid grid = {};
    struct gemm_args args = {};
    grid.kernel = (void (*)(struct cpu_argument))(void (*)(void))kernel;
    grid.static_shared = gt_static_shared;
    grid.size[0] = blocks;
    grid.size[1] = cluster ? cluster : 1;
    grid.size[2] = 1;
    grid.cluster = cluster;
    grid.threads = threads;
    grid.smem_bytes = smem_bytes;
    grid.order = order;
    grid.seed = 7;
    args.a = in;
    args.c = out;
    for (int i = 0; i < 256; i++) in[i] = (float)i, out[i] = -1.0f;
    grid_run(&grid, &args, sizeof args);
}

/* Exit status of a child process that runs the kernel. */
static int status_of(void (*kernel)(struct gemm_args), unsigned threads, unsigned smem_bytes = 0,
                     unsigned cluster = 0)
{
    int ended = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        run(kernel, threads, ORDER_FORWARD, 1, smem_bytes, cluster);
        _exit(0);
    }
    assert_true(waitpid(child, &ended, 0) == child && WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

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

/* ---- asynchronous copies ---- */

template <bool COMMIT, int PENDING, bool BARRIER> static void copy_and_read(const struct gemm_args args)
{
    float *shared = gt_shared_memory();
    cp_async<1>(shared + threadIdx.x, args.a + threadIdx.x, true);
    if (COMMIT) cp_async_commit();
    cp_async_wait<PENDING>();
    if (BARRIER) __syncthreads();
    args.c[threadIdx.x] = shared[(threadIdx.x + 1) % 32];
}

TEST(a_copy_lands_only_when_committed_and_waited_for)
{
    run(copy_and_read<true, 0, true>, 32, ORDER_FORWARD, 1, 128);
    for (int i = 0; i < 32; i++) assert_true(out[i] == (float)((i + 1) % 32));
    run(copy_and_read<false, 0, true>, 32, ORDER_FORWARD, 1, 128);
    for (int i = 0; i < 32; i++) assert_true(is_nan(out[i]));
    run(copy_and_read<true, 1, true>, 32, ORDER_FORWARD, 1, 128);
    for (int i = 0; i < 32; i++) assert_true(is_nan(out[i]));
    run(copy_and_read<true, 0, false>, 32, ORDER_FORWARD, 1, 128);
    assert_true(is_nan(out[0]));
}

static void two_groups(const struct gemm_args args)
{
    float *shared = gt_shared_memory();
    cp_async<1>(shared, args.a + 1, true);
    cp_async_commit();
    cp_async<1>(shared + 1, args.a + 2, true);
    cp_async<1>(shared + 2, args.a + 2, false);
    cp_async_commit();
    cp_async_wait<1>();
    args.c[0] = shared[0];
    args.c[1] = shared[1];
    cp_async_wait<0>();
    args.c[2] = shared[1];
    args.c[3] = shared[2];
}

TEST(older_groups_land_first_and_an_invalid_copy_is_zero)
{
    run(two_groups, 1, ORDER_FORWARD, 1, 12);
    assert_true(out[0] == 1.0f && is_nan(out[1]) && out[2] == 2.0f && out[3] == 0.0f);
}

static void overwrite_while_read(const struct gemm_args args)
{
    float *shared = gt_shared_memory();
    shared[0] = 5.0f;
    cp_async<1>(shared, args.a + 1, true);
    args.c[0] = shared[0];
}
static void misaligned_copy(const struct gemm_args args)
{
    cp_async<4>(gt_shared_memory(), args.a + 1, true);
}
static void misaligned_load(const struct gemm_args args)
{
    float v[4];
    load_global<4>(v, args.a + 2, true);
}
static void beyond_shared_memory(const struct gemm_args args)
{
    args.c[0] = gt_shared_memory()[4];
}

TEST(a_copy_in_flight_spoils_its_target)
{
    run(overwrite_while_read, 1, ORDER_FORWARD, 1, 16);
    assert_true(is_nan(out[0]));
}

TEST(misaligned_and_outside_accesses_end_the_test)
{
    assert_int_equal(status_of(misaligned_copy, 1, 16), BROKEN_KERNEL);
    assert_int_equal(status_of(misaligned_load, 1, 16), BROKEN_KERNEL);
    assert_int_equal(status_of(beyond_shared_memory, 1, 20), 0);
    assert_int_not_equal(status_of(beyond_shared_memory, 1, 16), 0);
}

static void write_over_a_copy(const struct gemm_args args)
{
    float *shared = gt_shared_memory();
    cp_async<1>(shared, args.a + 1, true);
    cp_async_commit();
    shared[0] = 5.0f;
}

TEST(who_writes_where_a_copy_is_on_its_way_ends_the_test)
{
    assert_int_equal(status_of(write_over_a_copy, 1, 16), BROKEN_KERNEL);
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

/* ---- barriers with separate arrive and wait ---- */

/* The barrier follows 64 floats. */
static struct mbarrier *barrier_for(int arrivals)
{
    struct mbarrier *b = reinterpret_cast<struct mbarrier *>(gt_shared_memory() + 64);
    if (threadIdx.x == 0) {
        mbarrier_init(b, arrivals);
        mbarrier_ready();
    }
    __syncthreads();
    return b;
}

static int poisoned; /* number of values that were read too early, in all blocks */

template <bool WAIT, bool TOGETHER, int FROM> static void in_two_steps(const struct gemm_args args)
{
    struct mbarrier *b = barrier_for(2);
    float *shared = gt_shared_memory();
    shared[threadIdx.x] = args.a[threadIdx.x];
    if (TOGETHER) __syncwarp();
    mbarrier_arrive(b, threadIdx.x % 32 == 0);
    if (WAIT) mbarrier_wait(b, 0);
    args.c[threadIdx.x] = shared[threadIdx.x ^ FROM];
    if (is_nan(args.c[threadIdx.x])) poisoned++;
}

TEST(who_waits_sees_what_all_did_before_they_arrived)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        poisoned = 0;
        run(in_two_steps<true, true, 63>, 64, (block_order)order, 8, 264);
        for (int i = 0; i < 64; i++) assert_true(out[i] == (float)(63 - i));
        assert_int_equal(poisoned, 0);
        run(in_two_steps<false, true, 32>, 64, (block_order)order, 8, 264);
        assert_true(poisoned > 0);
    }
    poisoned = 0;
    run(in_two_steps<true, false, 1>, 64, ORDER_FORWARD, 8, 264);
    assert_true(poisoned > 0);
}

/* In each phase the values move on by one thread; two buffers, so that no value is overwritten before it is
 * read. */
static void hand_around(const struct gemm_args args)
{
    struct mbarrier *b = barrier_for(64);
    float *shared = gt_shared_memory(), x = args.a[threadIdx.x];
    for (unsigned phase = 0; phase < 3; phase++) {
        if (phase % 2 == 0) shared[threadIdx.x] = x;
        mbarrier_arrive(b, true);
        mbarrier_wait(b, phase % 2);
        if (phase % 2 == 0) x = shared[(threadIdx.x + 1) % 64];
    }
    args.c[threadIdx.x] = x;
}

TEST(phases_of_a_barrier_alternate)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(hand_around, 64, (block_order)order, 1, 264);
        for (int i = 0; i < 64; i++) assert_true(out[i] == (float)((i + 2) % 64));
    }
}

template <bool OF_COPIES> static void copies_arrive(const struct gemm_args args)
{
    struct mbarrier *b = barrier_for(32);
    float *shared = gt_shared_memory();
    cp_async<1>(shared + threadIdx.x, args.a + threadIdx.x, true);
    if (OF_COPIES) mbarrier_arrive_copies(b, true);
    else mbarrier_arrive(b, true);
    mbarrier_wait(b, 0);
    args.c[threadIdx.x] = shared[(threadIdx.x + 1) % 32];
}

TEST(an_arrival_of_copies_waits_until_they_have_landed)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(copies_arrive<true>, 32, (block_order)order, 1, 264);
        for (int i = 0; i < 32; i++) assert_true(out[i] == (float)((i + 1) % 32));
        run(copies_arrive<false>, 32, (block_order)order, 1, 264);
        assert_true(is_nan(out[0]));
    }
}

template <int BYTES, int ANNOUNCED, int FROM, bool WAIT> static void copy_in_bulk(const struct gemm_args args)
{
    struct mbarrier *b = barrier_for(1);
    alignas(16) static float source[64];
    for (int i = 0; i < 64; i++) source[i] = args.a[i];
    if (threadIdx.x == 0) {
        bulk_copy(gt_shared_memory(), source + FROM, BYTES, b, true);
        mbarrier_arrive_expect(b, ANNOUNCED, true);
    }
    if (WAIT) mbarrier_wait(b, 0);
    args.c[threadIdx.x] = gt_shared_memory()[threadIdx.x];
}

TEST(a_bulk_copy_is_there_when_its_bytes_have_been_counted)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(copy_in_bulk<128, 128, 4, true>, 32, (block_order)order, 1, 264);
        for (int i = 0; i < 32; i++) assert_true(out[i] == (float)(i + 4));
    }
    assert_int_equal(status_of(copy_in_bulk<128, 144, 4, true>, 32, 264), BROKEN_KERNEL);
    assert_int_equal(status_of(copy_in_bulk<128, 112, 4, true>, 32, 264), BROKEN_KERNEL);
    assert_int_equal(status_of(copy_in_bulk<128, 144, 4, false>, 32, 264), BROKEN_KERNEL);
    assert_int_equal(status_of(copy_in_bulk<120, 120, 4, true>, 32, 264), BROKEN_KERNEL);
    assert_int_equal(status_of(copy_in_bulk<128, 128, 2, true>, 32, 264), BROKEN_KERNEL);
}

static void wait_without_barrier(const struct gemm_args)
{
    mbarrier_wait(reinterpret_cast<struct mbarrier *>(gt_shared_memory()), 0);
}
static void write_over_barrier(const struct gemm_args)
{
    struct mbarrier *b = barrier_for(1);
    gt_shared_memory()[64] = 1.0f;
    mbarrier_arrive(b, true);
}
static void wait_for_nobody(const struct gemm_args)
{
    mbarrier_wait(barrier_for(2), 0);
}

TEST(misused_barriers_in_two_steps_end_the_test)
{
    assert_int_equal(status_of(wait_without_barrier, 1, 264), BROKEN_KERNEL);
    assert_int_equal(status_of(write_over_barrier, 1, 264), BROKEN_KERNEL);
    assert_int_equal(status_of(wait_for_nobody, 32, 264), BROKEN_KERNEL);
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
        cmocka_unit_test(a_copy_lands_only_when_committed_and_waited_for),
        cmocka_unit_test(older_groups_land_first_and_an_invalid_copy_is_zero),
        cmocka_unit_test(a_copy_in_flight_spoils_its_target),
        cmocka_unit_test(misaligned_and_outside_accesses_end_the_test),
        cmocka_unit_test(who_writes_where_a_copy_is_on_its_way_ends_the_test),
        cmocka_unit_test(blocks_of_a_cluster_read_each_others_memory_after_their_barrier),
        cmocka_unit_test(the_memory_of_a_block_that_has_ended_is_gone),
        cmocka_unit_test(what_blocks_send_each_other_is_there_when_its_bytes_are_complete),
        cmocka_unit_test(sending_too_early_or_too_little_ends_the_test),
        cmocka_unit_test(misused_clusters_end_the_test),
        cmocka_unit_test(who_waits_sees_what_all_did_before_they_arrived),
        cmocka_unit_test(phases_of_a_barrier_alternate),
        cmocka_unit_test(an_arrival_of_copies_waits_until_they_have_landed),
        cmocka_unit_test(a_bulk_copy_is_there_when_its_bytes_have_been_counted),
        cmocka_unit_test(misused_barriers_in_two_steps_end_the_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
