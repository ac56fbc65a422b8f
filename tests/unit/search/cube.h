/* cube.h — an invented template with six parameters, for tests of searches. */
#ifndef GT_TEST_CUBE_H
#define GT_TEST_CUBE_H

#include "template.h"

#define DIMS 6

static const struct param cube_params[DIMS] = {
    {"A", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""}, {"B", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""},
    {"C", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""}, {"D", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""},
    {"E", PARAM_COMPILE, ROLE_NAMED, 0, 64, ""}, {"F", PARAM_LAUNCH, ROLE_NAMED, 0, 64, ""},
};
static const struct template cube = {.name = "cube", .params = cube_params, .param_count = DIMS};

#endif
