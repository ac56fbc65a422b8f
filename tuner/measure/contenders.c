#include "contenders.h"

#include <stdio.h>
#include <string.h>

enum status contenders_open(struct trial_setup *setup, struct contenders *contenders)
{
    char detail[RIVAL_DETAIL_MAX];
    *contenders = (struct contenders){.setup = setup, .anchor_row = rival_anchor(&setup->problem)};
    if (!contenders->anchor_row) return OK;
    enum status st =
        contenders->anchor_row->open(setup, contenders->anchor_row, &contenders->anchor_kernel, detail);
    if (!st) st = timed_start(&setup->watch, &setup->work, &contenders->anchor_kernel, &contenders->anchor);
    contenders->has_anchor = st == OK;
    if (!st) return OK;
    kernel_close(&contenders->anchor_kernel);
    /* A problem that cuBLAS refuses has no anchor. */
    return st == E_ABSENT || (st == E_GPU && !device_lost()) ? OK : st;
}

static void leave(struct contender *place)
{
    timed_stop(&place->timed);
    kernel_close(&place->kernel);
    *place = (struct contender){0};
}

void contenders_close(struct contenders *contenders)
{
    for (int i = 0; i < CONTENDERS_MAX; i++) leave(&contenders->place[i]);
    for (int i = 0; i < RIVALS_MAX; i++) {
        timed_stop(&contenders->rival[i].timed);
        kernel_close(&contenders->rival[i].kernel);
    }
    timed_stop(&contenders->anchor);
    kernel_close(&contenders->anchor_kernel);
    *contenders = (struct contenders){.setup = contenders->setup};
}

static enum status enter(struct contenders *contenders, const struct candidate *candidate,
                         struct contender *place)
{
    struct trial_setup *setup = contenders->setup;
    leave(place);
    enum status st = kernel_load(setup->device, &candidate->config, &setup->problem, candidate->cubin,
                                 candidate->checksum, &place->kernel);
    if (!st) st = timed_start(&setup->watch, &setup->work, &place->kernel, &place->timed);
    if (st) {
        leave(place);
        return st;
    }
    config_format(&candidate->config, place->text);
    snprintf(place->checksum, sizeof place->checksum, "%s", candidate->checksum);
    return OK;
}

enum status contenders_find(struct contenders *contenders, const struct candidate *candidate,
                            struct timed **timed)
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
    *timed = &found->timed;
    return OK;
}

/* As for the anchor: a rival that refuses the problem counts as absent. */
static enum status admit(struct contenders *contenders, const struct rival_row *row)
{
    struct trial_setup *setup = contenders->setup;
    struct contending_rival *rival = &contenders->rival[row->number];
    enum status st = row->open(setup, row, &rival->kernel, rival->detail);
    if (!st) st = timed_start(&setup->watch, &setup->work, &rival->kernel, &rival->timed);
    if (st) kernel_close(&rival->kernel);
    if (st == E_GPU && !device_lost()) st = fail(E_ABSENT, "%s", status_text());
    rival->tried = true;
    rival->st = st;
    if (st) snprintf(rival->why, sizeof rival->why, "%s", status_text());
    return st;
}

enum status contenders_rival(struct contenders *contenders, const char *role, struct timed **timed,
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
    *timed = &rival->timed;
    *detail = rival->detail;
    return OK;
}
