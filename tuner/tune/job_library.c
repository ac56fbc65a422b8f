/* job_library.c — algorithms of cublasLt as candidates: they are known once the GPU is prepared, need no
 * compiler, and are tried in turns with what the search proposes.
 */
#include "job.h"

#include "preferred.h"
#include "run.h"
#include "template.h"
#include "workspace.h"
#include <string.h>

/* An algorithm that may be chosen, and has no time yet. */
static enum status add(struct job *job, const struct config *config)
{
    const struct run *run = job->run;
    const struct gpu *gpu = &job->context.gpu;
    size_t i;
    if (!template_is_library(config->template) || config->template->check(config, &job->problem, gpu))
        return OK;
    if (workspace_refuses(config, &job->problem, run->s->options->workspace_bytes)) return OK;
    bool excluded;
    enum status st = preferred_excludes(run->s->db, gpu, &job->problem, config, &excluded);
    if (st || excluded || field_find(&job->field, config, &i)) return st;
    if (!field_add_library(&job->field, config, &job->problem, gpu, &i)) return OK;
    if (!run->s->options->refresh)
        st = field_recall_one(&job->field, i, run->s->db, &job->context, &job->problem, NULL,
                              &job->result.recalled);
    if (st || job->field.time_us[i] > 0) return st; /* an earlier run has tried it */
    const struct kernel_key kernel = kernel_key_of(config, &job->problem, gpu->arch);
    struct built *built = builds_get(run->builds, &kernel);
    if (!built) return E_MEMORY;
    memmove(job->ahead + job->library_ahead + 1, job->ahead + job->library_ahead,
            (job->ahead_count - job->library_ahead) * sizeof *job->ahead);
    job->ahead[job->library_ahead++] = (struct ahead){.index = i, .built = built};
    job->ahead_count++;
    return OK;
}

/* The winner of an earlier run may be an algorithm that this version of the library does not propose. */
enum status job_take_library(struct job *job, const json_t *answer)
{
    const json_t *text;
    size_t i;
    enum status st = OK;
    if (job->pinned || job->only_race || !job->run->s->options->library) return OK;
    for (int r = 0; r < job->raced_count && !st; r++) st = add(job, &job->raced[r]);
    if (job->raced_count) return st;
    json_array_foreach(json_object_get(answer, "library"), i, text)
    {
        struct config config;
        if (!st && json_is_string(text) && config_parse(json_string_value(text), &config) == OK)
            st = add(job, &config);
    }
    const struct config *old = &job->defender.config;
    if (!st && old->template && template_is_library(old->template)) st = add(job, old);
    if (field_best(&job->field, &job->best, 1)) job->best_us = job->field.time_us[job->best];
    return st;
}
