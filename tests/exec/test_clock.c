/* The timer, on a device whose clock the tests control. */
#include "behind.h"
#include "host_device.h"
#include "load.h"
#include "measure.h"
#include "screen.h"
#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct device device;
static struct oracle_kernels kernels;
static struct workload work;
static struct stopwatch watch;

/* A kernel with a given duration that records its operands. */
struct runner {
    double us, slower_us; /* each call takes slower_us longer than the previous one */
    double least_us;      /* but no less than this */
    double swing_us;      /* ten calls take this much longer, the next ten do not, and so on */
    double first_us[4];   /* of the first calls; 0: as the others */
    int calls;
    CUdeviceptr c[4096], prepared[4096];
    int preparations; /* made before the first call */
    CUdeviceptr b_of[64], at[64];
};

static enum status run(void *self, const struct operands *operands, double alpha, double beta)
{
    struct runner *r = self;
    (void)alpha, (void)beta;
    if (r->calls < 4096) {
        r->c[r->calls] = operands->at[OPERAND_C];
        r->prepared[r->calls] = operands->prepared;
    }
    r->calls++;
    const double first_us = r->calls <= 4 ? r->first_us[r->calls - 1] : 0;
    host_spend(first_us > 0 ? first_us : r->us + (r->calls / 10 % 2 ? r->swing_us : 0));
    r->us = fmax(r->us + r->slower_us, r->least_us);
    return OK;
}

#define PREPARED_BYTES 1000

static enum status make_prepared(void *self, const struct operands *operands, CUdeviceptr at)
{
    struct runner *r = self;
    if (r->preparations == 64 || r->calls > 0) return fail(E_GPU, "it was prepared after the first call");
    r->b_of[r->preparations] = operands->at[OPERAND_B];
    r->at[r->preparations++] = at;
    host_spend(5e6);
    return device_check(cuda.MemsetD8Async(at, 1, PREPARED_BYTES, device.stream), "prepare");
}

/* The state of the GPU, as tests/fake/fake_nvml.c has it. */
static struct fake_nvml {
    unsigned sm_clock_mhz, power_mw, limit_mw, processes;
    unsigned long long reasons, mj;
    int no_energy;
} * nvml;

static int open_all(void **state)
{
    (void)state;
    void *library = dlopen(getenv("FAKE_NVML"), RTLD_NOW);
    if (!library || setenv("GEMMTUNE_LIBNVML", getenv("FAKE_NVML"), 1)) return 1;
    nvml = dlsym(library, "fake_nvml");
    host_device_open(&device, &kernels);
    struct problem p = problem_make(64, 64, 64); /* 48 KiB per set, 2 MiB wanted: 43 sets */
    return workload_open(&kernels, &p, true, 1, 64 << 20, &work) || stopwatch_open(&device, &watch);
}

static int close_all(void **state)
{
    (void)state;
    stopwatch_close(&watch);
    workload_close(&work);
    return host_bytes_in_use != 0;
}

/* Until the next call, `timed` is for this runner. */
static void start(struct runner *runner, struct timed *timed)
{
    static struct kernel kernel;
    kernel = (struct kernel){.self = runner, .launch = run};
    assert_ok(timed_start(&watch, &work, &kernel, timed));
}

/* From a call on, each got the prepared operand of the set whose C it wrote. */
static void assert_prepared_of_its_set(const struct runner *r, int from)
{
    for (int i = from; i < r->calls && i < 4096; i++) {
        int set = 0;
        while (workload_operands(&work, set).at[OPERAND_C] != r->c[i]) set++;
        assert_true(r->prepared[i] == r->at[set]);
    }
}

/* As a weight that no call splits: of each set, at addresses of allocations, and not timed. */
TEST(what_is_prepared_is_made_once_for_each_set_and_before_the_clock_runs)
{
    static struct runner r;
    r = (struct runner){.us = 2};
    const struct kernel kernel = {
        .self = &r, .launch = run, .prepare = make_prepared, .prepared_bytes = PREPARED_BYTES};
    const size_t in_use = host_bytes_in_use;
    struct timed timed;
    double samples[3];
    int64_t calls;
    assert_ok(timed_start(&watch, &work, &kernel, &timed));
    assert_ok(timed_blocks(&timed, 3, 1000, samples, &calls, NULL));
    for (int i = 0; i < 3; i++) assert_true(fabs(samples[i] - 2) < 1e-3);
    assert_int_equal(r.preparations, work.layout.sets);
    for (int i = 0; i < r.preparations; i++) {
        assert_true(r.b_of[i] == workload_operands(&work, i).at[OPERAND_B] && r.at[i] % 256 == 0);
        for (int j = 0; j < i; j++) assert_true(r.at[i] >= r.at[j] + PREPARED_BYTES);
    }
    assert_prepared_of_its_set(&r, 0);
    timed_stop(&timed);
    assert_int_equal(host_bytes_in_use, in_use);
}

TEST(a_short_call_is_timed_without_its_launch)
{
    struct runner r = {.us = 2};
    struct timed timed;
    double samples[10];
    int64_t calls;
    start(&r, &timed);
    int called = r.calls, graphs = host_graphs_launched;
    assert_ok(timed_blocks(&timed, 10, 1000, samples, &calls, NULL));
    for (int i = 0; i < 10; i++) assert_true(fabs(samples[i] - 2) < 1e-3);
    assert_true((double)calls * 2 >= 1000); /* a block is at least as long as requested */
    assert_int_equal(r.calls, called);      /* all in the graph */
    assert_true(host_graphs_launched > graphs);
    timed_stop(&timed);
}

/* As cuBLAS does with the first problem of a type, and some calls later with one of another size. */
TEST(a_call_that_loads_code_or_chooses_its_kernel_is_not_taken_for_a_long_one)
{
    static const double first_us[][2] = {{400e3, 2}, {400e3, 5e3}, {30e3, 900}, {2, 120}};
    for (int i = 0; i < 4; i++) {
        struct runner r = {.us = 2, .first_us = {first_us[i][0], first_us[i][1]}};
        struct timed timed;
        double sample;
        int64_t calls;
        start(&r, &timed);
        assert_non_null(timed.graph);
        assert_ok(timed_blocks(&timed, 1, 1000, &sample, &calls, NULL));
        assert_true(fabs(sample - 2) < 1e-3);
        timed_stop(&timed);
    }
}

TEST(a_call_whose_first_calls_were_all_disturbed_is_timed_without_its_launch)
{
    struct runner r = {.us = 12, .first_us = {30e3, 25e3, 22e3, 24e3}};
    struct timed timed;
    double samples[5];
    int64_t calls;
    start(&r, &timed);
    assert_null(timed.graph);
    assert_ok(timed_blocks(&timed, 5, 1000, samples, &calls, NULL));
    assert_non_null(timed.graph);
    for (int i = 0; i < 5; i++) assert_true(fabs(samples[i] - 12) < 1e-3);
    timed_stop(&timed);
}

TEST(a_call_of_seconds_is_made_once_to_estimate_it)
{
    struct runner r = {.us = 2.5e6};
    struct timed timed;
    start(&r, &timed);
    assert_int_equal(r.calls, 1);
    assert_null(timed.graph);
    timed_stop(&timed);
}

TEST(a_graph_visits_every_set_equally_often_in_turn)
{
    struct runner r = {.us = 2};
    struct timed timed;
    assert_int_equal(work.layout.sets, 43);
    start(&r, &timed);
    assert_int_equal(timed.graph_calls % 43, 0);
    const int estimate = r.calls - timed.graph_calls; /* before the capture */
    assert_int_equal(estimate, 2 + 2 * 8);
    for (int i = 0; i < timed.graph_calls; i++)
        assert_true(r.c[estimate + i] == workload_operands(&work, i % 43).at[OPERAND_C]);
    assert_int_equal(timed.sets_used, 43);
    timed_stop(&timed);
}

TEST(a_long_call_is_launched_one_by_one_over_the_sets)
{
    struct runner r = {.us = 2700};
    struct timed timed;
    double samples[3];
    int64_t calls;
    start(&r, &timed);
    assert_null(timed.graph);
    assert_ok(timed_blocks(&timed, 3, 1000, samples, &calls, NULL));
    assert_int_equal(calls, 1);
    assert_int_equal(r.calls, 4 + 3);
    for (int i = 0; i < 7; i++) assert_true(r.c[i] == workload_operands(&work, i).at[OPERAND_C]);
    assert_int_equal(timed.sets_used, 7);
    for (int i = 0; i < 3; i++) assert_true(fabs(samples[i] - 2705) < 0.1);
    timed_stop(&timed);
}

TEST(a_sample_is_the_mean_of_its_own_block)
{
    struct runner r = {.us = 100, .slower_us = 1};
    struct timed timed;
    double samples[2];
    int64_t calls;
    start(&r, &timed); /* 18 calls; the estimate is the second's, 106 */
    assert_ok(timed_blocks(&timed, 2, 1000, samples, &calls, NULL));
    assert_int_equal(calls, 10); /* 1000 / 106, rounded up */
    assert_true(fabs(samples[0] - (100 + 18 + 4.5 + 5)) < 0.01);
    assert_true(fabs(samples[1] - (100 + 28 + 4.5 + 5)) < 0.01);
    timed_stop(&timed);
}

TEST(warming_up_ends_once_four_blocks_agree)
{
    struct runner r = {.us = 100};
    struct timed timed;
    double medians[8], spent;
    int count;
    start(&r, &timed);
    assert_ok(timed_warm_up(&timed, 30, medians, 8, &count, &spent));
    assert_int_equal(count, 4);
    assert_true(spent < 10);
    timed_stop(&timed);
}

/* As a clock that rises. */
TEST(warming_up_goes_on_while_calls_become_faster)
{
    struct runner r = {.us = 200, .slower_us = -0.02, .least_us = 100};
    struct timed timed;
    double medians[32], spent;
    int count;
    start(&r, &timed);
    assert_ok(timed_warm_up(&timed, 1.6, medians, 32, &count, &spent));
    assert_true(count > 4 && r.us == 100);
    for (int i = 0; i < SCREEN_STEADY; i++) assert_true(medians[count - 1 - i] < 106);
    timed_stop(&timed);
}

TEST(warming_up_ends_at_its_limit_when_the_clock_never_settles)
{
    struct runner r = {.us = 100, .swing_us = 10};
    struct timed timed;
    double medians[4], spent;
    int count;
    start(&r, &timed);
    assert_ok(timed_warm_up(&timed, 0.001, medians, 4, &count, &spent));
    assert_true(count >= 1 && count <= 4);
    assert_true(spent >= 0.001);
    for (int i = 1; i < count; i++) assert_true(fabs(medians[i] - medians[i - 1]) > 9);
    timed_stop(&timed);
}

TEST(an_empty_kernel_takes_some_time)
{
    struct runner r = {.us = -5}; /* including the launch: 0 */
    struct timed timed;
    double sample;
    int64_t calls;
    start(&r, &timed);
    timed_stop(&timed);
    r.us = 0;
    start(&r, &timed);
    assert_ok(timed_blocks(&timed, 1, 1000, &sample, &calls, NULL));
    assert_true(sample > 0 && isfinite(sample));
    timed_stop(&timed);
}

static uint64_t words_of_a(void)
{
    const struct matrices a = workload_a(&work, 1);
    uint64_t sum = 0;
    for (int64_t i = 0; i < a.rows * a.ld; i++) sum = sum * 31 + oracle_load(a.element, a.data, i);
    return sum;
}

/* The kernel before the call takes longer than the call itself. */
TEST(behind_another_kernel_a_call_costs_what_it_adds)
{
    for (int i = 0; i < 2; i++) {
        struct runner r = {.us = i ? 400 : 2}; /* launched one by one: each costs its launch, too */
        struct timed timed;
        struct before before;
        struct behind behind;
        struct gpu_state state;
        double us;
        int64_t calls;
        const uint64_t a = words_of_a();
        start(&r, &timed);
        assert_ok(before_start(&watch, &work, &before));
        assert_ok(behind_start(&timed, &behind));
        for (int round = 0; round < 3; round++) {
            const int called = r.calls;
            assert_ok(behind_block(&before, &behind, 8000, &us, &calls, &state));
            assert_true(fabs(before.us - HOST_REWRITE_US) < 1e-3);
            assert_true(fabs(us - (i ? 400 + 2 * 5 : 2)) < 1e-3);
            assert_true((double)calls * (HOST_REWRITE_US + us) >= 6000 - 1);
            assert_int_equal(r.calls - called, i ? calls : 0);
        }
        assert_true(words_of_a() == a);
        behind_stop(&behind);
        before_stop(&before);
        timed_stop(&timed);
    }
}

/* The prepared operand is the one of the call alone: it is not made a second time. */
TEST(behind_another_kernel_a_call_gets_the_prepared_operand_of_its_set)
{
    static struct runner r;
    r = (struct runner){.us = 2};
    const struct kernel kernel = {
        .self = &r, .launch = run, .prepare = make_prepared, .prepared_bytes = PREPARED_BYTES};
    const size_t in_use = host_bytes_in_use;
    struct timed timed;
    struct behind behind;
    assert_ok(timed_start(&watch, &work, &kernel, &timed));
    const int first = r.calls, made = r.preparations;
    const size_t held = host_bytes_in_use;
    assert_ok(behind_start(&timed, &behind));
    assert_int_equal(r.preparations, made);
    assert_true(r.calls > first && host_bytes_in_use < held + PREPARED_BYTES);
    assert_prepared_of_its_set(&r, first);
    behind_stop(&behind);
    timed_stop(&timed);
    assert_int_equal(host_bytes_in_use, in_use);
}

/* ---- under load ---- */

/* Each call takes 20 mJ; the counter goes on by one joule. */
struct burner {
    long long calls;
    bool stands; /* the counter does not move */
};

static enum status burn(void *self, const struct operands *operands, double alpha, double beta)
{
    struct burner *b = self;
    (void)operands, (void)alpha, (void)beta;
    if (!b->stands) nvml->mj = (unsigned long long)++b->calls / 50 * 1000;
    host_spend(500);
    return OK;
}

static struct load run_under_load(struct burner *b)
{
    const struct kernel kernel = {.self = b, .launch = burn};
    struct timed timed;
    struct load load;
    assert_ok(timed_start(&watch, &work, &kernel, &timed));
    assert_ok(timed_load(&timed, 0.01, 0.05, &load));
    timed_stop(&timed);
    assert_true(load.calls > 0 && load.call_us > 0);
    return load;
}

TEST(the_energy_of_a_call_is_counted_from_step_to_step)
{
    struct burner b = {.calls = 7};
    nvml->reasons = 4, nvml->sm_clock_mhz = 1410;
    const struct load load = run_under_load(&b);
    /* At most one part of 5 ms, ten calls, is counted too much or too little at each end. */
    const double most = 20.0 / (double)load.calls;
    assert_true(fabs(load.joules / 0.02 - 1) <= most);
    assert_true(load.watts > 0 && load.state.sm_clock_mhz == 1410 && load.state.throttle_reasons == 4);
}

TEST(without_a_counter_of_energy_the_time_is_known_all_the_same)
{
    struct burner b = {.calls = 0};
    nvml->no_energy = 1;
    assert_true(run_under_load(&b).joules == 0);
    nvml->no_energy = 0;
    b.stands = true; /* waits a second for a step that does not come */
    assert_true(run_under_load(&b).joules == 0);
    uint64_t mj;
    assert_false(nvml_energy(&(struct nvml){NULL}, &mj));
    assert_int_equal(nvml_processes(&(struct nvml){NULL}), 0);
    nvml->processes = 3;
    assert_int_equal(nvml_processes(&watch.nvml), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_prepared_is_made_once_for_each_set_and_before_the_clock_runs),
        cmocka_unit_test(a_short_call_is_timed_without_its_launch),
        cmocka_unit_test(a_call_that_loads_code_or_chooses_its_kernel_is_not_taken_for_a_long_one),
        cmocka_unit_test(a_call_whose_first_calls_were_all_disturbed_is_timed_without_its_launch),
        cmocka_unit_test(a_call_of_seconds_is_made_once_to_estimate_it),
        cmocka_unit_test(a_graph_visits_every_set_equally_often_in_turn),
        cmocka_unit_test(a_long_call_is_launched_one_by_one_over_the_sets),
        cmocka_unit_test(a_sample_is_the_mean_of_its_own_block),
        cmocka_unit_test(warming_up_ends_once_four_blocks_agree),
        cmocka_unit_test(warming_up_goes_on_while_calls_become_faster),
        cmocka_unit_test(warming_up_ends_at_its_limit_when_the_clock_never_settles),
        cmocka_unit_test(an_empty_kernel_takes_some_time),
        cmocka_unit_test(behind_another_kernel_a_call_costs_what_it_adds),
        cmocka_unit_test(behind_another_kernel_a_call_gets_the_prepared_operand_of_its_set),
        cmocka_unit_test(the_energy_of_a_call_is_counted_from_step_to_step),
        cmocka_unit_test(without_a_counter_of_energy_the_time_is_known_all_the_same),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
