#include "prepare.h"

#include "relaxed.h"
#include "workspace.h"

#include <stdio.h>
#include <string.h>

/* An executable that stands in for a better one tries that again after so many launches, at first. */
#define RETRY_FIRST 64

/* What is asked, in this order: the second question takes longer. */
static enum status (*const questions[])(struct winner_store *store, const struct problem *problem,
                                        int alignment, struct choice choices[CHOICES_MAX],
                                        int *count) = {lookup_exact, lookup_others};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* Errors: as executable_build; E_ABSENT also if it was refused, when it was launched, or takes a workspace
 * and must not. *passing: something better fell away for a reason that may pass. */
static enum status try_choice(const struct gt_plan *plan, enum plan_case which, int alignment,
                              const struct choice *choice, struct executable **executable, bool *passing)
{
    const struct executable *earlier = plan->executables;
    char text[CONFIG_TEXT_MAX] = "cublas";
    const char *why = NULL;
    bool for_now = false;
    if (!choice->cublas) config_format(&choice->config, text);
    while (earlier &&
           (atomic_load(&earlier->refusal) == NOT_REFUSED || strcmp(text, earlier->info.config) != 0))
        earlier = earlier->next;
    *passing |= earlier && atomic_load(&earlier->refusal) == REFUSED_FOR_NOW;
    if (earlier) why = "it has been refused";
    /* In place of what was measured comes what was measured, or what anybody would have used. */
    else if ((which & PLAN_WITHOUT) &&
             (choice->source == CHOICE_PREDICTED ||
              (!choice->cublas && workspace_of(&choice->config, &plan->problem) > 0)))
        why = "it needs a workspace";
    if (why) return fail(E_ABSENT, "%s", why);
    const enum status st =
        executable_build(plan, choice, alignment, which & PLAN_WITHOUT, executable, &for_now);
    const bool told = st == E_COMPILER || choice->cublas; /* executable_build has said it */
    if (st && st != E_MEMORY && !told && choice->source != CHOICE_FALLBACK)
        notice(&plan->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
    *passing |= for_now;
    if (!st && *passing) {
        (*executable)->provisional = true;
        (*executable)->usual = (*executable)->usual_extended = false;
        (*executable)->patience = RETRY_FIRST;
        atomic_store(&(*executable)->retry, RETRY_FIRST);
    }
    return st;
}

enum status prepare_executable(const struct gt_plan *plan, enum plan_case which,
                               struct executable **executable)
{
    struct winner_store *store = &plan->context->winners;
    const struct problem *problem = &plan->problem;
    const int alignment = which & PLAN_UNALIGNED ? plan->traits.element : plan->traits.alignment;
    struct choice choices[CHOICES_MAX];
    char why[600] = "no configuration is legal for it", text[PROBLEM_TEXT_MAX];
    bool passing = false, winner = false; /* winner: why is about the winner */
    enum status st = E_ABSENT;
    if (problem->m == 0 || problem->n == 0)
        return executable_build(plan, NULL, alignment, false, executable, &passing);

    const CUstreamCaptureMode before = relaxed_begin(); /* may allocate and load whoever captures */
    for (int i = 0; i < QUESTIONS && st && st != E_MEMORY; i++) {
        int count;
        pthread_mutex_lock(&plan->context->lock);
        const int64_t allowed = store->workspace_bytes;
        if (i > 0 && (which & PLAN_WITHOUT))
            store->workspace_bytes = 1; /* so that the list is not full of what needs more */
        st = questions[i](store, problem, alignment, choices, &count);
        store->workspace_bytes = allowed;
        passing |= store->held;
        pthread_mutex_unlock(&plan->context->lock);
        if (!st) st = E_ABSENT; /* until one can be prepared */
        for (int c = 0; c < count && st && st != E_MEMORY; c++) {
            st = try_choice(plan, which, alignment, &choices[c], executable, &passing);
            if (st && !winner) snprintf(why, sizeof why, "%.590s", status_text());
            winner |= choices[c].source == CHOICE_EXACT && !choices[c].cublas;
        }
    }
    relaxed_end(before);
    if (st && st != E_MEMORY) {
        problem_format(problem, text);
        st = fail(E_ABSENT, "nothing here can compute %s: %s", text, why);
    }
    return st;
}
