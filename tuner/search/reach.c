/* reach.c — candidates that are asked for one by one, be they in a sample or not. */
#include "enumeration.h"
#include "workspace.h"

#include <string.h>

/* Times that the rules may be asked for one candidate: each `first` value twice. What is illegal for another
 * reason would be asked about with all combinations of them. */
static double patience(const struct space_section *section)
{
    double most = 8;
    for (int p = 0; p < section->template->param_count; p++)
        if (section->values[p].first) most += 2 * section->values[p].count;
    return most;
}

/* The parameters from p on that follow from those before them; the others are as wanted. */
static bool follow(struct enumeration *w, int p)
{
    const int params = w->section->template->param_count;
    if (p == params) return true;
    const struct space_values *values = &w->section->values[p];
    const bool is_last = p + 1 == params, before_choice = !is_last && values[1].first;
    for (int i = 0; i < values->count && w->checks < w->checks_most; i++) {
        if (!values->first && values->value[i] != w->wanted->value[p]) continue;
        w->config.value[p] = values->value[i];
        if ((values->first || is_last || before_choice) && enumeration_refusal(w, p)) continue;
        if (enumeration_is_redundant(w, p)) return false;
        if (follow(w, p + 1)) return true;
    }
    return false;
}

/* The value before it in the line of a launch-time parameter, if that gives the same launch. */
static bool step_back(struct enumeration *w)
{
    unsigned char here[GRIDS_BYTES + LAUNCH_ARGUMENT_MAX], there[GRIDS_BYTES + LAUNCH_ARGUMENT_MAX];
    const struct template *t = w->section->template;
    struct launch_plan plan, before;
    t->plan(&w->config, w->problem, &plan);
    enumeration_launch(&plan, here);
    for (int p = 0; p < t->param_count; p++) {
        const struct space_values *values = &w->section->values[p];
        if (t->params[p].kind != PARAM_LAUNCH || values->first) continue;
        int at = 0;
        while (values->value[at] != w->config.value[p]) at++;
        if (at == 0) continue;
        struct config other = w->config;
        other.value[p] = values->value[at - 1];
        if (t->check(&other, w->problem, w->gpu)) continue;
        t->plan(&other, w->problem, &before);
        enumeration_launch(&before, there);
        if (memcmp(here, there, GRIDS_BYTES + (size_t)plan.argument_bytes) != 0) continue;
        w->config = other;
        return true;
    }
    return false;
}

bool space_reach(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                 int64_t workspace_bytes, bool redundant_too, struct config *config)
{
    struct enumeration w = {.problem = problem,
                            .gpu = gpu,
                            .workspace_bytes = workspace_bytes,
                            .wanted = config,
                            .redundant_too = redundant_too};
    for (int i = 0; i < space->section_count; i++) {
        struct launch_plan plan;
        w.section = &space->section[i];
        if (w.section->template != config->template) continue;
        w.config = *config;
        w.checks = 0;
        w.checks_most = patience(w.section);
        if (!follow(&w, 0)) continue;
        w.config.template->plan(&w.config, problem, &plan);
        if (plan.workspace_bytes > workspace_allowed(problem, workspace_bytes)) continue;
        while (step_back(&w)) continue;
        *config = w.config;
        return true;
    }
    return false;
}
