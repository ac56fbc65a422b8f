/* family_template.h — what template_NAME.c of each family has in common with the others: the table of its
 * parameters, from PARAMS (family_params.h), its check, from RULES, the name of the family's rules, and
 * COMPUTES, why it refuses problems of other types, and its row. For that one file, after NAME_host.h.
 */
#include "gemm_block.h"
#include "template.h"

#define PARAM(name, kind, role, least, most, meaning)                                                        \
    {#name, PARAM_##kind, ROLE_##role, least, most, meaning},
#define LATER PARAM
#define SINCE PARAM
static const struct param params[P_COUNT] = {
#include PARAMS
};
#undef PARAM
#undef LATER
#undef SINCE

/* struct template: optional, silent */
#define PARAM(...)
#define LATER(name, kind, role, least, most, meaning) | 1u << P_##name
#define SINCE                                         LATER
enum {
    OPTIONAL = 0u
#include PARAMS
};
#undef LATER
#undef SINCE
#define LATER(...)
#define SINCE(name, kind, role, least, most, meaning) | 1u << P_##name
enum {
    SILENT = 0u
#include PARAMS
};
#undef PARAM
#undef LATER
#undef SINCE

/* All checks look at the first `known` values only and pass over what needs more. */
#define KNOWN(name) (known > P_##name)

/* The rules in their order: those that the kernel asserts, too, and those that only the host asks
 * (HOST_RULES). What depends on the op is asked if there is a problem. */
static const char *check_rules(const struct config *config, int known, const struct problem *problem)
{
    const bool TRANS_A = problem && problem->trans_a, TRANS_B = problem && problem->trans_b;
    (void)TRANS_A, (void)TRANS_B; /* some families have no such rule */
#define HOST_RULES
#define RULE(last, holds, why)                                                                               \
    if (known > P_##last && !(holds)) return why;
#define RULE_OP(last, holds, why)                                                                            \
    if (problem && known > P_##last && !(holds)) return why;
#include RULES
#undef RULE
#undef RULE_OP
    return NULL;
}

/* As much of a configuration as is known, and the least values in place of the others. */
static inline struct config known_config(const struct config *config, int known)
{
    struct config least = *config;
    for (int i = known; i < P_COUNT; i++) least.value[i] = params[i].least;
    return least;
}

/* The file defines these two. The second one may be called without a problem, or a GPU. */
static const char *check_gpu(const struct config *config, int known, const struct gpu *gpu);
static const char *check_problem(const struct config *config, int known, const struct problem *problem,
                                 const struct gpu *gpu);

/* template.h */
static const char *check_prefix(const struct config *config, int known, const struct problem *problem,
                                const struct gpu *gpu)
{
    const char *why = template_check_ranges(config, known);
    if (!why) why = check_rules(config, known, problem);
    if (!why && gpu) why = check_gpu(config, known, gpu);
    enum gemm_type computed;
    if (!why && problem && !template_serves(config->template, problem))
        why = !template_type(config->template, problem->type, &computed) ? COMPUTES
              : problem->invariant && !config->template->invariant
                  ? "invariant rows: the family has other orders of additions"
              : problem->pointers ? "the family takes no arrays of pointers"
                                  : "the family computes no epilogue";
    if (!why) why = check_problem(config, known, problem, gpu);
    return why;
}

/* The row of a family whose functions are called NAME_resources and so on, and the set of types that its
 * kernels compute; then the members that families do
 * not have alike. */
#define FAMILY(family, types, ...)                                                                           \
    extern const struct source_text sources_##family[];                                                      \
    extern const struct template template_##family;                                                          \
    const struct template template_##family = {.name = #family,                                              \
                                               .space = #family ".conf",                                     \
                                               .params = params,                                             \
                                               .param_count = P_COUNT,                                       \
                                               .optional = OPTIONAL,                                         \
                                               .silent = SILENT,                                             \
                                               .computes = types,                                            \
                                               .sources = sources_##family,                                  \
                                               .resources = family##_resources,                              \
                                               .check = template_check_all,                                  \
                                               .check_prefix = check_prefix,                                 \
                                               .plan = family##_plan,                                        \
                                               .predict = family##_predict,                                  \
                                               __VA_ARGS__};
