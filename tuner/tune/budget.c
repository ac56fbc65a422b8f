#include "budget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status budget_parse(const char *text, double *seconds)
{
    static const char units[] = "smhd";
    static const double factor[] = {1, 60, 3600, 86400};
    double total = 0;
    unsigned seen = 0; /* a bit for each unit */
    const char *rest = text;
    do {
        char *end;
        /* strtod would also take "inf", "0x1p3" and signs. */
        size_t digits = strspn(rest, "0123456789.");
        double number = digits ? strtod(rest, &end) : 0;
        if (digits == 0 || end != rest + digits) break;
        const char *unit = *end ? strchr(units, *end) : NULL;
        if (*end && !unit) break;
        if (!*end && rest != text) break;               /* "1h30": of what? */
        if (unit && seen & 1u << (unit - units)) break; /* "1h1h" */
        if (unit) seen |= 1u << (unit - units);
        total += number * (unit ? factor[unit - units] : 1);
        rest = *end ? end + 1 : end;
    } while (*rest);
    if (*rest || rest == text || !(total > 0) || total > BUDGET_MAX_S)
        return fail(E_USAGE, "--budget '%.40s' is not a time such as 30s, 10m, 8h or 1h30m (at most a year)",
                    text);
    *seconds = total;
    return OK;
}

double budget_share(double left_s, int problems, int gpus)
{
    if (left_s <= 0) return 0;
    return left_s / ceil((double)problems / fmax(gpus, 1));
}

double budget_weighted_share(double left_s, double weight, double weights, int problems, int gpus)
{
    enum { EVEN_PERCENT = 20 };
    if (left_s <= 0) return 0;
    if (problems <= gpus || !(weights > 0)) return budget_share(left_s, problems, gpus);
    double share = 0.01 * EVEN_PERCENT / problems + (1 - 0.01 * EVEN_PERCENT) * weight / weights;
    return fmin(left_s, budget_share(left_s, problems, gpus) * problems * share);
}

/* Length of a call at which the calls of a trial take as long as the rest of it (H200). */
#define GRACE_S       60.0
#define GRACE_BUDGETS 100.0 /* where that is less */
#define LONG_CALL_US  600.0

double budget_weight(double worth, double call_us)
{
    return worth * pow(1 + call_us / LONG_CALL_US, 0.4);
}

/* Over the public suite on an H200 the longest time without a gain that was followed by one was 660 trials.
 */
#define QUIET_TRIALS 1200
#define QUIET_SHARE  0.5

double budget_grace_s(double budget_s)
{
    return fmin(GRACE_S, GRACE_BUDGETS * budget_s);
}

bool budget_converged(double share_s, size_t quiet_trials, double quiet_s)
{
    return quiet_trials >= QUIET_TRIALS && quiet_s > QUIET_SHARE * share_s;
}

/* Long enough that only what is out of the ordinary lasts longer: what a search proposes then depends on the
 * clock (docs/searching.md). */
#define PATIENCE_S         5.0
#define PATIENCE_FACTOR    5.0
#define PATIENCE_UNKNOWN_S 20.0

double budget_patience_s(double usual_s)
{
    return usual_s > 0 ? fmax(PATIENCE_S, PATIENCE_FACTOR * usual_s) : PATIENCE_UNKNOWN_S;
}

/* The judge runs the winner some twenty times, and then small cases in a few tenths of a second. */
#define CHECK_CASES_S 0.4
#define CHECK_CALLS   40.0

double budget_check_s(double best_us)
{
    return CHECK_CASES_S + CHECK_CALLS * 1e-6 * best_us;
}

/* Plans of races, from thorough to one that can be decided in a second or two. */
static const struct race_plan plans[] = {
    {12, 75, 8, 30, 0}, {10, 50, 8, 24, 0}, {8, 50, 8, 16, 0}, {8, 25, 6, 12, 0},
    {6, 15, 5, 10, 0},  {4, 10, 4, 8, 0},   {3, 5, 3, 5, 0},
};
enum {
    PLANS = sizeof plans / sizeof *plans,
    ENOUGH = 4, /* less wants a closing race */
};

#define PREPARE_S 0.5 /* operands and reference, and the GPU is warm */
#define SPARE     1.2 /* times the least rounds: for some more of them */

/* One round: every finalist, and the anchor first and last. A block holds at least one call; a message and a
 * switch of kernels cost a few milliseconds beside it. */
static double round_s(const struct race_plan *plan, double best_us)
{
    return (plan->finalists + 2) * (1.1e-3 * fmax(plan->block_ms, 1e-3 * best_us) + 5e-3);
}

#define ROUNDS_LEAST 3

double budget_rounds_s(const struct race_plan *plan, double best_us, int finalists, int rounds)
{
    struct race_plan present = *plan;
    present.finalists = finalists;
    return rounds * round_s(&present, best_us) + finalists * 1e-6 * best_us;
}

int budget_rounds_least(double best_us)
{
    return 1e-6 * best_us < BUDGET_LONG_CALL_S ? ROUNDS_LEAST : 1;
}

/* The most thorough that can be done in this time. */
static struct race_plan plan_within(double allowed_s, double best_us)
{
    int i = 0;
    while (i + 1 < PLANS && plans[i].min_rounds * round_s(&plans[i], best_us) > allowed_s) i++;
    return plans[i];
}

struct race_plan budget_race(double share_s, double best_us, double check_s, int contenders)
{
    double allowed = fmax(0.25 * share_s - check_s, 0.1 * share_s);
    struct race_plan plan = plan_within(allowed, best_us), present = plan;
    if (contenders < plan.finalists) present.finalists = contenders + 1;
    double likely = 1.6 * plan.min_rounds * round_s(&present, best_us);
    plan.reserve_s = fmin(likely, allowed) + fmin(check_s, 0.25 * share_s);
    return plan;
}

bool budget_wants_closing_race(const struct race_plan *plan, int rounds)
{
    const struct race_plan *enough = &plans[ENOUGH];
    return plan->finalists < enough->finalists || plan->block_ms < enough->block_ms ||
           rounds < enough->min_rounds;
}

/* From one that tells differences of 0.2 % to one that only tells who is faster, ours or cuBLAS. At its power
 * limit an H200's clock swings by 2 % with a period below a second: means of one second differ by 0.1 %, of
 * half a second by 1 %. */
static const struct load_plan load_plans[] = {{3, 3, 500, 1000}, {2, 2, 500, 1000}, {1, 2, 500, 1000}};
static const struct load_plan energy_plans[] = {{6, 3, 700, 2000}, {4, 2, 700, 2000}, {2, 2, 500, 2000}};

#define LOAD_SHARE         0.1
#define CLOSING_LOAD_SHARE 0.75
#define LOAD_CALLS         4.0  /* in a block, at least */
#define LOAD_STEP_S        0.15 /* until the counter of energy goes on, at both ends of a block */

double budget_load_s(const struct load_plan *plan, double best_us, int finalists)
{
    const double call_s = 1e-6 * best_us;
    const double block_s =
        LOAD_STEP_S + 1e-3 * plan->lead_ms + fmax(1e-3 * plan->block_ms, LOAD_CALLS * call_s);
    if (plan->finalists == 0) return 0;
    return plan->rounds * (finalists + 1) * block_s + block_s;
}

double budget_load_share_s(double share_s, bool closing)
{
    return (closing ? CLOSING_LOAD_SHARE : LOAD_SHARE) * share_s;
}

struct load_plan budget_load(double allowed_s, double best_us, bool energy)
{
    const struct load_plan *all = energy ? energy_plans : load_plans;
    const size_t count =
        energy ? sizeof energy_plans / sizeof *energy_plans : sizeof load_plans / sizeof *load_plans;
    for (size_t i = 0; i < count; i++)
        if (budget_load_s(&all[i], best_us, all[i].finalists) <= allowed_s) return all[i];
    return (struct load_plan){0};
}

/* With time for a race of the two fastest under load. */
static double with_load_s(double best_us, double others_s)
{
    const double load_s = budget_load_s(&load_plans[1], best_us, load_plans[1].finalists);
    return fmax(others_s + load_s, load_s / CLOSING_LOAD_SHARE);
}

double budget_closing_s(double best_us, double check_s, bool load)
{
    const double race_s = SPARE * plans[ENOUGH].min_rounds * round_s(&plans[ENOUGH], best_us),
                 whole_s = PREPARE_S + race_s + check_s;
    return load && best_us >= BUDGET_LOAD_US ? with_load_s(best_us, whole_s) : whole_s;
}

#define REFRESH_S     2.5
#define REFRESH_CALLS 200.0 /* where a call takes long */

double budget_refresh_s(double call_us)
{
    const double race_s = REFRESH_S + REFRESH_CALLS * 1e-6 * call_us;
    return call_us >= BUDGET_LOAD_US ? with_load_s(call_us, race_s) : race_s;
}

struct race_plan budget_closing_race(double share_s, double best_us, double check_s)
{
    struct race_plan plan = plan_within(share_s - PREPARE_S - check_s, best_us);
    plan.reserve_s = share_s;
    return plan;
}
