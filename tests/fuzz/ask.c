#include "ask.h"

#include "fuzz.h"
#include "fuzz_h200.h"
#include "lookup.h"
#include "nearest.h"
#include "template.h"

#include <math.h>
#include <string.h>

static void check_choice(const struct choice *c, const struct problem *p, int alignment)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(p, text);
    PROMISE(memchr(c->why, 0, sizeof c->why) && memchr(c->when, 0, sizeof c->when), "%s: a text does not end",
            text);
    PROMISE(isfinite(c->time_us) && c->time_us >= 0 && isfinite(c->ratio) && c->ratio >= 0, "%s: %g us", text,
            c->time_us);
    if (c->cublas) return;
    const struct problem aligned = nearest_as_aligned(p, alignment);
    PROMISE(c->config.template, "%s: nothing to launch", text);
    const char *why = c->config.template->check(&c->config, &aligned, &fuzz_gpu);
    PROMISE(!why, "%s would be launched, but %s", text, why);
}

static void ask_one(struct winner_store *store, const struct problem *p, int alignment)
{
    struct choice choices[CHOICES_MAX];
    int count = 0;
    PROMISE(lookup_exact(store, p, alignment, choices, &count) == OK, "%s", status_text());
    PROMISE(count >= 0 && count <= 2, "%d exact choices", count);
    if (count > 0) fuzz_accept();
    for (int i = 0; i < count; i++) check_choice(&choices[i], p, alignment);
    PROMISE(lookup_others(store, p, alignment, choices, &count) == OK, "%s", status_text());
    PROMISE(count >= 0 && count <= CHOICES_MAX, "%d choices", count);
    for (int i = 0; i < count; i++) check_choice(&choices[i], p, alignment);
}

void ask(struct winner_store *store, const struct problem *problem)
{
    struct problem like = *problem;
    ask_one(store, problem, 16);
    ask_one(store, problem, 4);
    like.m++;
    if (like.lda < problem_cols_a(&like)) like.lda = problem_cols_a(&like);
    if (problem_check(&like) == OK) ask_one(store, &like, 16);
}
