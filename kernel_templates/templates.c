#include "templates.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

extern const struct template template_simt, template_skinny, template_resident;
extern const struct template template_ladder_naive, template_ladder_coalesced, template_ladder_shared,
    template_ladder_blocktile_1d, template_ladder_blocktile_2d, template_ladder_vectorized,
    template_ladder_double_buffered, template_ladder_warptiled;

const struct template *const templates[] = {
    &template_simt,
    &template_skinny,
    &template_resident,
    &template_ladder_naive,
    &template_ladder_coalesced,
    &template_ladder_shared,
    &template_ladder_blocktile_1d,
    &template_ladder_blocktile_2d,
    &template_ladder_vectorized,
    &template_ladder_double_buffered,
    &template_ladder_warptiled,
};
const size_t template_count = sizeof templates / sizeof *templates;

const struct template *template_find(const char *name)
{
    for (size_t i = 0; i < template_count; i++)
        if (strcmp(templates[i]->name, name) == 0) return templates[i];
    return NULL;
}

int template_param(const struct template *t, const char *name)
{
    for (int i = 0; i < t->param_count; i++)
        if (strcmp(t->params[i].name, name) == 0) return i;
    return -1;
}

uint64_t template_hash(const struct template *t)
{
    uint64_t hash = 0;
    for (int i = 0; i < t->source_count; i++) {
        hash = XXH64(t->sources[i].name, strlen(t->sources[i].name), hash);
        hash = XXH64(t->sources[i].text, strlen(t->sources[i].text), hash);
    }
    return hash;
}

int template_definitions(const struct config *config, bool trans_a, bool trans_b, const char **options,
                         int limit, char *text, size_t room)
{
    const struct template *t = config->template;
    int count = 0;
    size_t used = 0;
    for (int i = 0; i < t->param_count + 2; i++) {
        const char *name;
        int value;
        if (i < t->param_count) {
            if (t->params[i].kind != PARAM_COMPILE) continue;
            name = t->params[i].name;
            value = config->value[i];
        } else {
            name = i == t->param_count ? "TRANS_A" : "TRANS_B";
            value = i == t->param_count ? trans_a : trans_b;
        }
        int length = snprintf(text + used, room - used, "-D%s=%d", name, value);
        if (count == limit || length < 0 || (size_t)length >= room - used) return 0;
        options[count++] = text + used;
        used += (size_t)length + 1;
    }
    return count;
}
