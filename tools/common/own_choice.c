#include "own_choice.h"

#include "field.h"
#include "number.h"
#include "own.h"
#include "own_read.h"
#include "paths.h"
#include "space.h"
#include "template.h"
#include "workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status read_set(const struct template *t, const char *set, int32_t fixed[CONFIG_PARAMS_MAX])
{
    for (int i = 0; i < CONFIG_PARAMS_MAX; i++) fixed[i] = -1;
    for (const char *at = set; at && *at;) {
        char word[80], *end;
        const size_t length = strcspn(at, ", ");
        snprintf(word, sizeof word, "%.*s", (int)(length < 79 ? length : 79), at);
        char *const equals = strchr(word, '=');
        if (!equals) return fail(E_USAGE, "--set '%.60s' is no list such as BM=128,BN=64", set);
        *equals = '\0';
        const int p = template_param(t, word);
        if (p < 0) return fail(E_USAGE, "--set: %s has no parameter '%.40s'", t->name, word);
        errno = 0;
        const long value = strtol(equals + 1, &end, 10);
        if (end == equals + 1 || *end || errno || value < 0 || value > INT32_MAX)
            return fail(E_USAGE, "--set: %s=%.40s is no whole number from 0 to 2147483647", word, equals + 1);
        fixed[p] = (int32_t)value;
        at += length + strspn(at + length, ", ");
    }
    return OK;
}

static enum status best_of(const struct template *t, const int32_t *fixed, const struct problem *problem,
                           const struct gpu *gpu, struct config *config)
{
    struct space *space = NULL;
    struct field field = {0};
    char *const text = own_space(t, fixed);
    if (t->param_count == 0) { /* a space has at least one */
        free(text);
        *config = (struct config){.template = t};
        const char *why = t->check(config, problem, gpu);
        return why ? fail(E_ABSENT, "%s: %s", t->name, why) : OK;
    }
    enum status st = text ? space_add(t->name, text, &space) : fail(E_MEMORY, "out of memory for a space");
    free(text);
    if (!st) st = field_open(space, problem, gpu, WORKSPACE_DEFAULT, false, &field);
    if (!st) *config = field.config[0];
    field_close(&field);
    space_free(space);
    return st;
}

enum status own_choose(const char *file, const char *set, const struct problem *problem,
                       const struct gpu *gpu, struct config *config)
{
    const struct template *t = NULL;
    int32_t fixed[CONFIG_PARAMS_MAX];
    char *text = NULL;
    enum status st = own_read(file, &text);
    if (!st) st = own_add(text, &t);
    free(text);
    if (!st) st = read_set(t, set, fixed);
    return st ? st : best_of(t, fixed, problem, gpu, config);
}

enum status own_described_gpu(const char *name, struct gpu *gpu)
{
    char folder[4096];
    const enum status st = paths_configs("gpus", folder, sizeof folder);
    return st ? st : gpu_choose(folder, name ? name : "h200", gpu);
}
