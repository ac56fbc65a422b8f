/* space_values.h — the content of a space file, as space.c reads it and enumerate.c enumerates it. */
#ifndef GT_SPACE_VALUES_H
#define GT_SPACE_VALUES_H

#include "space.h"

struct space_values {
    int32_t value[SPACE_VALUES_MAX]; /* in the order of the file, no duplicates */
    int count;
    bool first; /* only the first legal one for each combination of the others */
};

struct space_section {
    char name[52]; /* as in the file, "simt few rows"; the INI library keeps 49 characters */
    const struct template *template;
    int line;                                      /* where it starts, for messages */
    struct space_values values[CONFIG_PARAMS_MAX]; /* in the order of template->params */
};

struct space {
    char path[512];
    struct space_section *section;
    int section_count;
};

#endif
