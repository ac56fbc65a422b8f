#include "prepare.h"

#include "relaxed.h"
#include "template.h"

#include <stdio.h>
#include <string.h>

/* A way that stands in for a better one tries that again after so many launches, at first. */
#define RETRY_FIRST 64

/* Whether a choice was refused when it was launched. */
static enum way_bar bar_of(const struct choice *choice, const struct way *ways)
{
    char text[CONFIG_TEXT_MAX] = "cublas";
    if (!choice->cublas) config_format(&choice->config, text);
    while (ways && (atomic_load(&ways->bar) == WAY_OPEN || strcmp(text, ways->info.config) != 0))
        ways = ways->next;
    return ways ? atomic_load(&ways->bar) : WAY_OPEN;
}

static bool needs_workspace(const struct choice *choice, const struct problem *problem)
{
    struct launch_plan plan = {.kernels = 0};
    if (!choice->cublas) choice->config.template->plan(&choice->config, problem, &plan);
    return plan.workspace_bytes > 0;
}

/* E_ABSENT: it is not for this request, or cannot be prepared, with the reason. */
static enum status try_choice(const struct way_request *r, const struct choice *choice, struct way **way,
                              bool *passing)
{
    bool for_now = false;
    const enum way_bar bar = bar_of(choice, r->ways);
    *passing |= bar == WAY_BARRED_FOR_NOW;
    if (bar != WAY_OPEN) return fail(E_ABSENT, "it has been refused");
    if (r->without_workspace && needs_workspace(choice, r->problem))
        return fail(E_ABSENT, "it needs a workspace");
    const enum status st = way_build(r, choice, way, &for_now);
    const bool told = st == E_COMPILER || choice->cublas; /* way_build has said it */
    if (st && st != E_MEMORY && !told && choice->source != CHOICE_FALLBACK)
        notice(&r->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s", status_text());
    *passing |= for_now;
    return st;
}

/* What is asked, in this order: the second question takes longer. */
enum question { MEASURED_FOR_IT, ALL_ELSE, QUESTIONS };

/* passing: out, the database could not be asked for now. Errors: E_MEMORY. */
static enum status look_up(const struct way_request *r, enum question question,
                           struct choice choices[CHOICES_MAX], int *count, bool *passing)
{
    struct known *known = &r->place->known;
    enum status st;
    pthread_mutex_lock(&r->place->lock);
    if (question == MEASURED_FOR_IT) {
        st = lookup_exact(known, r->problem, r->alignment, choices);
        *passing = known_is_held(known);
        *count = st == OK;
        if (st == E_ABSENT) st = OK;
    } else {
        const int64_t allowed = known->workspace_bytes;
        if (r->without_workspace)
            known->workspace_bytes = 1; /* so that the list is not full of what needs more */
        st = lookup_others(known, r->problem, r->alignment, choices, count);
        known->workspace_bytes = allowed;
    }
    pthread_mutex_unlock(&r->place->lock);
    return st;
}

static enum status first_that_can_be(const struct way_request *r, struct way **way, bool *passing)
{
    struct choice choices[CHOICES_MAX];
    char last[600] = "no configuration is legal for it", text[PROBLEM_TEXT_MAX];
    for (enum question question = 0; question < QUESTIONS; question++) {
        int count;
        enum status st = look_up(r, question, choices, &count, passing);
        if (st) return st;
        for (int i = 0; i < count; i++) {
            /* In place of what was measured comes what was measured, or what anybody would have used. */
            if (r->without_workspace && choices[i].source == CHOICE_PREDICTED) continue;
            st = try_choice(r, &choices[i], way, passing);
            if (!st || st == E_MEMORY) return st;
            snprintf(last, sizeof last, "%.590s", status_text());
        }
    }
    problem_format(r->problem, text);
    return fail(E_ABSENT, "nothing here can compute %s: %s", text, last);
}

enum status prepare_way(const struct way_request *r, struct way **way)
{
    bool passing = false;
    if (r->problem->m == 0 || r->problem->n == 0) return way_build(r, NULL, way, &passing);
    CUstreamCaptureMode before = relaxed_begin(); /* allocations and loading are allowed whoever captures */
    const enum status st = first_that_can_be(r, way, &passing);
    relaxed_end(before);
    if (st || !passing) return st;
    (*way)->provisional = true;
    (*way)->usual = false;
    (*way)->patience = RETRY_FIRST;
    atomic_store(&(*way)->retry, RETRY_FIRST);
    return OK;
}
