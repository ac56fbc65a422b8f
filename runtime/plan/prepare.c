#include "prepare.h"

#include "relaxed.h"
#include "workspace.h"

#include <stdio.h>
#include <string.h>

/* A way that stands in for a better one tries that again after so many launches, at first. */
#define RETRY_FIRST 64

/* What is asked, in this order: the second question takes longer. */
static enum status (*const questions[])(struct known *known, const struct problem *problem, int alignment,
                                        struct choice choices[CHOICES_MAX],
                                        int *count) = {lookup_exact, lookup_others};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* Errors: as way_build; E_ABSENT also if it was refused, when it was launched, or takes a workspace and must
 * not. */
static enum status try_choice(const struct gt_plan *plan, enum plan_case which, int alignment,
                              const struct choice *choice, struct way **way, bool *passing)
{
    const struct way *earlier = plan->ways;
    char text[CONFIG_TEXT_MAX] = "cublas";
    bool for_now = false;
    if (!choice->cublas) config_format(&choice->config, text);
    while (earlier && (atomic_load(&earlier->bar) == WAY_OPEN || strcmp(text, earlier->info.config) != 0))
        earlier = earlier->next;
    *passing |= earlier && atomic_load(&earlier->bar) == WAY_BARRED_FOR_NOW;
    if (earlier) return fail(E_ABSENT, "it has been refused");
    /* In place of what was measured comes what was measured, or what anybody would have used. */
    if ((which & PLAN_WITHOUT) && (choice->source == CHOICE_PREDICTED ||
                                   (!choice->cublas && workspace_of(&choice->config, &plan->problem) > 0)))
        return fail(E_ABSENT, "it needs a workspace");
    const enum status st = way_build(plan, choice, alignment, way, &for_now);
    const bool told = st == E_COMPILER || choice->cublas; /* way_build has said it */
    if (st && st != E_MEMORY && !told && choice->source != CHOICE_FALLBACK)
        notice(&plan->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
    *passing |= for_now;
    return st;
}

enum status prepare_way(const struct gt_plan *plan, enum plan_case which, struct way **way)
{
    struct known *known = &plan->place->known;
    const struct problem *problem = &plan->problem;
    const int alignment = which & PLAN_UNALIGNED ? 4 : plan->traits.alignment;
    struct choice choices[CHOICES_MAX];
    char last[600] = "no configuration is legal for it", text[PROBLEM_TEXT_MAX];
    bool passing = false;
    enum status st = E_ABSENT;
    if (problem->m == 0 || problem->n == 0) return way_build(plan, NULL, alignment, way, &passing);

    const CUstreamCaptureMode before = relaxed_begin(); /* may allocate and load whoever captures */
    for (int i = 0; i < QUESTIONS && st && st != E_MEMORY; i++) {
        int count;
        pthread_mutex_lock(&plan->place->lock);
        const int64_t allowed = known->workspace_bytes;
        if (i > 0 && (which & PLAN_WITHOUT))
            known->workspace_bytes = 1; /* so that the list is not full of what needs more */
        st = questions[i](known, problem, alignment, choices, &count);
        known->workspace_bytes = allowed;
        passing |= known->held;
        pthread_mutex_unlock(&plan->place->lock);
        if (!st) st = E_ABSENT; /* until one can be prepared */
        for (int c = 0; c < count && st && st != E_MEMORY; c++) {
            st = try_choice(plan, which, alignment, &choices[c], way, &passing);
            if (st) snprintf(last, sizeof last, "%.590s", status_text());
        }
    }
    relaxed_end(before);

    if (!st && passing) {
        (*way)->provisional = true;
        (*way)->usual = false;
        (*way)->patience = RETRY_FIRST;
        atomic_store(&(*way)->retry, RETRY_FIRST);
    }
    if (!st || st == E_MEMORY) return st;
    problem_format(problem, text);
    return fail(E_ABSENT, "nothing here can compute %s: %s", text, last);
}
