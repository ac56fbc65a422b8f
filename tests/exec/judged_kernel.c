#include "judged_kernel.h"

#include "exec_problems.h"
#include "host_device.h"
#include "unit.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_US 1900
#define COLD    true /* several sets of operands */

static struct device device;
static struct trial_setup setup;
static struct cpu_kernel built;
static struct config config_built;

/* ---- loading, replaced ---- */

/* The operand that a call prepares first, as that of a run_mode; 0: none. */
static int prepared_in(const struct problem *p)
{
    struct launch_plan product, preparation;
    const struct template *t = config_built.template;
    const bool b = p->prepared == PREPARED_B;
    if (!p->prepared || !t->prepare) return 0;
    t->plan(&config_built, p, &product);
    return t->prepare(&config_built, p, b ? LAUNCH_B : LAUNCH_A, &product, &preparation) ? 1 + b : 0;
}

static enum status run(void *self, const struct operands *operands, double alpha, double beta)
{
    struct problem p = *(const struct problem *)self;
    p.alpha = alpha;
    p.beta = beta;
    host_spend(CALL_US);
    const struct cpu_operands here = {.a = (const void *)(uintptr_t)operands->at[OPERAND_A],
                                      .b = (const void *)(uintptr_t)operands->at[OPERAND_B],
                                      .c = (void *)(uintptr_t)operands->at[OPERAND_C],
                                      .source = (const void *)(uintptr_t)operands->at[OPERAND_SOURCE],
                                      .bias = (const void *)(uintptr_t)operands->at[OPERAND_BIAS]};
    cpu_kernel_run(&built, &p, &(struct run_mode){.seed = 1, .prepared = prepared_in(&p)}, &here);
    return OK;
}

enum status kernel_load(struct device *on, const struct config *config, const struct problem *problem,
                        const char *cubin_path, const char *checksum, struct kernel *kernel)
{
    (void)on, (void)config, (void)cubin_path, (void)checksum;
    struct problem *copy = malloc(sizeof *copy);
    if (!copy) abort();
    *copy = *problem;
    *kernel = (struct kernel){.self = copy, .launch = run, .close = free};
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

/* The judge's kernels for the elements of the type: linked for FP32, else loaded, and not again. */
static void judge_for(enum gemm_type type)
{
    const struct gemm_type_row *const row = gemm_type_row(type);
    char path[512];
    if (oracle_kernels_serve(&setup.kernels, type)) return;
    snprintf(path, sizeof path, ORACLE_CPU_FOLDER "/oracle_cpu_%s_%s.so", element_name(row->a),
             element_name(row->c));
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    host_device_judge(library, type, &setup.kernels);
}

void judged_prepare(const char *config, const char *problem, const struct edit *edits, int count)
{
    struct problem p;
    assert_ok(problem_parse(problem, &p));
    judge_for(p.type);
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
    judge_for(p.type);
    assert_ok(trial_setup_prepare(&setup, &p, COLD, 3));
    assert_ok(trial_run(&setup, &candidate, 0, 0, &outcome));
    return outcome;
}

struct verification judged_verify(void)
{
    struct verification v;
    const struct candidate candidate = candidate_of();
    assert_ok(verify_run(&setup, &candidate, 0, 0, &v));
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

void judged_assert_right(const struct judged_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        judged_prepare(cases[i].config, cases[i].problem, NULL, 0);
        const struct outcome o = judged_trial(cases[i].problem);
        judged_assert_measured(&o);
        assert_true(o.exact && o.worst_error <= 1);
        const struct verification v = judged_verify();
        if (v.verdict != VERDICT_MEASURED) fail_msg("%s", v.detail);
        print_message("%s: %s\n", cases[i].problem, v.detail);
        assert_true(v.shapes > 10);
    }
}

void judged_assert_faults(const char *config, const struct judged_fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        judged_prepare(config, faults[i].problem, faults[i].edit, 1);
        const struct outcome o = judged_trial(faults[i].problem);
        if (o.verdict != VERDICT_WRONG)
            fail_msg("%s: '%s' passed", faults[i].problem, faults[i].edit->replace);
        if (!strstr(o.detail, faults[i].said)) fail_msg("'%s' lacks '%s'", o.detail, faults[i].said);
    }
}

void judged_assert_late_faults(const char *config, const struct judged_fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        judged_prepare(config, faults[i].problem, faults[i].edit, 1);
        const struct outcome o = judged_trial(faults[i].problem);
        judged_assert_measured(&o);
        const struct verification v = judged_verify();
        assert_int_equal(v.verdict, VERDICT_WRONG);
        if (!strstr(v.detail, faults[i].said)) fail_msg("'%s' lacks '%s'", v.detail, faults[i].said);
    }
}
