/* Invariant problems with kernels executed on the CPU: each row of C has the same bits for every M, with
 * every configuration that is legal, of both families; and configurations that are not legal have others.
 */
#include "cpu_elements.h"
#include "cpu_kernel.h"
#include "unit.h"

#include <template.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec_problems.h"

enum { N = 40, K = 2124, LD = 2128, ROWS_MAX = 70 }; /* two parts of k, of 1088 and 1036 */

static const int rows[] = {1, 8, 70};
static uint16_t a[ROWS_MAX * LD], b[N * LD];
static float want[ROWS_MAX * N], got[ROWS_MAX * N];

/* Of magnitudes that make every order of additions another sum. */
static int fill(void **state)
{
    (void)state;
    srand(3);
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        a[i] = gt_element_bits(1, ldexpf((float)(rand() % 512 - 256), rand() % 12));
    for (size_t i = 0; i < sizeof b / sizeof *b; i++)
        b[i] = gt_element_bits(1, ldexpf((float)(rand() % 512 - 256), rand() % 12));
    return 0;
}

static struct problem problem_of(int m, bool invariant)
{
    struct problem p;
    char text[PROBLEM_TEXT_MAX];
    snprintf(text, sizeof text, "bf16gemm:nt:%dx%dx%d:c=f32:lda=%d:ldb=%d%s", m, N, K, LD, LD,
             invariant ? ":invariant" : "");
    assert_ok(problem_parse(text, &p));
    return p;
}

/* In `c`: the first m rows. */
static void run(const char *text, int m, enum block_order order, bool invariant, float *c)
{
    struct config config;
    struct cpu_kernel kernel;
    const struct problem p = problem_of(m, invariant);
    assert_ok(config_parse(text, &config));
    const char *why = config.template->check(&config, &p, exec_gpu());
    if (why) fail_msg("%s: %s", text, why);
    assert_ok(cpu_kernel_build(&config, &p, NULL, 0, &kernel));
    for (int i = 0; i < m * N; i++) c[i] = NAN;
    cpu_kernel_run(&kernel, &p, &(struct run_mode){.order = order, .seed = 1},
                   &(struct cpu_operands){.a = a, .b = b, .c = c});
    cpu_kernel_close(&kernel);
}

#define MMA16(tile, more) "mma16 " tile " PRELOAD=1 VA=1 VB=1 VC=1 MIN_BLOCKS=1 GROUP=1 " more
#define WGMMA(tile, more) "wgmma " tile " VC=1 MIN_BLOCKS=1 WALK=0 GROUP=1 SMS=1 " more
#define WIDE              "BM=32 BN=32 BK=64 WM=16 WN=16 SWAP=0 STAGES=2"
#define FIRST             MMA16(WIDE, "WARPS_K=1 PACK=0 REDUCE=1 SPLIT_K=2")

/* The first configuration, with the most rows, says what is right. */
static void assert_same_bits(const char *const *configs, size_t count)
{
    run(configs[0], ROWS_MAX, 0, true, want);
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            run(configs[i], rows[r], (enum block_order)((i + r) % ORDER_COUNT), true, got);
            for (int e = 0; e < rows[r] * N; e++)
                if (memcmp(&got[e], &want[e], sizeof *got) != 0)
                    fail_msg("%s, M = %d: C[%d, %d] is %a, not %a", configs[i], rows[r], e / N, e % N,
                             (double)got[e], (double)want[e]);
        }
}

TEST(every_legal_configuration_has_the_same_bits_in_each_row_for_every_m)
{
    static const char *const mma16[] = {
        FIRST,
        MMA16("BM=8 BN=32 BK=32 WM=8 WN=32 SWAP=1 STAGES=3", "WARPS_K=1 PACK=0 REDUCE=2 SPLIT_K=2"),
        MMA16("BM=64 BN=16 BK=64 WM=32 WN=8 SWAP=0 STAGES=3", "WARPS_K=1 PACK=3 REDUCE=1 SPLIT_K=2"),
    };
    static const char *const wgmma[] = {
        WGMMA("BM=64 BN=24 BK=64 SWAP=0 CONSUMERS=1 STAGES=2", "PACK=3 REDUCE=1 SPLIT_K=2"),
        WGMMA("BM=64 BN=48 BK=64 SWAP=0 CONSUMERS=1 STAGES=3", "PACK=0 REDUCE=2 SPLIT_K=2"),
        WGMMA("BM=8 BN=128 BK=64 SWAP=1 CONSUMERS=2 STAGES=3", "PACK=0 REDUCE=2 SPLIT_K=2"),
    };
    assert_same_bits(mma16, sizeof mma16 / sizeof *mma16);
    assert_same_bits(wgmma, sizeof wgmma / sizeof *wgmma);
}

/* Else the test above could not fail. */
TEST(configurations_that_an_invariant_problem_refuses_have_other_bits)
{
    static const char *const configs[] = {
        MMA16(WIDE, "WARPS_K=2 PACK=0 REDUCE=1 SPLIT_K=2"),
        MMA16(WIDE, "WARPS_K=1 PACK=0 REDUCE=1 SPLIT_K=1"),
        MMA16(WIDE, "WARPS_K=1 PACK=0 REDUCE=1 SPLIT_K=3"),
        MMA16("BM=32 BN=32 BK=128 WM=16 WN=16 SWAP=0 STAGES=2", "WARPS_K=1 PACK=0 REDUCE=1 SPLIT_K=2"),
    };
    run(FIRST, ROWS_MAX, 0, true, want);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const struct problem p = problem_of(8, true);
        struct config config;
        int others = 0;
        assert_ok(config_parse(configs[i], &config));
        assert_non_null(config.template->check(&config, &p, exec_gpu()));
        run(configs[i], 8, 0, false, got);
        for (int e = 0; e < 8 * N; e++) others += memcmp(&got[e], &want[e], sizeof *got) != 0;
        if (others == 0) fail_msg("%s has the same bits", configs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_legal_configuration_has_the_same_bits_in_each_row_for_every_m),
        cmocka_unit_test(configurations_that_an_invariant_problem_refuses_have_other_bits),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
