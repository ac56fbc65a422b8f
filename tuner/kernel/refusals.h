/* refusals.h — why the candidates of a problem are unusable: the first reason, and how many have the same. */
#ifndef GT_REFUSALS_H
#define GT_REFUSALS_H

#include "outcome.h"
#include <stdio.h>
#include <string.h>

struct refusals {
    char first[OUTCOME_DETAIL_MAX]; /* "": there is none */
    enum verdict verdict;
    size_t alike;
};

static inline void refusals_add(struct refusals *r, const struct outcome *outcome)
{
    if (outcome_usable(outcome) || outcome->verdict == VERDICT_PREDICTED || !outcome->detail[0]) return;
    if (!r->first[0]) {
        memcpy(r->first, outcome->detail, sizeof r->first);
        r->verdict = outcome->verdict;
    }
    r->alike += r->verdict == outcome->verdict && strcmp(r->first, outcome->detail) == 0;
}

/* ": unbuildable, 18 times alike: my.cu(12): error: ..."; "" without any. */
static inline const char *refusals_say(const struct refusals *r, char text[OUTCOME_DETAIL_MAX + 160])
{
    text[0] = '\0';
    if (!r->first[0]) return text;
    snprintf(text, OUTCOME_DETAIL_MAX + 160, ": %s, %zu alike: %s%s", verdict_name(r->verdict), r->alike,
             r->first,
             r->verdict == VERDICT_UNBUILDABLE ? " (tune show-kernel --log shows all that the compiler says)"
                                               : "");
    return text;
}

#endif
