#include "contenders.h"

#include <stdio.h>
#include <string.h>

static void stop(struct runner *runner)
{
    behind_stop(&runner->behind);
    timed_stop(&runner->timed);
    kernel_close(&runner->kernel);
    *runner = (struct runner){.behind = {.call = NULL}};
}

/* The kernel is open. */
static enum status start(struct trial_setup *setup, struct runner *runner)
{
    const enum status st = timed_start(&setup->watch, &setup->work, &runner->kernel, &runner->timed);
    if (st) stop(runner);
    return st;
}

enum status contenders_open(struct trial_setup *setup, struct contenders *contenders)
{
    char detail[RIVAL_DETAIL_MAX];
    *contenders = (struct contenders){.setup = setup, .anchor_row = rival_anchor(&setup->problem)};
    if (!contenders->anchor_row) return OK;
    enum status st =
        contenders->anchor_row->open(setup, contenders->anchor_row, &contenders->anchor.kernel, detail);
    if (!st) st = start(setup, &contenders->anchor);
    contenders->has_anchor = st == OK;
    if (!st) return OK;
    /* A problem that cuBLAS refuses has no anchor. */
    return st == E_ABSENT || (st == E_GPU && !device_lost()) ? OK : st;
}

static void leave(struct contender *place)
{
    stop(&place->runner);
    *place = (struct contender){0};
}

void contenders_close(struct contenders *contenders)
{
    for (int i = 0; i < CONTENDERS_MAX; i++) leave(&contenders->place[i]);
    for (int i = 0; i < RIVALS_MAX; i++) stop(&contenders->rival[i].runner);
    stop(&contenders->anchor);
    before_stop(&contenders->before);
    *contenders = (struct contenders){.setup = contenders->setup};
}

static enum status enter(struct contenders *contenders, const struct candidate *candidate,
                         struct contender *place)
{
    struct trial_setup *setup = contenders->setup;
    leave(place);
    enum status st = kernel_load(setup->device, &candidate->config, &setup->problem, candidate->cubin,
                                 candidate->checksum, &place->runner.kernel);
    if (!st) st = start(setup, &place->runner);
    if (st) return st;
    config_format(&candidate->config, place->text);
    snprintf(place->checksum, sizeof place->checksum, "%s", candidate->checksum);
    return OK;
}

enum status contenders_find(struct contenders *contenders, const struct candidate *candidate,
                            struct runner **runner)
{
    char text[CONFIG_TEXT_MAX];
    config_format(&candidate->config, text);
    struct contender *oldest = &contenders->place[0], *found = NULL;
    for (int i = 0; i < CONTENDERS_MAX; i++) {
        struct contender *place = &contenders->place[i];
        if (strcmp(place->text, text) == 0 && strcmp(place->checksum, candidate->checksum) == 0)
            found = place;
        if (place->used < oldest->used) oldest = place;
    }
    enum status st = found ? OK : enter(contenders, candidate, found = oldest);
    if (st) return st;
    found->used = ++contenders->requests;
    *runner = &found->runner;
    return OK;
}

/* As for the anchor: a rival that refuses the problem counts as absent. */
static enum status admit(struct contenders *contenders, const struct rival_row *row)
{
    struct trial_setup *setup = contenders->setup;
    struct contending_rival *rival = &contenders->rival[row->number];
    enum status st = row->open(setup, row, &rival->runner.kernel, rival->detail);
    if (!st) st = start(setup, &rival->runner);
    if (st == E_GPU && !device_lost()) st = fail(E_ABSENT, "%s", status_text());
    rival->tried = true;
    rival->st = st;
    if (st) snprintf(rival->why, sizeof rival->why, "%s", status_text());
    return st;
}

enum status contenders_rival(struct contenders *contenders, const char *role, struct runner **runner,
                             const char **detail)
{
    const struct problem *problem = &contenders->setup->problem;
    const struct rival_row *row = rival_for(role, problem);
    if (!row && !rival_is_known(role)) return fail(E_INPUT, "there is no rival '%.40s'", role);
    if (!row) {
        char epilogue[EPILOGUE_TEXT_MAX];
        epilogue_format(problem->epilogue, epilogue);
        return fail(E_ABSENT, "there is no rival '%.40s' for problems of type %s%s%s", role,
                    gemm_type_row(problem->type)->name,
                    problem->pointers ? " with pointers"
                    : epilogue[0]     ? " with the epilogue "
                                      : "",
                    epilogue);
    }
    struct contending_rival *rival = &contenders->rival[row->number];
    enum status st = rival->tried ? rival->st : admit(contenders, row);
    if (st) return fail(st, "%s", rival->why);
    *runner = &rival->runner;
    *detail = rival->detail;
    return OK;
}

static enum status block_behind(struct contenders *contenders, struct runner *runner, double block_ms,
                                struct block *block)
{
    struct trial_setup *setup = contenders->setup;
    struct before *before = &contenders->before;
    enum status st = before->work ? OK : before_start(&setup->watch, &setup->work, before);
    if (!st && !runner->behind.call) st = behind_start(&runner->timed, &runner->behind);
    if (st) return st;
    return behind_block(before, &runner->behind, 1e3 * block_ms, &block->time_us, &block->calls,
                        &block->state);
}

static enum status block_under_load(struct runner *runner, double lead_ms, double block_ms,
                                    struct block *block)
{
    struct load load;
    const enum status st = timed_load(&runner->timed, 1e-3 * lead_ms, 1e-3 * block_ms, &load);
    if (!st) *block = (struct block){load.call_us, load.joules, load.watts, load.calls, load.state};
    return st;
}

enum status contenders_block(struct contenders *contenders, struct runner *runner, enum call_timing timing,
                             double lead_ms, double block_ms, struct block *block)
{
    *block = (struct block){.time_us = 0};
    if (timing == TIMING_BEHIND) return block_behind(contenders, runner, block_ms, block);
    if (timing == TIMING_LOAD) return block_under_load(runner, lead_ms, block_ms, block);
    return timed_blocks(&runner->timed, 1, 1e3 * block_ms, &block->time_us, &block->calls, &block->state);
}
