/* The model of the skinny family against what an H200 measured (2026-11-20; launches back to back, operands
 * rotated beyond L2). */
#include "model_checks.h"

static const struct point {
    const char *shape;
    double us;
    const char *rest;
    int rows, tx;
} points[] = {
    {"sgemm:nn:8x6144x4096", 30.54,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=4 SPLIT_K=11", 8, 4},
    {"sgemm:nn:8x6144x4096", 32.41,
     "LANES_X=32 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=11", 8, 4},
    {"sgemm:nn:8x6144x4096", 30.62,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=1 STEPS=8 LOADER=1 MIN_BLOCKS=6 SPLIT_K=16", 8, 4},
    {"sgemm:nn:8x6144x4096", 32.64,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=4 STEPS=8 LOADER=1 MIN_BLOCKS=3 SPLIT_K=8", 8, 4},
    {"sgemm:nn:8x6144x4096", 29.93,
     "LANES_X=32 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=2 SPLIT_K=5", 8, 4},
    {"sgemm:nn:8x6144x4096", 33.58,
     "LANES_X=8 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=2 LOADER=1 MIN_BLOCKS=2 SPLIT_K=1", 8, 4},
    {"sgemm:nn:8x6144x4096", 30.27,
     "LANES_X=16 WARPS_X=1 WARPS_K=16 DEPTH=2 STEPS=2 LOADER=1 MIN_BLOCKS=1 SPLIT_K=1", 8, 4},
    {"sgemm:tn:8x6144x4096", 31.76,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=4 SPLIT_K=11", 8, 4},
    {"sgemm:tn:8x6144x4096", 33.2,
     "LANES_X=32 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=11", 8, 4},
    {"sgemm:tn:8x6144x4096", 30.53,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=0 MIN_BLOCKS=4 SPLIT_K=11", 8, 4},
    {"sgemm:nn:4x5124x2560", 18.81,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=6 SPLIT_K=12", 4, 4},
    {"sgemm:nn:4x5124x2560", 19.22,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=1 STEPS=8 LOADER=1 MIN_BLOCKS=8 SPLIT_K=19", 4, 4},
    {"sgemm:nn:4x5124x2560", 19.99,
     "LANES_X=16 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=6 SPLIT_K=6", 4, 4},
    {"sgemm:nn:4x5124x2560", 18.03,
     "LANES_X=32 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=3 SPLIT_K=6", 4, 4},
    {"sgemm:nn:4x5124x2560", 21.2,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=4 SPLIT_K=24", 4, 8},
    {"sgemm:nn:4x5124x2560", 22.67,
     "LANES_X=16 WARPS_X=1 WARPS_K=8 DEPTH=4 STEPS=4 LOADER=1 MIN_BLOCKS=1 SPLIT_K=1", 4, 4},
    {"sgemm:nn:4x5124x2560", 27.92,
     "LANES_X=8 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=2 LOADER=1 MIN_BLOCKS=2 SPLIT_K=1", 4, 4},
    {"sgemm:nn:16x1760x1760", 10.76,
     "LANES_X=8 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=2 LOADER=1 MIN_BLOCKS=4 SPLIT_K=9", 16, 4},
    {"sgemm:nn:16x1760x1760", 11.35,
     "LANES_X=8 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=2 LOADER=1 MIN_BLOCKS=2 SPLIT_K=4", 16, 4},
    {"sgemm:nn:16x1760x1760", 12.0,
     "LANES_X=16 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=4 SPLIT_K=18", 16, 4},
    {"sgemm:nn:16x1760x1760", 12.39,
     "LANES_X=8 WARPS_X=1 WARPS_K=16 DEPTH=1 STEPS=2 LOADER=1 MIN_BLOCKS=1 SPLIT_K=2", 16, 4},
    {"sgemm:nn:16x1760x1760", 10.9,
     "LANES_X=16 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=2 LOADER=1 MIN_BLOCKS=2 SPLIT_K=4", 16, 2},
    {"sgemm:nn:16x1760x1760", 10.91,
     "LANES_X=16 WARPS_X=1 WARPS_K=4 DEPTH=4 STEPS=4 LOADER=1 MIN_BLOCKS=4 SPLIT_K=9", 16, 2},
    {"sgemm:nn:16x1760x1760", 12.53,
     "LANES_X=4 WARPS_X=1 WARPS_K=16 DEPTH=1 STEPS=2 LOADER=1 MIN_BLOCKS=1 SPLIT_K=1", 16, 4},
    {"sgemm:nn:16x4096x7168", 41.28,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=4 SPLIT_K=16", 16, 4},
    {"sgemm:nn:16x4096x7168", 40.11,
     "LANES_X=32 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=8", 16, 4},
    {"sgemm:nn:16x4096x7168", 47.67,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=4 SPLIT_K=33", 16, 4},
    {"sgemm:nn:16x4096x7168", 39.65,
     "LANES_X=16 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=4 SPLIT_K=8", 16, 4},
    {"sgemm:nn:16x4096x7168", 37.02,
     "LANES_X=16 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=2 LOADER=1 MIN_BLOCKS=2 SPLIT_K=4", 16, 4},
    {"sgemm:nn:16x4096x7168", 41.01,
     "LANES_X=8 WARPS_X=1 WARPS_K=8 DEPTH=4 STEPS=4 LOADER=1 MIN_BLOCKS=1 SPLIT_K=1", 16, 4},
    {"sgemm:nn:16x4096x7168", 42.47,
     "LANES_X=8 WARPS_X=1 WARPS_K=4 DEPTH=4 STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=2", 16, 4},
    {"sgemm:nn:1x4096x4096", 20.54,
     "LANES_X=32 WARPS_X=1 WARPS_K=4 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=8 SPLIT_K=33", 1, 4},
    {"sgemm:nn:1x4096x4096", 20.07,
     "LANES_X=32 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=8 LOADER=1 MIN_BLOCKS=4 SPLIT_K=16", 1, 4},
    {"sgemm:nn:1x4096x4096", 19.79,
     "LANES_X=32 WARPS_X=1 WARPS_K=16 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=8", 1, 4},
    {"sgemm:nn:1x4096x4096", 19.92,
     "LANES_X=16 WARPS_X=1 WARPS_K=8 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=4 SPLIT_K=8", 1, 4},
    {"sgemm:nn:1x4096x4096", 19.39,
     "LANES_X=8 WARPS_X=1 WARPS_K=16 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=1", 1, 4},
    {"sgemm:nn:1x4096x4096", 19.91,
     "LANES_X=16 WARPS_X=1 WARPS_K=16 DEPTH=2 STEPS=4 LOADER=1 MIN_BLOCKS=2 SPLIT_K=4", 1, 4},
};
#define POINTS (sizeof points / sizeof *points)

static double predicted_point_us(const struct point *point)
{
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, "skinny SIDE=0 ROWS=%d TX=%d VX=%d VS=4 VC=4 %s", point->rows, point->tx,
             point->tx < 4 ? point->tx : 4, point->rest);
    return predicted_us(text, point->shape);
}

TEST(times_are_predicted_within_a_quarter)
{
    for (size_t i = 0; i < POINTS; i++) {
        const double ratio = predicted_point_us(&points[i]) / points[i].us;
        if (ratio < 0.75 || ratio > 1.25)
            fail_msg("%s %s: predicted %.2f of measured", points[i].shape, points[i].rest, ratio);
    }
}

TEST(the_favourite_of_the_measured_is_nearly_the_fastest_of_them)
{
    for (size_t i = 0; i < POINTS;) {
        size_t favourite = i, fastest = i, j = i;
        for (; j < POINTS && strcmp(points[j].shape, points[i].shape) == 0; j++) {
            if (predicted_point_us(&points[j]) < predicted_point_us(&points[favourite])) favourite = j;
            if (points[j].us < points[fastest].us) fastest = j;
        }
        const double loss = points[favourite].us / points[fastest].us;
        if (loss > 1.2) fail_msg("%s: %s is %.2f", points[i].shape, points[favourite].rest, loss);
        i = j;
    }
}

#define BASE "VS=4 VC=4 LANES_X=%d WARPS_X=%d WARPS_K=%d DEPTH=%d STEPS=%d LOADER=1 MIN_BLOCKS=1 SPLIT_K=%d"

static double few_rows(const char *shape, int lanes_x, int warps_x, int warps_k, int depth, int steps,
                       int splits)
{
    char text[CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, "skinny SIDE=0 ROWS=8 TX=4 VX=4 " BASE, lanes_x, warps_x, warps_k, depth,
             steps, splits);
    return predicted_us(text, shape);
}

TEST(narrow_tiles_copy_the_small_operand_too_often)
{
    assert_true(few_rows("sgemm:nt:8x6144x4096", 1, 4, 1, 2, 2, 4) >
                1.05 * few_rows("sgemm:nt:8x6144x4096", 1, 12, 1, 2, 2, 1));
}

/* Predicted time of a configuration whose text has one value missing. */
static double with_value_us(const char *text, int value, const char *shape)
{
    char whole[CONFIG_TEXT_MAX];
    const char *gap = strstr(text, "=?");
    assert_non_null(gap);
    snprintf(whole, sizeof whole, "%.*s=%d%s", (int)(gap - text), text, value, gap + 2);
    return predicted_us(whole, shape);
}

/* Measured: 7.2 and 8.7 us. */
TEST(short_chunks_of_the_small_operand_start_sooner)
{
    static const char text[] =
        "skinny SIDE=0 ROWS=16 TX=4 VX=4 VS=4 VC=4 LANES_X=16 WARPS_X=1 WARPS_K=4 DEPTH=4 STEPS=? "
        "LOADER=1 MIN_BLOCKS=2 REDUCE=8 SPLIT_K=8";
    assert_true(with_value_us(text, 8, "16x1760x1760") > 1.02 * with_value_us(text, 4, "16x1760x1760"));
}

/* Measured: 11.3 and 15.6 us. */
TEST(more_clusters_than_the_gpu_holds_take_two_waves)
{
    static const char text[] =
        "skinny SIDE=1 ROWS=36 TX=4 VX=4 VS=1 VC=1 LANES_X=1 WARPS_X=8 WARPS_K=1 DEPTH=3 STEPS=3 "
        "LOADER=2 MIN_BLOCKS=1 REDUCE=? SPLIT_K=6";
    const int last_block = 1, cluster = 6;
    assert_true(with_value_us(text, cluster, "700x35x2048") >
                1.2 * with_value_us(text, last_block, "700x35x2048"));
}

TEST(lanes_that_read_half_sectors_are_slow)
{
    assert_true(few_rows("8x6144x4096", 1, 12, 1, 2, 4, 1) >
                1.2 * few_rows("8x6144x4096", 32, 1, 8, 2, 4, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_predicted_within_a_quarter),
        cmocka_unit_test(the_favourite_of_the_measured_is_nearly_the_fastest_of_them),
        cmocka_unit_test(narrow_tiles_copy_the_small_operand_too_often),
        cmocka_unit_test(short_chunks_of_the_small_operand_start_sooner),
        cmocka_unit_test(more_clusters_than_the_gpu_holds_take_two_waves),
        cmocka_unit_test(lanes_that_read_half_sectors_are_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
