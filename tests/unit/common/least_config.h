/* least_config.h — configurations by what they differ in from the least values. */
#ifndef GT_LEAST_CONFIG_H
#define GT_LEAST_CONFIG_H

#include "config.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>

/* Every parameter has its least value. */
static inline struct config least_config(const char *template)
{
    struct config config = {.template = template_find(template)};
    for (int i = 0; i < config.template->param_count; i++) config.value[i] = config.template->params[i].least;
    return config;
}

/* changes: "NAME=VALUE ...", of parameters that there are. */
static inline void config_change(struct config *config, const char *changes)
{
    while (*changes) {
        char name[32];
        int value, length = 0;
        if (sscanf(changes, "%31[A-Z_]=%d %n", name, &value, &length) != 2 ||
            !config_set(config, name, value)) {
            fprintf(stderr, "no change of %s: %s\n", config->template->name, changes);
            abort();
        }
        changes += length;
    }
}

#endif
