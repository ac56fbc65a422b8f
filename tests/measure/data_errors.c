/* data_errors.c — errors of configurations on every kind of data, beside those of cublasSgemm and of adding
 * in order, on a real GPU.
 *
 *     data_errors PROBLEM CONFIG [PROBLEM CONFIG ...]
 *
 * Prints a CSV row for each kind of data: largest error relative to |A||B|, root mean square and largest
 * error relative to the largest of C, each times 2^24. allowed: "yes"; "larger" than FP32's by more than the
 * type allows; or the bound that is exceeded. Exits with 77 if there is no GPU, with 1 if a row is not
 * allowed.
 */
#include "accuracy_check.h"
#include "compile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct device device;
static struct trial_setup setup;
static int failures;

static void must(enum status st)
{
    if (!st) return;
    printf("%s\n", status_text());
    exit(1);
}

static void print_errors(const struct accuracy *e)
{
    printf(",%.3f,%.4f,%.3f", ldexp(e->componentwise, 24), ldexp(e->rms, 24), ldexp(e->max, 24));
}

static void run(const char *problem_text, const char *config_text, const char *cache)
{
    struct problem p;
    struct compiled built;
    struct candidate candidate = {0};
    must(problem_parse(problem_text, &p));
    must(config_parse(config_text, &candidate.config));
    const char *why = candidate.config.template->check(&candidate.config, &p, &device.gpu);
    if (why) {
        printf("%s,,,,,,,,,,,\"left out: %s\"\n", problem_text, why);
        return;
    }
    const struct kernel_key key = kernel_key_of(&candidate.config, &p, device.gpu.arch);
    must(compile_kernel(&key, cache, &built));
    if (!built.built) must(fail(E_COMPILER, "%s", built.log));
    candidate.cubin = built.path;
    candidate.checksum = built.checksum;
    candidate.facts = built.facts;
    for (int which = 0; which < DATA_CLASS_COUNT; which++) {
        struct class_errors e;
        must(accuracy_measure(&setup, &candidate, &p, (enum data_class)which, &e));
        const bool answers = class_errors_answer(gemm_type_row(p.type), &e);
        failures += !answers;
        printf("%s,%s", problem_text, data_class_name((enum data_class)which));
        print_errors(&e.own);
        print_errors(&e.rival);
        print_errors(&e.in_order);
        printf(",%s\n", answers ? "yes" : e.right ? "larger" : e.detail);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    char cache[] = "/tmp/gt_data_errors_XXXXXX";
    if (device_load()) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
    if (!mkdtemp(cache)) return 1;
    must(device_open(0, &device));
    must(trial_setup_open(&device, cache, &setup));
    printf("problem,data,componentwise,rms,max,cublas componentwise,cublas rms,cublas max,"
           "in order componentwise,in order rms,in order max,allowed\n");
    for (int i = 1; i + 1 < argc; i += 2) run(argv[i], argv[i + 1], cache);
    trial_setup_close(&setup);
    device_close(&device);
    return failures > 0;
}
