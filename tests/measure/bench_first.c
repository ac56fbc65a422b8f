/* bench_first.c — by hand: what the first calls cost. Opens the library and plans the winners that ship for
 * this GPU, once each: the time of reading the lines (which gt_open does where nobody has before), of
 * gt_open, of the first plan, and of the first 64 together. On the fake driver, too. GEMMTUNE_CACHE: an empty
 * folder for what a new user sees.
 *
 *     bench_first [TIMES]
 *
 * Prints a line for each time; only the first in a process opens libraries. Exits with 77 if there is no GPU.
 */
#include "clock.h"
#include "device.h"
#include "gemmtune.h"
#include "pretuned.h"
#include "public_problem.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS = 64 };

static struct gt_problem problems[PLANS];
static int count;
static struct device device;

static void add(void *self, const struct db_brief *brief)
{
    (void)self;
    if (count == PLANS || brief->other_gpu || !brief->config.template ||
        template_is_library(brief->config.template))
        return;
    problems[count++] = public_problem(&brief->base.problem);
}

static bool read_problems(void)
{
    char folder[4096], first[1400];
    int64_t broken;
    return !pretuned_folder(folder, sizeof folder) &&
           !pretuned_read(folder, &device.gpu, add, NULL, &broken, first, sizeof first) && count > 0;
}

static bool measure(void)
{
    struct gt_options options = gt_options_make();
    struct gt_handle *handle;
    double plans_s[PLANS], start_s = now_s(), opened_s;
    int exact = 0;
    options.database = "";
    if (gt_open(&handle, &options)) return false;
    opened_s = now_s();
    for (int i = 0; i < count; i++) {
        struct gt_plan_info info = gt_plan_info_make();
        struct gt_plan *plan;
        if (gt_plan_open(handle, &problems[i], &plan) || gt_plan_describe(plan, &info)) return false;
        exact += info.source == GT_EXACT && !info.uses_cublas;
        plans_s[i] = now_s();
    }
    printf("gt_open %.2f ms, first plan %.2f ms, %d plans %.1f ms, of them %d of the winner's kernel\n",
           1e3 * (opened_s - start_s), 1e3 * (plans_s[0] - opened_s), count,
           1e3 * (plans_s[count - 1] - opened_s), exact);
    gt_close(handle);
    return true;
}

int main(int argc, char **argv)
{
    const int times = argc > 1 ? atoi(argv[1]) : 1;
    if (device_load() || device_open(0, &device)) {
        printf("skipped: %s\n", status_text());
        return 77;
    }
    const double start_s = now_s();
    bool good = read_problems();
    printf("the winners' lines read in %.2f ms, once a process\n", 1e3 * (now_s() - start_s));
    if (!good) printf("no winners ship for %s\n", device.gpu.name);
    for (int i = 0; i < times && good; i++) good = measure();
    if (!good) printf("%s\n", gt_error_text());
    device_close(&device);
    return !good;
}
