#include "template.h"

#include <stdatomic.h>
#include <string.h>

static const struct template *added[TEMPLATES_ADDED_MAX];
static atomic_size_t added_count;

enum status template_add(const struct template *t)
{
    const size_t count = atomic_load(&added_count);
    if (count == TEMPLATES_ADDED_MAX)
        return fail(E_BUSY, "one process uses at most %d own kernels", TEMPLATES_ADDED_MAX);
    added[count] = t;
    atomic_store(&added_count, count + 1);
    return OK;
}

size_t templates_all(void)
{
    return template_count + atomic_load(&added_count);
}

const struct template *template_at(size_t number)
{
    return number < template_count ? templates[number] : added[number - template_count];
}

const struct template *template_find(const char *name)
{
    const size_t count = templates_all();
    for (size_t i = 0; i < count; i++)
        if (strcmp(template_at(i)->name, name) == 0) return template_at(i);
    return NULL;
}

int template_param(const struct template *t, const char *name)
{
    for (int i = 0; i < t->param_count; i++)
        if (strcmp(t->params[i].name, name) == 0) return i;
    return -1;
}

int template_source_count(const struct template *t)
{
    int count = 0;
    while (t->sources[count].name) count++;
    return count;
}

struct tile template_tile(const struct config *config)
{
    const struct template *t = config->template;
    if (t->tile) return t->tile(config);
    int size[3] = {0}, sizes = 0;
    for (int i = 0; i < t->param_count && sizes < 3; i++)
        if (t->params[i].role == ROLE_TILE) size[sizes++] = config->value[i];
    return (struct tile){.m = size[0], .n = size[1], .k = size[2]};
}

/* The value of the first parameter of a role, `otherwise` if there is none. */
static int value_of_role(const struct config *config, enum param_role role, int otherwise)
{
    const struct template *t = config->template;
    for (int i = 0; i < t->param_count; i++)
        if (t->params[i].role == role) return config->value[i];
    return otherwise;
}

struct template_kind template_kind(const struct config *config)
{
    const int reduce = value_of_role(config, ROLE_REDUCE, 0);
    const bool is_whole = value_of_role(config, ROLE_SPLIT, 0) == 1;
    return (struct template_kind){.template = config->template,
                                  .reduce = is_whole     ? TEMPLATE_ADDS_NOTHING
                                            : reduce < 2 ? reduce
                                                         : 2};
}

bool template_is_of_kind(const struct config *config, const struct template_kind *kind)
{
    return config->template == kind->template && template_kind(config).reduce == kind->reduce;
}

bool template_reads_prepared(const struct config *config, const struct problem *problem)
{
    struct launch_plan product, preparation;
    const struct template *t = config->template;
    const enum launch_operand which = problem->prepared == PREPARED_A ? LAUNCH_A : LAUNCH_B;
    if (!problem->prepared || !t->prepare) return false;
    t->plan(config, problem, &product);
    return t->prepare(config, problem, which, &product, &preparation);
}

const char *template_check_all(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu)
{
    const struct template *t = config->template;
    return t->check_prefix(config, t->param_count, problem, gpu);
}

bool template_type(const struct template *t, enum gemm_type needed, enum gemm_type *computed)
{
    *computed = needed;
    if (t->computes & GEMM_TYPE_BIT(needed)) return true;
    for (int type = 0; type < GEMM_TYPE_COUNT; type++) {
        if (!(t->computes & GEMM_TYPE_BIT(type)) || !gemm_type_satisfies((enum gemm_type)type, needed))
            continue;
        *computed = (enum gemm_type)type;
        return true;
    }
    return false;
}

bool template_serves(const struct template *t, const struct problem *problem)
{
    enum gemm_type computed;
    return template_type(t, problem->type, &computed) &&
           (problem->epilogue == 0 || t->macros & TEMPLATE_MACRO_EPILOGUE) &&
           (!problem->pointers || t->macros & TEMPLATE_MACRO_POINTERS) &&
           (!problem->invariant || t->invariant);
}

const char *template_check_ranges(const struct config *config, int known)
{
    const struct param *params = config->template->params;
    for (int i = 0; i < known; i++)
        if (config->value[i] < params[i].least || config->value[i] > params[i].most)
            return "a parameter is outside its range";
    return NULL;
}
