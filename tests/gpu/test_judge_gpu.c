/* Judge, timer, trial and verification on a real GPU. Skipped (77) without one. */
#include "canary.h"
#include "clock.h"
#include "compile.h"
#include "contenders.h"
#include "gpu_tests.h"
#include "roofline.h"
#include "screen.h"
#include "template.h"
#include "verify.h"

#include <math.h>

static struct trial_setup setup;

#define SIMT                                                                                                 \
    "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 PACK=0 VA=1 VB=1 VC=1 UNROLL=16 "        \
    "STORE_AT=8 MIN_BLOCKS=1 REDUCE=0 GROUP=1 SPLIT_K="

/* A configuration, compiled for the setup's problem. The texts live until the next call. */
static struct candidate compile(const char *text)
{
    static struct compiled built;
    struct candidate candidate = {0};
    assert_ok(config_parse(text, &candidate.config));
    const struct kernel_key kernel = kernel_key_of(&candidate.config, &setup.problem, device.gpu.arch);
    assert_ok(compile_kernel(&kernel, folder, &built));
    if (!built.built) fail_msg("%s: %s", text, built.log);
    candidate.cubin = built.path;
    candidate.checksum = built.checksum;
    candidate.facts = built.facts;
    return candidate;
}

static void prepare(const char *text, bool cold)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    double start = now_s();
    assert_ok(trial_setup_prepare(&setup, &p, cold, 11));
    print_message("%s: prepared in %.3f s, %d sets\n", text, now_s() - start, setup.work.layout.sets);
}

/* ---- a right kernel followed by a fault ---- */

struct meddler {
    struct kernel inner;
    int64_t word; /* offset of the overwritten word from C's start */
    bool active;
    int every; /* only every so many calls */
    int calls;
};

static enum status meddle(void *self, const struct operands *operands, double alpha, double beta)
{
    struct meddler *m = self;
    enum status st = m->inner.launch(m->inner.self, operands, alpha, beta);
    if (st || !m->active || ++m->calls % m->every) return st;
    return device_check(cuda.MemsetD32Async(operands->at[OPERAND_C] + (CUdeviceptr)(4 * m->word), 0x42f70000u,
                                            1, device.stream),
                        "meddling"); /* 123.5 */
}

static struct meddler open_meddler(void)
{
    struct meddler m = {.every = 1};
    struct candidate candidate = compile(SIMT "1");
    assert_ok(kernel_load(&device, &candidate.config, &setup.problem, candidate.cubin, candidate.checksum,
                          &m.inner));
    return m;
}

static struct judgement judge(struct meddler *m)
{
    struct judgement j;
    const struct kernel kernel = {.self = m, .launch = meddle};
    assert_ok(oracle_judge(&setup.oracle, &kernel, &j));
    return j;
}

/* The kernel is right for all problems "OP:REST". */
static void assert_right(const char *const *rests, size_t count)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    for (size_t o = 0; o < 4; o++)
        for (size_t r = 0; r < count; r++) {
            char text[160];
            snprintf(text, sizeof text, "%s:%s", ops[o], rests[r]);
            prepare(text, false);
            struct meddler m = open_meddler();
            struct judgement j = judge(&m);
            kernel_close(&m.inner);
            if (!j.right || !j.exact || !(j.worst <= 1)) fail_msg("%s: %s", text, j.detail);
        }
}

/* ---- tests ---- */

TEST(the_canary_sings)
{
    double start = now_s();
    assert_ok(canary_run(&setup));
    print_message("canary: %.3f s\n", now_s() - start);
}

TEST(right_kernels_are_right_for_every_op_and_ragged_shapes)
{
    static const char *const rests[] = {"333x777x555",
                                        "1x1x1",
                                        "129x64x4097:alpha=-2:beta=3",
                                        "17x5x64:beta=0.5",
                                        "65x66x67:batch=3:lda=80:ldb=90:ldc=100",
                                        "7x9x0:beta=1",
                                        "0x4x4"};
    assert_right(rests, sizeof rests / sizeof *rests);
}

TEST(kernels_with_an_epilogue_are_right_for_every_op_and_ragged_shapes)
{
    static const char *const rests[] = {
        "333x777x555:epilogue=bias",
        "129x64x4097:alpha=-2:beta=3:epilogue=rowbias+relu+out",
        "17x5x64:beta=0.5:epilogue=gelu",
        "65x66x67:batch=3:lda=80:ldb=90:ldc=100:epilogue=bias+gelu+out:stride_bias=67",
        "65x66x67:batch=3:beta=-1:epilogue=rowbias+gelu",
        "7x9x0:beta=1:epilogue=bias+relu",
        "300x200x100:epilogue=out",
        "0x4x4:epilogue=bias"};
    assert_right(rests, sizeof rests / sizeof *rests);
}

/* Not packed, packed with vectors, with parts that a second kernel, the last block or a cluster adds; and
 * with few rows. */
TEST(kernels_that_take_pointers_are_right_for_every_op_and_ragged_shapes)
{
    static const char *const rests[] = {"333x77x55:batch=5:pointers",
                                        "65x66x670:batch=3:lda=800:ldb=900:ldc=100:pointers",
                                        "17x5x64:batch=300:pointers:beta=0.5",
                                        "1x1x1:batch=2:pointers",
                                        "7x9x0:batch=3:pointers:beta=1",
                                        "8x300x500:batch=6:pointers:beta=2",
                                        "0x4x4:batch=3:pointers"};
#define TILE "simt BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 LOADER=0 "
#define MORE " VC=1 UNROLL=16 STORE_AT=8 MIN_BLOCKS=1 "
    static const char *const configs[] = {
        TILE "PACK=0 VA=1 VB=1" MORE "REDUCE=0 GROUP=1 SPLIT_K=1",
        TILE "PACK=3 VA=4 VB=4" MORE "REDUCE=0 GROUP=1 SPLIT_K=1",
        TILE "PACK=1 VA=4 VB=1" MORE "REDUCE=0 GROUP=1 SPLIT_K=3",
        TILE "PACK=2 VA=1 VB=4" MORE "REDUCE=1 GROUP=1 SPLIT_K=3",
        TILE "PACK=0 VA=1 VB=1" MORE "REDUCE=2 GROUP=1 SPLIT_K=2",
        "skinny SIDE=0 ROWS=8 TX=4 VX=1 VS=1 VC=1 LANES_X=2 WARPS_X=4 WARPS_K=1 DEPTH=2 STEPS=2 LOADER=0 "
        "MIN_BLOCKS=1 REDUCE=1 SPLIT_K=2"};
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    for (size_t c = 0; c < sizeof configs / sizeof *configs; c++)
        for (size_t o = 0; o < 4; o++)
            for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
                char text[160];
                snprintf(text, sizeof text, "%s:%s", ops[o], rests[r]);
                prepare(text, false);
                struct meddler m = {.every = 1};
                struct candidate candidate = {0};
                assert_ok(config_parse(configs[c], &candidate.config));
                if (candidate.config.template->check(&candidate.config, &setup.problem, &device.gpu))
                    continue;
                candidate = compile(configs[c]);
                assert_ok(kernel_load(&device, &candidate.config, &setup.problem, candidate.cubin,
                                      candidate.checksum, &m.inner));
                struct judgement j = judge(&m);
                kernel_close(&m.inner);
                if (!j.right || !j.exact || !(j.worst <= 1))
                    fail_msg("%s: %s: %s", configs[c], text, j.detail);
            }
}

/* 4224 floats per k: 64 MiB of packed operands hold 3971 k. */
TEST(a_long_k_in_slabs_is_right_and_adds_to_c_once)
{
    static const char *const texts[] = {"nn:2099x2101x4099", "tt:2101x2099x4001:alpha=-2:beta=3",
                                        "nt:2099x2101x4099:lda=4201:beta=1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        prepare(texts[i], false);
        struct meddler m = {.every = 1};
        struct launch_plan plan;
        struct candidate candidate =
            compile("simt BM=128 BN=128 BK=16 WM=32 WN=64 TM=8 TN=8 STAGES=3 LOADER=1 PACK=3 VA=4 VB=4 VC=1 "
                    "UNROLL=16 STORE_AT=8 MIN_BLOCKS=2 REDUCE=0 GROUP=8 SPLIT_K=1");
        candidate.config.template->plan(&candidate.config, &setup.problem, &plan);
        assert_true(plan.k_slab > 0);
        assert_ok(kernel_load(&device, &candidate.config, &setup.problem, candidate.cubin, candidate.checksum,
                              &m.inner));
        struct judgement j = judge(&m);
        kernel_close(&m.inner);
        if (!j.right || !j.exact || !(j.worst <= 1)) fail_msg("%s: %s", texts[i], j.detail);
    }
}

TEST(cublas_is_judged_right)
{
    static const char *const texts[] = {"1024x1000x777:beta=1", "65x43x31:batch=500:pointers",
                                        "nt:128x128x64:batch=64:pointers:beta=1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct kernel rival;
        char detail[RIVAL_DETAIL_MAX];
        struct judgement j;
        prepare(texts[i], true);
        const struct rival_row *row = rival_anchor(&setup.problem);
        if (row->open(&setup, row, &rival, detail)) {
            print_message("%s\n", status_text());
            skip();
        }
        assert_ok(oracle_judge(&setup.oracle, &rival, &j));
        print_message("%s: worst error %.3g of the bound\n", row->name, j.worst);
        if (!j.right) fail_msg("%s: %s", texts[i], j.detail);
        kernel_close(&rival);
    }
}

/* Both the anchor and the best of cublasLt. */
TEST(cublaslt_is_judged_right_with_an_epilogue)
{
    static const char *const texts[] = {"1024x1000x777:beta=1:epilogue=bias",
                                        "1024x1000x776:epilogue=bias+relu",
                                        "512x512x512:epilogue=relu",
                                        "512x516x512:beta=2:epilogue=out",
                                        "500x512x300:epilogue=bias+gelu",
                                        "64x64x1:epilogue=gelu+out",
                                        "96x64x128:batch=3:epilogue=bias:stride_bias=64",
                                        "96x64x128:batch=3:beta=1:epilogue=bias+relu+out"};
    static const char *const roles[] = {"cublas", "lt"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int r = 0; r < 2; r++) {
            struct kernel rival;
            char detail[RIVAL_DETAIL_MAX] = "";
            struct judgement j;
            prepare(texts[i], true);
            const struct rival_row *row = rival_for(roles[r], &setup.problem);
            const enum status st = row->open(&setup, row, &rival, detail);
            if (st) print_message("%s, %s: %s\n", texts[i], row->name, status_text());
            if (st == E_ABSENT && i == 0) skip();
            assert_ok(st);
            assert_ok(oracle_judge(&setup.oracle, &rival, &j));
            print_message("%s, %s, %s: worst error %.3g of the bound%s%s\n", texts[i], row->name, detail,
                          j.worst, j.right ? "" : ", ", j.right ? "" : j.detail);
            if (!j.right) fail_msg("%s", j.detail);
            kernel_close(&rival);
        }
}

TEST(planted_faults_are_found_where_they_are)
{
    prepare("500x300x200:ldc=310", true);
    struct meddler m = open_meddler();
    const struct {
        int64_t word;
        const char *part;
    } faults[] = {{250 * 310 + 17, "1 of 150000 elements wrong, first C[250,17] = 123.5"},
                  {305, "in C's padding"},
                  {-1, "before C"},
                  {499 * 310 + 300, "behind C"}};
    m.active = true;
    for (size_t i = 0; i < 4; i++) {
        m.word = faults[i].word;
        struct judgement j = judge(&m);
        assert_false(j.right);
        if (!strstr(j.detail, faults[i].part)) fail_msg("'%s' lacks '%s'", j.detail, faults[i].part);
    }
    m.word = 0, m.every = 3, m.calls = 0; /* only the third call: the second one with random data */
    struct judgement j = judge(&m);
    assert_false(j.right);
    assert_non_null(strstr(j.detail, "different bits"));
    m.active = false;
    assert_true(judge(&m).right);
    kernel_close(&m.inner);
}

TEST(a_trial_is_measured_and_repeats_within_a_few_percent)
{
    prepare("1024x1024x1024", true);
    struct candidate candidate = compile(SIMT "2");
    double times[3];
    for (int i = 0; i < 3; i++) {
        struct outcome o;
        assert_ok(trial_run(&setup, &candidate, 0, 0, &o));
        if (o.verdict != VERDICT_MEASURED) fail_msg("%s: %s", verdict_name(o.verdict), o.detail);
        assert_true(o.exact && o.worst_error > 0 && o.worst_error <= 1 && o.cold && o.sample_count == 10);
        times[i] = o.time_us;
        print_message("%.2f us, cost %.1f ms, %d MHz, %.0f W\n", o.time_us, o.wall_ms, o.state.sm_clock_mhz,
                      o.state.power_w);
    }
    double flop = problem_flop(&setup.problem);
    assert_true(times[0] * 1e-6 >
                flop / (1.2e12 * gpu_rate(&device.gpu, "fp32"))); /* nothing exceeds the peak */
    assert_true(fabs(times[2] / times[1] - 1) < 0.1);
}

TEST(a_large_problem_costs_little_besides_its_calls)
{
    prepare("4096x4096x4096", true);
    struct candidate candidate = compile(SIMT "1");
    struct outcome o;
    assert_ok(trial_run(&setup, &candidate, 0, 0, &o));
    if (o.verdict != VERDICT_MEASURED) fail_msg("%s: %s", verdict_name(o.verdict), o.detail);
    double calls = 3 + 2 + o.sample_count; /* judge, estimate, blocks */
    print_message("%.0f us, cost %.1f ms, of which calls %.1f ms\n", o.time_us, o.wall_ms,
                  1e-3 * calls * o.time_us);
    assert_true(o.wall_ms < 1e-3 * calls * o.time_us + 100);
    assert_ok(trial_run(&setup, &candidate, o.time_us / 4, 0, &o));
    assert_int_equal(o.verdict, VERDICT_SLOW);
    assert_int_equal(o.sample_count, 1);
}

TEST(twice_the_work_takes_twice_the_time)
{
    double us[2];
    static const char *const texts[] = {"2048x2048x2048", "2048x2048x4096"};
    for (int i = 0; i < 2; i++) {
        prepare(texts[i], true);
        struct candidate candidate = compile(SIMT "1");
        struct outcome o;
        assert_ok(trial_run(&setup, &candidate, 0, 0, &o));
        us[i] = o.time_us;
    }
    assert_true(us[1] / us[0] > 1.8 && us[1] / us[0] < 2.2);
}

TEST(race_blocks_of_anchor_and_candidates_alternate)
{
    static struct contenders contenders;
    prepare("256x256x256", true);
    assert_ok(contenders_open(&setup, &contenders));
    struct candidate candidate = compile(SIMT "1");
    double first[TIMING_COUNT];
    struct block block;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < TIMING_COUNT; i++) {
            const enum call_timing timing = (enum call_timing)i;
            struct runner *runner;
            if (contenders.has_anchor)
                assert_ok(contenders_block(&contenders, &contenders.anchor, timing, 20, 20, &block));
            assert_ok(contenders_find(&contenders, &candidate, &runner));
            assert_non_null(runner->timed.graph); /* because the call is short */
            assert_ok(contenders_block(&contenders, runner, timing, 20, 20, &block));
            assert_true(block.calls > 10);
            if (round == 0) first[i] = block.time_us;
            print_message("%s: %.3f us over %lld calls\n", timing_name(timing), block.time_us,
                          (long long)block.calls);
            assert_true(fabs(block.time_us / first[i] - 1) < 0.2);
        }
    contenders_close(&contenders);
}

TEST(warming_up_settles)
{
    static struct contenders contenders;
    double medians[32], spent;
    int count;
    prepare("2048x2048x2048", true);
    assert_ok(contenders_open(&setup, &contenders));
    if (!contenders.has_anchor) skip();
    assert_ok(timed_warm_up(&contenders.anchor.timed, 4, medians, 32, &count, &spent));
    print_message("%d blocks in %.2f s, last %.2f us\n", count, spent, medians[count - 1]);
    assert_true(count >= SCREEN_STEADY && spent < 6);
    contenders_close(&contenders);
}

TEST(a_winner_is_verified)
{
    static const char *const texts[] = {"tn:512x512x512", "tn:512x512x512:epilogue=bias+gelu",
                                        "nt:512x512x512:epilogue=rowbias+relu+out"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        prepare(texts[i], true);
        struct candidate candidate = compile(SIMT "2");
        struct verification v;
        double start = now_s();
        assert_ok(verify_run(&setup, &candidate, 0, 0, &v));
        print_message("%s in %.2f s\n", v.detail, now_s() - start);
        if (v.verdict != VERDICT_MEASURED) fail_msg("%s", v.detail);
        assert_true(v.shapes > 50);
    }
}

TEST(the_roofline_is_near_what_the_clocks_promise)
{
    struct roofline roofline;
    assert_ok(roofline_measure(&setup.watch, folder, &roofline));
    print_message("%.1f TFLOPS, %.0f GB/s\n", roofline.fp32_tflops, roofline.gb_per_s);
    assert_true(roofline.fp32_tflops > 0.5 * gpu_rate(&device.gpu, "fp32"));
    assert_true(roofline.fp32_tflops < 1.2 * gpu_rate(&device.gpu, "fp32"));
    assert_true(roofline.gb_per_s > 0.3 * device.gpu.memory_gb_per_s);
    assert_true(roofline.gb_per_s < 1.1 * device.gpu.memory_gb_per_s);
}

/* Runs in a separate process: a candidate with wild pointers. */
static enum status go_wild(void *self, const struct operands *operands, double alpha, double beta)
{
    struct kernel *inner = self;
    struct operands wild = {.at = {1 << 20, 1 << 20, 1 << 20}};
    (void)operands;
    return inner->launch(inner->self, &wild, alpha, beta);
}

static int crash(void)
{
    struct judgement j;
    if (device_open(0, &device)) return 1;
    if (trial_setup_open(&device, folder, &setup)) return 2;
    prepare("64x64x64", false);
    struct meddler m = open_meddler();
    const struct kernel wild = {.self = &m.inner, .launch = go_wild};
    enum status st = oracle_judge(&setup.oracle, &wild, &j);
    return st == E_GPU && device_lost() ? 0 : 3;
}

TEST(a_candidate_with_an_illegal_address_loses_its_process_only)
{
    assert_int_equal(run_self("--crash"), 0);
    assert_ok(canary_run(&setup));
}

static int open_all(void **state)
{
    if (open_gpu(state) || trial_setup_open(&device, folder, &setup)) {
        print_error("%s\n", status_text());
        return -1;
    }
    return 0;
}

static int close_all(void **state)
{
    trial_setup_close(&setup);
    return close_gpu(state);
}

int main(int argc, char **argv)
{
    if (no_gpu()) return SKIPPED;
    if (argc == 3 && strcmp(argv[1], "--crash") == 0) {
        snprintf(folder, sizeof folder, "%s", argv[2]);
        return crash();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canary_sings),
        cmocka_unit_test(right_kernels_are_right_for_every_op_and_ragged_shapes),
        cmocka_unit_test(kernels_with_an_epilogue_are_right_for_every_op_and_ragged_shapes),
        cmocka_unit_test(kernels_that_take_pointers_are_right_for_every_op_and_ragged_shapes),
        cmocka_unit_test(a_long_k_in_slabs_is_right_and_adds_to_c_once),
        cmocka_unit_test(cublas_is_judged_right),
        cmocka_unit_test(cublaslt_is_judged_right_with_an_epilogue),
        cmocka_unit_test(planted_faults_are_found_where_they_are),
        cmocka_unit_test(a_trial_is_measured_and_repeats_within_a_few_percent),
        cmocka_unit_test(a_large_problem_costs_little_besides_its_calls),
        cmocka_unit_test(twice_the_work_takes_twice_the_time),
        cmocka_unit_test(race_blocks_of_anchor_and_candidates_alternate),
        cmocka_unit_test(warming_up_settles),
        cmocka_unit_test(a_winner_is_verified),
        cmocka_unit_test(the_roofline_is_near_what_the_clocks_promise),
        cmocka_unit_test(a_candidate_with_an_illegal_address_loses_its_process_only),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
