#include "workspace.h"

#include "env.h"
#include "template.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int64_t workspace_of(const struct config *config, const struct problem *problem)
{
    struct launch_plan plan;
    config->template->plan(config, problem, &plan);
    return plan.workspace_bytes;
}

const char *workspace_refuses(const struct config *config, const struct problem *problem, int64_t most_bytes)
{
    return workspace_of(config, problem) > most_bytes ? "it needs more workspace than is allowed" : NULL;
}

enum status workspace_parse(const char *source, const char *text, int64_t *bytes)
{
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (end == text || *text < '0' || *text > '9' || errno || (*end && !unit) || (unit && end[1]) ||
        number > INT64_MAX >> shift)
        return fail(E_USAGE, "%s '%.40s' is not a size such as 64M, 1G or 0", source, text);
    *bytes = (int64_t)number << shift;
    return OK;
}

enum status workspace_from_environment(int64_t *bytes)
{
    const char *text = env_text(WORKSPACE_VARIABLE);
    *bytes = WORKSPACE_DEFAULT_BYTES;
    return text && *text ? workspace_parse(WORKSPACE_VARIABLE, text, bytes) : OK;
}
