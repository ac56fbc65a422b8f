#include "judged_kernel.h"

#include "exec_problems.h"
#include "host_device.h"
#include "unit.h"
#include <stdlib.h>

#define CALL_US 1900
#define COLD    true /* several sets of operands */

static struct device device;
static struct trial_setup setup;
static struct cpu_kernel built;
static struct config config_built;

/* ---- loading, replaced ---- */

static enum status run(void *self, const struct operands *operands, double alpha, double beta)
{
    struct problem p = *(const struct problem *)self;
    p.alpha = alpha;
    p.beta = beta;
    host_spend(CALL_US);
    const struct cpu_operands here = {.a = (const float *)(uintptr_t)operands->a,
                                      .b = (const float *)(uintptr_t)operands->b,
                                      .c = (float *)(uintptr_t)operands->c,
                                      .source = (const float *)(uintptr_t)operands->source,
                                      .bias = (const float *)(uintptr_t)operands->bias};
    cpu_kernel_run(&built, &p, &(struct run_mode){.seed = 1}, &here);
    return OK;
}

enum status kernel_load(struct device *on, const struct config *config, const struct problem *problem,
                        const char *cubin_path, const char *checksum, struct kernel *kernel)
{
    (void)on, (void)config, (void)cubin_path, (void)checksum;
    struct problem *copy = malloc(sizeof *copy);
    if (!copy) abort();
    *copy = *problem;
    *kernel = (struct kernel){copy, run, free};
    return OK;
}

void kernel_close(struct kernel *kernel)
{
    if (kernel->close) kernel->close(kernel->self);
    *kernel = (struct kernel){0};
}

/* ---- the fixture ---- */

static struct candidate candidate_of(void)
{
    return (struct candidate){
        .config = config_built, .cubin = "", .checksum = "abc", .facts = {.registers = 99}};
}

void judged_prepare(const char *config, const char *problem, const struct edit *edits, int count)
{
    struct problem p;
    assert_ok(problem_parse(problem, &p));
    assert_ok(trial_setup_prepare(&setup, &p, COLD, 3));
    assert_ok(config_parse(config, &config_built));
    if (built.library) cpu_kernel_close(&built);
    assert_ok(cpu_kernel_build(&config_built, &p, edits, count, &built));
}

struct outcome judged_trial(const char *problem)
{
    struct problem p;
    struct outcome outcome;
    const struct candidate candidate = candidate_of();
    assert_ok(problem_parse(problem, &p));
    assert_ok(trial_setup_prepare(&setup, &p, COLD, 3));
    assert_ok(trial_run(&setup, &candidate, 0, &outcome));
    return outcome;
}

struct verification judged_verify(void)
{
    struct verification v;
    const struct candidate candidate = candidate_of();
    assert_ok(verify_run(&setup, &candidate, &v));
    return v;
}

void judged_assert_measured(const struct outcome *outcome)
{
    if (outcome->verdict != VERDICT_MEASURED)
        fail_msg("%s: %s", verdict_name(outcome->verdict), outcome->detail);
}

int judged_open(void **state)
{
    (void)state;
    setup = (struct trial_setup){.device = &device};
    host_device_open(&device, &setup.kernels);
    device.gpu = *exec_gpu();
    return stopwatch_open(&device, &setup.watch) != OK;
}

int judged_close(void **state)
{
    (void)state;
    cpu_kernel_close(&built);
    trial_setup_clear(&setup);
    stopwatch_close(&setup.watch);
    return host_bytes_in_use != 0;
}
