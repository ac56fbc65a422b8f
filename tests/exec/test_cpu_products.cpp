// Tests of the execution layer itself: it must detect what the tests of kernels rely on. Here boxes of tensor
// maps, barriers of some of a block's threads, and products of matrices in shared memory.
#include "cpu_runs.h"
#include "cpu_tensor_map.h"

/* Of an element of a matrix in shared memory, in the 128-byte swizzle: lines of 64 elements. */
static unsigned short *place(float *matrix, int line, int element)
{
    return reinterpret_cast<unsigned short *>(matrix) + line * 64 + (element / 8 ^ line % 8) * 8 +
           element % 8;
}

/* ---- boxes ---- */

static unsigned short plane[12][80]; /* of which the map sees 70 x 10 */
static struct tensor_map map;

static void make_map(uint32_t mark)
{
    struct cpu_tensor_map m = {
        reinterpret_cast<const char *>(plane), {70, 10, 1}, {2, 160, 1920}, {64, 8, 1}, 128, 2, mark};
    memcpy(&map, &m, sizeof m);
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 80; j++) plane[i][j] = (unsigned short)(100 * i + j);
}

template <int X, int Y, int BYTES, bool WAIT, int MOVED> static void copy_box(const struct gemm_args args)
{
    float *const box = swizzle_aligned(gt_shared_memory());
    struct mbarrier *const b = reinterpret_cast<struct mbarrier *>(box + 512);
    mbarrier_init(b, 1);
    mbarrier_arrive_expect(b, BYTES, true);
    tensor_copy(box + MOVED, map, X, Y, 0, b);
    if (WAIT) mbarrier_wait(b, 0);
    args.c[0] = *place(box, 0, 0);
    args.c[1] = *place(box, 5, 60);
    args.c[2] = *place(box, 7, 3);
    if (!WAIT) mbarrier_wait(b, 0);
}

enum { BOX_SMEM = 1024 + 2048 + 8 };

TEST(a_box_has_its_elements_in_the_swizzle_and_zeros_beyond_the_extents)
{
    make_map(CPU_TENSOR_MAP);
    run(copy_box<8, 1, 1024, true, 0>, 1, ORDER_FORWARD, 1, BOX_SMEM);
    assert_true(out[0] == 108 && out[1] == 668 && out[2] == 811);
    run(copy_box<16, 4, 1024, true, 0>, 1, ORDER_FORWARD, 1, BOX_SMEM);
    assert_true(out[0] == 416 && out[1] == 0 && out[2] == 0); /* column 76, and line 11 */
    run(copy_box<8, 1, 1024, false, 0>, 1, ORDER_FORWARD, 1, BOX_SMEM);
    assert_true(out[0] == 0xffff);
}

TEST(misused_maps_and_boxes_end_the_test)
{
    make_map(CPU_TENSOR_MAP);
    assert_int_equal(status_of(copy_box<8, 1, 1024, true, 0>, 1, BOX_SMEM), 0);
    assert_int_equal(status_of(copy_box<8, 1, 1040, true, 0>, 1, BOX_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(copy_box<8, 1, 1024, true, 32>, 1, BOX_SMEM), BROKEN_KERNEL);
    make_map(0);
    assert_int_equal(status_of(copy_box<8, 1, 1024, true, 0>, 1, BOX_SMEM), BROKEN_KERNEL);
}

enum { FENCED = 1, MET = 2, KEPT = 4, WAITED = 8, ENDED = 16, ALL_STORED = 31 };

/* Fills 8 lines of 32 elements: lane t of row r has 100 r + 10 i + t for matrix i, twice. */
template <int DONE, int X, int Y> static void store_box(const struct gemm_args args)
{
    float *const box = swizzle_aligned(gt_shared_memory());
    const int lane = (int)threadIdx.x, r = lane % 8;
    unsigned v[4];
    for (unsigned i = 0; i < 4; i++) v[i] = (100 * (lane / 4) + 10 * i + lane % 4) * 0x10001u;
    store_matrices(reinterpret_cast<float *>(place(box, r, lane / 8 * 8)), v);
    if (DONE & FENCED) bulk_copy_fence();
    if (DONE & MET) __syncwarp();
    if (lane == 0) {
        tensor_store(map, X, Y, 0, box);
        if (DONE & ENDED) tensor_store_end();
        args.c[0] = plane[Y][X];
    }
    if (!(DONE & KEPT)) *place(box, r, 0) = 7;
    if (DONE & WAITED && lane == 0) tensor_store_wait<0>();
}

TEST(a_stored_box_arrives_when_it_is_waited_for_without_lines_and_sixteen_bytes_beyond_the_extents)
{
    make_map(CPU_TENSOR_MAP);
    plane[3][40] = 1234;
    run(store_box<ALL_STORED, 40, 3>, 32, ORDER_FORWARD, 1, BOX_SMEM);
    assert_true(out[0] == 1234);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 40; j++) {
            const bool within = 3 + i < 10 && 40 + j < 72; /* 70 end within 16 bytes */
            const int stored = 100 * i + j / 8 * 10 + j % 8 / 2, before = 100 * (3 + i) + 40 + j;
            if (j < 32) assert_int_equal(plane[3 + i][40 + j], within ? stored : before);
            else if (!within) assert_int_equal(plane[3 + i][40 + j], before);
        }
}

TEST(boxes_that_are_stored_too_early_or_not_to_the_end_end_the_test)
{
    make_map(CPU_TENSOR_MAP);
    assert_int_equal(status_of(store_box<ALL_STORED, 0, 0>, 32, BOX_SMEM), 0);
    assert_int_equal(status_of(store_box<ALL_STORED & ~FENCED, 0, 0>, 32, BOX_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(store_box<ALL_STORED & ~MET, 0, 0>, 32, BOX_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(store_box<ALL_STORED & ~KEPT, 0, 0>, 32, BOX_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(store_box<ALL_STORED & ~WAITED, 0, 0>, 32, BOX_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(store_box<ALL_STORED & ~ENDED, 0, 0>, 32, BOX_SMEM), BROKEN_KERNEL);
}

/* ---- barriers of some threads ---- */

template <int COUNT> static void in_groups(const struct gemm_args args)
{
    const int group = threadIdx.x / 64;
    gt_shared_memory()[threadIdx.x] = args.a[threadIdx.x];
    group_sync(1 + group, COUNT);
    args.c[threadIdx.x] = gt_shared_memory()[group * 64 + (threadIdx.x + 1) % 64];
}

TEST(threads_of_a_group_meet_at_their_barrier)
{
    for (int order = 0; order < ORDER_COUNT; order++) {
        run(in_groups<64>, 128, (block_order)order, 1, 512);
        for (int i = 0; i < 128; i++) assert_true(out[i] == (float)(i / 64 * 64 + (i + 1) % 64));
    }
    assert_int_equal(status_of(in_groups<96>, 128, 512), BROKEN_KERNEL);
    assert_int_equal(status_of(in_groups<40>, 128, 512), BROKEN_KERNEL);
}

/* ---- products ---- */

enum step { BEGIN = 1, WAIT = 2, COMMIT = 4, CHANGE = 8, ALL = 7 };

/* Of an identity of 16 in each 16 rows with a matrix whose element of column c and k is c + 8 k. */
template <int STEPS> static void multiply(const struct gemm_args args)
{
    float *const left = swizzle_aligned(gt_shared_memory()), *const right = left + 64 * 32;
    const int thread = threadIdx.x;
    for (int i = thread; i < 64 * 16; i += 128)
        *place(left, i / 16, i % 16) = gt_element_bits(1, i / 16 % 16 == i % 16 ? 1.0f : 0.0f);
    for (int i = thread; i < 8 * 16; i += 128)
        *place(right, i / 16, i % 16) = gt_element_bits(1, (float)(i / 16 + 8 * (i % 16)));
    __syncthreads();
    float sum[1][4] = {{1, 1, 1, 1}};
    if (STEPS & BEGIN) wgmma_begin();
    wgmma<true, true, true, 8, 0>(sum, matrix_at(left), matrix_at(right));
    if (STEPS & COMMIT) wgmma_end();
    if (STEPS & CHANGE) {
        __syncthreads();
        if (thread == 0) *place(right, 0, 0) = gt_element_bits(1, 5);
        __syncthreads();
    }
    if (STEPS & WAIT) wgmma_wait<0>(sum);
    args.c[thread] = sum[0][0];
    args.c[128 + thread] = sum[0][3];
}

enum { PRODUCT_SMEM = 1024 + 64 * 128 + 1024 + 8 };

TEST(products_are_those_of_the_matrices_when_they_are_waited_for)
{
    run(multiply<ALL>, 128, ORDER_RANDOM, 1, PRODUCT_SMEM);
    for (int i = 0; i < 128; i++) { /* rows g and g + 8, columns 2 t and 2 t + 1 */
        const int g = i % 32 / 4, t = i % 4;
        assert_true(out[i] == (float)(1 + 2 * t + 8 * g));
        assert_true(out[128 + i] == (float)(1 + 2 * t + 1 + 8 * (g + 8)));
    }
    run(multiply<ALL | CHANGE>, 128, ORDER_RANDOM, 1, PRODUCT_SMEM);
    assert_true(out[0] == 6 && out[1] == 3); /* matrices are read as late as allowed */
}

TEST(products_that_are_not_waited_for_or_not_begun_end_the_test)
{
    assert_int_equal(status_of(multiply<ALL>, 128, PRODUCT_SMEM), 0);
    assert_int_equal(status_of(multiply<ALL & ~WAIT>, 128, PRODUCT_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(multiply<ALL & ~COMMIT>, 128, PRODUCT_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(multiply<ALL & ~BEGIN>, 128, PRODUCT_SMEM), BROKEN_KERNEL);
}

/* ---- TF32 ---- */

static float floats[8][32], multiplier; /* 8 lines along k */

/* The map rounds, if ROUND. The left operand is an identity of 8 in each 8 rows, as lines in shared memory or
 * in REGISTERS, of which one is used again too EARLY. */
template <bool ROUND, bool REGISTERS, bool EARLY = false>
static void multiply_tf32(const struct gemm_args args)
{
    float *const left = swizzle_aligned(gt_shared_memory()), *const right = left + 64 * 32;
    struct mbarrier *const b = reinterpret_cast<struct mbarrier *>(right + 8 * 32);
    const int thread = threadIdx.x, g = thread % 32 / 4, t = thread % 4;
    if (thread == 0) {
        struct cpu_tensor_map m = {reinterpret_cast<const char *>(floats),
                                   {32, 8, 1},
                                   {4, 128, 1024},
                                   {32, 8, 1},
                                   128,
                                   4,
                                   CPU_TENSOR_MAP,
                                   ROUND};
        memcpy(&map, &m, sizeof m);
        mbarrier_init(b, 1);
        mbarrier_arrive_expect(b, 1024, true);
        tensor_copy(right, map, 0, 0, 0, b);
        mbarrier_wait(b, 0);
    }
    for (int i = thread; i < 64 * 8; i += 128)
        left[i / 8 * 32 + (i % 8 / 4 ^ i / 8 % 8) * 4 + i % 4] = i / 8 % 8 == i % 8 ? multiplier : 0.0f;
    __syncthreads();
    float sum[1][4] = {{1, 1, 1, 1}};
    float x[4] = {g == t ? multiplier : 0, g == t ? multiplier : 0, g == t + 4 ? multiplier : 0,
                  g == t + 4 ? multiplier : 0};
    wgmma_begin();
    if (REGISTERS) wgmma_tf32<8, 0>(sum, x, matrix_at(right));
    else wgmma_tf32<8, 0>(sum, matrix_at(left), matrix_at(right));
    wgmma_end();
    if (EARLY) x[3] = 4;
    wgmma_done();
    args.c[thread] = sum[0][0];
    args.c[128 + thread] = sum[0][3];
}

TEST(products_of_tf32_want_operands_that_a_map_or_somebody_else_has_rounded)
{
    for (int column = 0; column < 8; column++)
        for (int k = 0; k < 32; k++) floats[column][k] = 1 + (float)(column + 8 * k) + 0x1p-15f;
    multiplier = 2;
    for (int way = 0; way < 2; way++) {
        run(way ? multiply_tf32<true, true> : multiply_tf32<true, false>, 128, ORDER_RANDOM, 1, PRODUCT_SMEM);
        for (int i = 0; i < 128; i++) { /* rows g and g + 8 are those of the identity */
            const int g = i % 32 / 4, t = i % 4;
            assert_true(out[i] == 1 + 2 * (float)(1 + 2 * t + 8 * g));
            assert_true(out[128 + i] == 1 + 2 * (float)(1 + 2 * t + 1 + 8 * g));
        }
    }
    assert_int_equal(status_of(multiply_tf32<true, true>, 128, PRODUCT_SMEM), 0);
    assert_int_equal(status_of(multiply_tf32<false, true>, 128, PRODUCT_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(multiply_tf32<true, true, true>, 128, PRODUCT_SMEM), BROKEN_KERNEL);
    multiplier = 1 + 0x1p-15f;
    assert_int_equal(status_of(multiply_tf32<true, true>, 128, PRODUCT_SMEM), BROKEN_KERNEL);
    assert_int_equal(status_of(multiply_tf32<true, false>, 128, PRODUCT_SMEM), BROKEN_KERNEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_has_its_elements_in_the_swizzle_and_zeros_beyond_the_extents),
        cmocka_unit_test(misused_maps_and_boxes_end_the_test),
        cmocka_unit_test(
            a_stored_box_arrives_when_it_is_waited_for_without_lines_and_sixteen_bytes_beyond_the_extents),
        cmocka_unit_test(boxes_that_are_stored_too_early_or_not_to_the_end_end_the_test),
        cmocka_unit_test(threads_of_a_group_meet_at_their_barrier),
        cmocka_unit_test(products_are_those_of_the_matrices_when_they_are_waited_for),
        cmocka_unit_test(products_that_are_not_waited_for_or_not_begun_end_the_test),
        cmocka_unit_test(products_of_tf32_want_operands_that_a_map_or_somebody_else_has_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
