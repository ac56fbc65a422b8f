/* What a call that is passed on costs the host. */
#include "dropin_calls.h"
#include "dropin_runs.h"

#include <time.h>

enum { COST_PROBLEMS = 64, COST_CALLS = 64 * 400, COST_TRIES = 25 };
#define PASS_ON_NS_MAX 200.0

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cost_ns(int (*call)(void *function, int number), void *function)
{
    double least = 1e9;
    for (int i = 0; i < COST_TRIES; i++) {
        double start = seconds();
        for (int n = 0; n < COST_CALLS; n++) call(function, n % COST_PROBLEMS);
        least = fmin(least, (seconds() - start) / COST_CALLS * 1e9);
    }
    return least;
}

static float cost_memory[4] __attribute__((aligned(16)));
static struct lt_call cost_lt[COST_PROBLEMS];

static int cost_sgemm(void *function, int number)
{
    __typeof__(cublasSgemm_v2) *f;
    memcpy(&f, &function, sizeof f);
    return f(blas_context, 0, 0, 64 + number, 64, 64, &one, cost_memory, 128, cost_memory, 64, &zero,
             cost_memory, 128);
}

static int cost_half(void *function, int number)
{
    __typeof__(cublasGemmEx) *f;
    memcpy(&f, &function, sizeof f);
    return f(blas_context, 0, 0, 64 + number, 64, 64, &one, cost_memory, 2, 128, cost_memory, 2, 64, &zero,
             cost_memory, 2, 128, BLAS_COMPUTE_32F, -1);
}

static int cost_matmul(void *function, int number)
{
    __typeof__(cublasLtMatmul) *f;
    const struct lt_call *x = &cost_lt[number];
    memcpy(&f, &function, sizeof f);
    return f(lt_context, x->desc, &one, cost_memory, x->a, cost_memory, x->b, &zero, cost_memory, x->c,
             cost_memory, x->c, NULL, NULL, 0, stream);
}

static void passing_a_call_on_costs_next_to_nothing(void **state)
{
    static const struct {
        const char *name;
        int (*call)(void *function, int number);
    } kinds[] = {
        {"cublasSgemm_v2", cost_sgemm}, {"cublasGemmEx", cost_half}, {"cublasLtMatmul", cost_matmul}};
    (void)state;
#ifdef GT_SANITIZED
    skip(); /* it would be the sanitizers' cost */
#endif
    put_winner("sgemm:nn:16x24x32", SIMT, 5, false);
    arrive();
    program_blas_idle = 1;
    for (int i = 0; i < COST_PROBLEMS; i++) {
        cost_lt[i] = lt_make();
        int64_t ld = 24 + 4 * i;
        cublasLtMatrixLayoutSetAttribute(cost_lt[i].a, LT_LAYOUT_LD, &ld, sizeof ld);
    }
    void *own = dlopen(PROGRAM_BLAS, RTLD_NOW | RTLD_NOLOAD);
    __typeof__(dlsym) *real_dlsym;
    *(void **)&real_dlsym = dlsym(RTLD_DEFAULT, "gemmtune_real_dlsym");
    assert_true(own && real_dlsym);
    for (size_t i = 0; i < 3; i++) {
        void *bare = real_dlsym(own, kinds[i].name), *ours = dlsym(own, kinds[i].name);
        assert_true(bare && ours && bare != ours);
        double before = cost_ns(kinds[i].call, bare), with = cost_ns(kinds[i].call, ours);
        print_message("%s: %.0f ns, with the drop-in %.0f ns more\n", kinds[i].name, before, with - before);
        if (with - before > PASS_ON_NS_MAX * SHARED_MACHINE)
            fail_msg("%s: %.0f ns more", kinds[i].name, with - before);
    }
    for (int i = 0; i < COST_PROBLEMS; i++) lt_free(&cost_lt[i]);
}

static const struct scenario scenarios[] = {
    SCENARIO(passing_a_call_on_costs_next_to_nothing),
};

int main(int argc, char **argv)
{
    return dropin_main(argc, argv, "test_dropin_cost", scenarios, sizeof scenarios / sizeof *scenarios, NULL,
                       0);
}
