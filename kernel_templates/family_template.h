/* family_template.h — what template_NAME.c of each family begins with: the table of its parameters, from
 * PARAMS (family_params.h), and its check, from RULES, the name of the family's rules. For that one file,
 * after NAME_host.h.
 */
#include "template.h"

static const struct param params[P_COUNT] = {
#define PARAM(name, kind, role, least, most, meaning)                                                        \
    {#name, PARAM_##kind, ROLE_##role, least, most, meaning},
#include PARAMS
#undef PARAM
};

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
    if (!why) why = check_problem(config, known, problem, gpu);
    return why;
}
