#include "workspace.h"

#include "env.h"
#include "number.h"
#include "template.h"

int64_t workspace_of(const struct config *config, const struct problem *problem)
{
    struct launch_plan plan;
    config->template->plan(config, problem, &plan);
    return plan.workspace_bytes;
}

int64_t workspace_allowed(const struct problem *problem, int64_t most_bytes)
{
    if (most_bytes != WORKSPACE_DEFAULT) return most_bytes;
    return gemm_type_is_strict(problem->type) ? INT64_C(64) << 20 : INT64_C(1) << 30;
}

const char *workspace_refuses(const struct config *config, const struct problem *problem, int64_t most_bytes)
{
    return workspace_of(config, problem) > workspace_allowed(problem, most_bytes)
               ? "it needs more workspace than is allowed"
               : NULL;
}

enum status workspace_parse(const char *source, const char *text, int64_t *bytes)
{
    if (number_size(text, bytes)) return OK;
    return fail(E_USAGE, "%s '%.40s' is not a size such as 64M, 1G or 0", source, text);
}

int64_t workspace_from_environment(void)
{
    int64_t bytes = WORKSPACE_DEFAULT;
    env_bytes(WORKSPACE_VARIABLE, &bytes);
    return bytes;
}
