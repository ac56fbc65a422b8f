// Tests of the execution layer itself: it must detect what the tests of kernels rely on. Here asynchronous
// copies, and barriers that count them.
#include "cpu_runs.h"

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
        cmocka_unit_test(a_copy_lands_only_when_committed_and_waited_for),
        cmocka_unit_test(older_groups_land_first_and_an_invalid_copy_is_zero),
        cmocka_unit_test(a_copy_in_flight_spoils_its_target),
        cmocka_unit_test(misaligned_and_outside_accesses_end_the_test),
        cmocka_unit_test(who_writes_where_a_copy_is_on_its_way_ends_the_test),
        cmocka_unit_test(who_waits_sees_what_all_did_before_they_arrived),
        cmocka_unit_test(phases_of_a_barrier_alternate),
        cmocka_unit_test(an_arrival_of_copies_waits_until_they_have_landed),
        cmocka_unit_test(a_bulk_copy_is_there_when_its_bytes_have_been_counted),
        cmocka_unit_test(misused_barriers_in_two_steps_end_the_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
