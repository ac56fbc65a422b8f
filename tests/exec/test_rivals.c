/* The rivals of tune bench on the host device, with a cuBLAS and a cublasLt made of host memory: that
 * operands and layouts are what these libraries understand, and that the best right answer is taken.
 */
#include "fake_rivals.h"
#include "host_device.h"
#include "rivals.h"
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct device device;
static struct site site;
static struct fake_rivals *fake;
static struct kernel kernel;
static char detail[RIVAL_DETAIL_MAX];

static int open_site(void **state)
{
    (void)state;
    setenv("GEMMTUNE_LIBCUBLAS", FAKE_RIVALS, 1);
    setenv("GEMMTUNE_LIBCUBLASLT", FAKE_RIVALS, 1);
    void *library = dlopen(FAKE_RIVALS, RTLD_NOW);
    if (!library) return -1;
    fake = dlsym(library, "fake_rivals");
    fake->spend = host_spend;
    site = (struct site){.device = &device};
    host_device_open(&device, &site.kernels);
    device.stream = (CUstream)(void *)&device; /* any that is not the default one */
    return stopwatch_open(&device, &site.watch) != OK;
}

static int close_site(void **state)
{
    (void)state;
    site_clear(&site);
    stopwatch_close(&site.watch);
    return 0;
}

static void prepare(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    assert_ok(site_prepare(&site, &p, false, 3));
    memset(fake->answer, 0, sizeof fake->answer);
    fake->answers = 1;
    fake->answer[0].us = 2000;
    fake->autotune_calls = 0;
}

static int nothing_is_left(void **state)
{
    (void)state;
    kernel_close(&kernel);
    return fake->open != 0;
}

static const char *const texts[] = {"sgemm:nn:16x24x32",
                                    "sgemm:nt:16x24x32",
                                    "sgemm:tn:16x24x32",
                                    "sgemm:tt:17x9x5",
                                    "sgemm:nt:12x20x8:lda=16:ldb=24:ldc=28:alpha=2:beta=-1",
                                    "sgemm:tn:7x5x6:batch=3:lda=12:stride_b=100:beta=2",
                                    "sgemm:nn:1x8x1"};

TEST(lt_is_asked_for_the_problem_itself)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct judgement judgement;
        prepare(texts[i]);
        assert_ok(rival_lt_open(&site, &kernel, detail));
        assert_ok(oracle_judge(&site.oracle, &kernel, &judgement));
        if (!judgement.right || !judgement.exact) fail_msg("%s: %s", texts[i], judgement.detail);
        kernel_close(&kernel);
    }
    assert_true(fake->alignment_a >= 4 && fake->alignment_a <= 256);
}

TEST(the_fastest_answer_that_runs_and_is_right_is_taken)
{
    prepare("17x9x5");
    fake->answer[0] = (struct fake_answer){.us = 400};
    fake->answer[1] = (struct fake_answer){.us = 100, .wrong = 1};
    fake->answer[2] = (struct fake_answer){.us = 30, .state = 15};
    fake->answer[3] = (struct fake_answer){.us = 200};
    fake->answer[4] = (struct fake_answer){.us = 0}; /* proposed, and refused when it is launched */
    fake->answer[5] = (struct fake_answer){.us = 20, .workspace_bytes = (size_t)65 << 20};
    fake->answer[6] = (struct fake_answer){.us = 201};
    fake->answers = 7;
    assert_ok(rival_lt_open(&site, &kernel, detail));
    assert_string_equal(detail, "answer 4 of 7");
    struct timed timed;
    double us;
    int64_t calls;
    assert_ok(timed_start(&site.watch, &site.work, &kernel, &timed));
    assert_ok(timed_blocks(&timed, 1, 5000, &us, &calls, NULL));
    assert_true(us >= 200 && us < 250); /* and what a launch costs */
    timed_stop(&timed);
}

TEST(without_an_answer_that_is_right_there_is_no_rival)
{
    prepare("17x9x5");
    fake->answer[0].wrong = 1;
    assert_fails(rival_lt_open(&site, &kernel, detail), E_ABSENT, "none of the 1 answers");
    fake->answers = 0;
    assert_fails(rival_lt_open(&site, &kernel, detail), E_ABSENT, "propose");
}

TEST(autotune_is_asked_for_the_problem_itself)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct judgement judgement;
        prepare(texts[i]);
        assert_ok(rival_autotune_open(&site, &kernel, detail));
        assert_ok(oracle_judge(&site.oracle, &kernel, &judgement));
        if (!judgement.right || !judgement.exact) fail_msg("%s: %s", texts[i], judgement.detail);
        assert_true(fake->autotune_calls >= 6);
        kernel_close(&kernel);
    }
}

TEST(an_autotuner_that_fails_or_is_wrong_is_no_rival)
{
    prepare("17x9x5");
    fake->answer[0].us = 0;
    assert_fails(rival_autotune_open(&site, &kernel, detail), E_ABSENT, "CUBLAS_GEMM_AUTOTUNE");
    fake->answer[0] = (struct fake_answer){.us = 2000, .wrong = 1};
    assert_fails(rival_autotune_open(&site, &kernel, detail), E_ABSENT, "wrong C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lt_is_asked_for_the_problem_itself, nothing_is_left),
        cmocka_unit_test_teardown(the_fastest_answer_that_runs_and_is_right_is_taken, nothing_is_left),
        cmocka_unit_test_teardown(without_an_answer_that_is_right_there_is_no_rival, nothing_is_left),
        cmocka_unit_test_teardown(autotune_is_asked_for_the_problem_itself, nothing_is_left),
        cmocka_unit_test_teardown(an_autotuner_that_fails_or_is_wrong_is_no_rival, nothing_is_left),
    };
    return cmocka_run_group_tests(tests, open_site, close_site);
}
