#include "preferred.h"

#include "print.h"
#include "template.h"
#include "workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pins and exclusions stored for one problem on one GPU. */
struct stored {
    const struct gpu *gpu;
    char pin[CONFIG_TEXT_MAX];
    char (*excluded)[CONFIG_TEXT_MAX];
    size_t count;
    bool out_of_memory;
};

static bool keep(void *self, const struct db_preference *preference)
{
    struct stored *s = self;
    if (preference->gpu.arch != s->gpu->arch || preference->gpu.sm_count != s->gpu->sm_count) return true;
    if (preference->pin) {
        memcpy(s->pin, preference->config_text, sizeof s->pin);
        return true;
    }
    char(*grown)[CONFIG_TEXT_MAX] = realloc(s->excluded, (s->count + 1) * sizeof *grown);
    s->out_of_memory = !grown;
    if (!grown) return false;
    s->excluded = grown;
    memcpy(s->excluded[s->count++], preference->config_text, sizeof *grown);
    return true;
}

/* Free stored->excluded, whatever comes back. */
static enum status read_stored(struct db *db, const struct gpu *gpu, const struct problem *problem,
                               struct stored *stored)
{
    const struct db_filter filter = {.gpu = gpu->name, .problem = problem};
    *stored = (struct stored){.gpu = gpu};
    enum status st = db_preferences(db, &filter, keep, stored);
    if (st == E_ABSENT) st = OK;
    return stored->out_of_memory ? fail(E_MEMORY, "out of memory for what is excluded") : st;
}

static bool is_excluded(const struct stored *stored, const char *text)
{
    for (size_t i = 0; i < stored->count; i++)
        if (strcmp(stored->excluded[i], text) == 0) return true;
    return false;
}

static const char *why_illegal(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu, int64_t workspace_bytes)
{
    const char *why = config->template->check(config, problem, gpu);
    return why ? why : workspace_refuses(config, problem, workspace_bytes);
}

/* ---- the command ---- */

static enum status check_pin(const struct tune_options *o, const struct gpu *gpu, const struct stored *stored)
{
    char text[CONFIG_TEXT_MAX], problem[PROBLEM_TEXT_MAX];
    config_format(&o->pin, text);
    problem_format(&o->problems[0], problem);
    const char *why = why_illegal(&o->pin, &o->problems[0], gpu, o->workspace_bytes);
    if (why)
        return fail(E_INPUT, "%.300s cannot be pinned for %.120s on %.60s: %s", text, problem, gpu->name,
                    why);
    bool included = false;
    for (int i = 0; i < o->include_count; i++) included |= config_equal(&o->include[i], &o->pin);
    if (is_excluded(stored, text) && !included)
        return fail(E_INPUT, "%.300s is excluded for %.120s; --include takes that back", text, problem);
    return OK;
}

static enum status check_exclude(const struct tune_options *o, const struct gpu *gpu,
                                 const struct stored *stored, const struct config *config)
{
    char text[CONFIG_TEXT_MAX], problem[PROBLEM_TEXT_MAX];
    config_format(config, text);
    problem_format(&o->problems[0], problem);
    const char *why = config->template->check(config, &o->problems[0], gpu);
    if (why)
        return fail(E_INPUT, "%.300s need not be excluded for %.120s on %.60s, it is not legal there: %s",
                    text, problem, gpu->name, why);
    const bool wanted = o->pin.template && config_equal(config, &o->pin);
    const bool pinned = !o->unpin && !o->pin.template && strcmp(stored->pin, text) == 0;
    if (wanted || pinned)
        return fail(E_INPUT, "%.300s is pinned for %.120s, so it cannot be excluded%s", text, problem,
                    pinned ? "; --unpin takes that back" : "");
    return OK;
}

enum status preferred_check(const struct tune_options *o, struct db *db, const struct gpu *gpu)
{
    if (!o->preferring) return OK;
    struct stored stored;
    enum status st = read_stored(db, gpu, &o->problems[0], &stored);
    if (!st && o->pin.template) st = check_pin(o, gpu, &stored);
    for (int i = 0; i < o->exclude_count && !st; i++) st = check_exclude(o, gpu, &stored, &o->exclude[i]);
    free(stored.excluded);
    return st;
}

static void say(const struct tune_options *o, const struct gpu *gpu, const char *what, const char *how)
{
    char problem[PROBLEM_TEXT_MAX], line[PROBLEM_TEXT_MAX + CONFIG_TEXT_MAX + 200];
    problem_format(&o->problems[0], problem);
    snprintf(line, sizeof line, "%s on %s: %s %s", problem, gpu->name, what, how);
    print_wrapped(stderr, 0, print_columns(stderr), line);
}

static enum status store(const struct tune_options *o, struct db *db, const struct gpu *gpu, bool pin,
                         const char *text, bool holds)
{
    bool changed;
    enum status st = db_prefer(db, gpu, &o->problems[0], pin, text, holds, &changed);
    if (st) return st;
    say(o, gpu, text, pin ? "is no longer pinned" : holds ? "is excluded" : "is no longer excluded");
    return OK;
}

/* Takes back a pin or an exclusion. One that an interrupted command has taken back already is worth a remark
 * only: given again, the command goes on. */
static enum status take_back(const struct tune_options *o, struct db *db, const struct gpu *gpu,
                             const struct stored *stored)
{
    enum status st = OK;
    if (o->unpin && !stored->pin[0]) say(o, gpu, "nothing", "is pinned");
    else if (o->unpin) st = store(o, db, gpu, true, stored->pin, false);
    for (int i = 0; i < o->include_count && !st; i++) {
        char text[CONFIG_TEXT_MAX];
        config_format(&o->include[i], text);
        if (is_excluded(stored, text)) st = store(o, db, gpu, false, text, false);
        else say(o, gpu, text, "is not excluded");
    }
    return st;
}

enum status preferred_store(const struct tune_options *o, struct db *db, const struct gpu *gpu)
{
    if (!o->preferring) return OK;
    struct stored stored;
    char text[CONFIG_TEXT_MAX];
    enum status st = read_stored(db, gpu, &o->problems[0], &stored);
    if (!st) st = take_back(o, db, gpu, &stored);
    free(stored.excluded);
    for (int i = 0; i < o->exclude_count && !st; i++) {
        config_format(&o->exclude[i], text);
        st = store(o, db, gpu, false, text, true);
    }
    return st;
}

enum status preferred_pinned(struct db *db, const struct gpu *gpu, const struct problem *problem,
                             bool *pinned)
{
    struct stored stored;
    enum status st = read_stored(db, gpu, problem, &stored);
    *pinned = stored.pin[0];
    free(stored.excluded);
    return st;
}

enum status preferred_excludes(struct db *db, const struct gpu *gpu, const struct problem *problem,
                               const struct config *config, bool *excluded)
{
    struct stored stored;
    char text[CONFIG_TEXT_MAX];
    enum status st = read_stored(db, gpu, problem, &stored);
    config_format(config, text);
    *excluded = is_excluded(&stored, text);
    free(stored.excluded);
    return st;
}

/* ---- a field ---- */

static enum status leave_pin(struct field *field, const struct gpu *gpu, const struct problem *problem,
                             int64_t workspace_bytes, const struct config *wanted, const char *stored)
{
    struct config pin;
    const char *why = NULL;
    if (wanted) pin = *wanted;
    else if (config_parse(stored, &pin)) why = status_text();
    if (!why) why = why_illegal(&pin, problem, gpu, workspace_bytes);
    if (why && wanted) {
        char text[CONFIG_TEXT_MAX];
        config_format(wanted, text);
        return fail(E_ABSENT, "what is to be pinned (%.250s) cannot be used: %.150s", text, why);
    }
    if (why)
        return fail(E_ABSENT, "what is pinned (%.250s) cannot be used: %.150s; --unpin takes it back", stored,
                    why);
    field_leave(field, &pin, problem, gpu);
    return OK;
}

static enum status leave_others(struct field *field, const struct stored *stored)
{
    enum status st = OK;
    for (size_t i = 0; i < stored->count && !st; i++) {
        struct config config;
        if (config_parse(stored->excluded[i], &config) == OK) st = field_drop(field, &config);
    }
    if (st) return st;
    if (field->count > 0 || stored->count == 0) return OK; /* the library may have something */
    return fail(E_ABSENT, "all configurations that are legal are excluded; --include takes that back");
}

enum status preferred_apply(struct field *field, struct db *db, const struct gpu *gpu,
                            const struct problem *problem, int64_t workspace_bytes,
                            const struct config *wanted, bool *pinned)
{
    struct stored stored;
    enum status st = read_stored(db, gpu, problem, &stored);
    *pinned = wanted || stored.pin[0];
    if (!st && *pinned) st = leave_pin(field, gpu, problem, workspace_bytes, wanted, stored.pin);
    else if (!st) st = leave_others(field, &stored);
    free(stored.excluded);
    return st;
}
