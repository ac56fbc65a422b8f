#include "templates.h"

#include <string.h>

extern const struct template template_simt, template_skinny, template_resident, template_tall;
extern const struct template template_ladder_naive, template_ladder_coalesced, template_ladder_shared,
    template_ladder_blocktile_1d, template_ladder_blocktile_2d, template_ladder_vectorized,
    template_ladder_double_buffered, template_ladder_warptiled;

const struct template *const templates[] = {
    &template_simt,
    &template_skinny,
    &template_resident,
    &template_tall,
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

const char *template_check_ranges(const struct config *config, int known)
{
    const struct param *params = config->template->params;
    for (int i = 0; i < known; i++)
        if (config->value[i] < params[i].least || config->value[i] > params[i].most)
            return "a parameter is outside its range";
    return NULL;
}
