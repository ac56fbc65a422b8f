#include "line_up.h"

#include <stdio.h>
#include <string.h>

enum status line_up_open(struct site *site, struct line_up *line_up)
{
    char detail[RIVAL_DETAIL_MAX];
    *line_up = (struct line_up){.site = site, .anchor_row = rival_anchor(site->problem.type)};
    if (!line_up->anchor_row) return OK;
    enum status st = line_up->anchor_row->open(site, line_up->anchor_row, &line_up->anchor_kernel, detail);
    if (!st) st = timed_start(&site->watch, &site->work, &line_up->anchor_kernel, &line_up->anchor);
    line_up->has_anchor = st == OK;
    if (!st) return OK;
    kernel_close(&line_up->anchor_kernel);
    /* A problem that cuBLAS cannot take is one without an anchor. */
    return st == E_ABSENT || (st == E_GPU && !device_lost()) ? OK : st;
}

static void leave(struct line_up_place *place)
{
    timed_stop(&place->timed);
    kernel_close(&place->kernel);
    *place = (struct line_up_place){0};
}

void line_up_close(struct line_up *line_up)
{
    for (int i = 0; i < LINE_UP_MAX; i++) leave(&line_up->place[i]);
    for (int i = 0; i < rival_count; i++) {
        timed_stop(&line_up->rival[i].timed);
        kernel_close(&line_up->rival[i].kernel);
    }
    timed_stop(&line_up->anchor);
    kernel_close(&line_up->anchor_kernel);
    *line_up = (struct line_up){.site = line_up->site};
}

static enum status enter(struct line_up *line_up, const struct candidate *candidate,
                         struct line_up_place *place)
{
    struct site *site = line_up->site;
    leave(place);
    enum status st = kernel_load(site->device, &candidate->config, &site->problem, candidate->cubin,
                                 candidate->checksum, &place->kernel);
    if (!st) st = timed_start(&site->watch, &site->work, &place->kernel, &place->timed);
    if (st) {
        leave(place);
        return st;
    }
    config_format(&candidate->config, place->text);
    snprintf(place->checksum, sizeof place->checksum, "%s", candidate->checksum);
    return OK;
}

enum status line_up_find(struct line_up *line_up, const struct candidate *candidate, struct timed **timed)
{
    char text[CONFIG_TEXT_MAX];
    config_format(&candidate->config, text);
    struct line_up_place *oldest = &line_up->place[0], *found = NULL;
    for (int i = 0; i < LINE_UP_MAX; i++) {
        struct line_up_place *place = &line_up->place[i];
        if (strcmp(place->text, text) == 0 && strcmp(place->checksum, candidate->checksum) == 0)
            found = place;
        if (place->used < oldest->used) oldest = place;
    }
    enum status st = found ? OK : enter(line_up, candidate, found = oldest);
    if (st) return st;
    found->used = ++line_up->requests;
    *timed = &found->timed;
    return OK;
}

/* As with the anchor, a rival that cannot take the problem is one that is not there. */
static enum status admit(struct line_up *line_up, const struct rival_row *row)
{
    struct site *site = line_up->site;
    struct line_up_rival *rival = &line_up->rival[row - rivals];
    enum status st = row->open(site, row, &rival->kernel, rival->detail);
    if (!st) st = timed_start(&site->watch, &site->work, &rival->kernel, &rival->timed);
    if (st) kernel_close(&rival->kernel);
    if (st == E_GPU && !device_lost()) st = fail(E_ABSENT, "%s", status_text());
    rival->asked = true;
    rival->st = st;
    if (st) snprintf(rival->why, sizeof rival->why, "%s", status_text());
    return st;
}

enum status line_up_rival(struct line_up *line_up, const char *role, struct timed **timed,
                          const char **detail)
{
    const enum gemm_type needed = line_up->site->problem.type;
    const struct rival_row *row = rival_for(role, needed);
    if (!row && !rival_is_known(role)) return fail(E_INPUT, "there is no rival '%.40s'", role);
    if (!row)
        return fail(E_ABSENT, "there is no rival '%.40s' for problems of type %s", role,
                    gemm_type_row(needed)->name);
    struct line_up_rival *rival = &line_up->rival[row - rivals];
    enum status st = rival->asked ? rival->st : admit(line_up, row);
    if (st) return fail(st, "%s", rival->why);
    *timed = &rival->timed;
    *detail = rival->detail;
    return OK;
}
