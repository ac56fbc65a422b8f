/* family_template.h — the head of NAME.c, the host's half of a family: its parameters, its rules, and the
 * members of struct template that follow from them. FAMILY_PARAMS names the family's list, NAME_params.def,
 * with a line PARAM(name, kind, role, least, most, meaning) each (template.h: struct param), those of a
 * launch last; LATER in place of PARAM: optional (struct template); SINCE: silent, too. FAMILY_RULES names
 * its rules, NAME_rules.h.
 */
#include "tiled.h"

#define PARAM(name, kind, role, least, most, meaning) P_##name,
#define LATER                                         PARAM
#define SINCE                                         PARAM
enum {
#include FAMILY_PARAMS
    P_COUNT
};
#undef PARAM
#undef LATER
#undef SINCE

/* The slot of a parameter in struct tiled_at. */
#define AT(name) (P_##name + 1)

/* The values by the names that rules use, in functions that call their configuration `config`: of all
 * families of this folder. */
#define BK         (config->value[P_BK])
#define BM         (config->value[P_BM])
#define BN         (config->value[P_BN])
#define BUFFERS    (config->value[P_BUFFERS])
#define DEPTH      (config->value[P_DEPTH])
#define GROUP      (config->value[P_GROUP])
#define WHOLE      (config->value[P_WHOLE])
#define LANES_X    (config->value[P_LANES_X])
#define LOADER     (config->value[P_LOADER])
#define MIN_BLOCKS (config->value[P_MIN_BLOCKS])
#define ORDER      (config->value[P_ORDER])
#define PRELOAD    (config->value[P_PRELOAD])
#define PACK       (config->value[P_PACK])
#define REDUCE     (config->value[P_REDUCE])
#define ROWS       (config->value[P_ROWS])
#define SIDE       (config->value[P_SIDE])
#define SMS        (config->value[P_SMS])
#define SPLIT_K    (config->value[P_SPLIT_K])
#define STAGES     (config->value[P_STAGES])
#define STEPS      (config->value[P_STEPS])
#define STORE_AT   (config->value[P_STORE_AT])
#define TM         (config->value[P_TM])
#define TN         (config->value[P_TN])
#define TX         (config->value[P_TX])
#define UNROLL     (config->value[P_UNROLL])
#define VA         (config->value[P_VA])
#define VB         (config->value[P_VB])
#define VC         (config->value[P_VC])
#define VS         (config->value[P_VS])
#define VX         (config->value[P_VX])
#define WARPS_K    (config->value[P_WARPS_K])
#define WARPS_R    (config->value[P_WARPS_R])
#define WARPS_X    (config->value[P_WARPS_X])
#define WM         (config->value[P_WM])
#define WN         (config->value[P_WN])

#include FAMILY_RULES

#define PARAM(name, kind, role, least, most, meaning)                                                        \
    {#name, PARAM_##kind, ROLE_##role, least, most, meaning},
#define LATER PARAM
#define SINCE PARAM
static const struct param params[P_COUNT] = {
#include FAMILY_PARAMS
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
#include FAMILY_PARAMS
};
#undef LATER
#undef SINCE
#define LATER(...)
#define SINCE(name, kind, role, least, most, meaning) | 1u << P_##name
enum {
    SILENT = 0u
#include FAMILY_PARAMS
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
#include FAMILY_RULES
#undef RULE
#undef RULE_OP
    return NULL;
}

/* The template NAME of a family, whose row is tiled_NAME, whose source is SOURCE.cu and whose model is
 * NAME_predict; the set of types that its kernels compute; then the members that families do not have alike.
 */
#define TEMPLATE_OF(source, NAME, types, ...)                                                                \
    extern const struct source_text sources_##source[];                                                      \
    extern const struct template template_##NAME;                                                            \
    const struct template template_##NAME = {.name = #NAME,                                                  \
                                             .space = #NAME ".conf",                                         \
                                             .params = params,                                               \
                                             .param_count = P_COUNT,                                         \
                                             .optional = OPTIONAL,                                           \
                                             .silent = SILENT,                                               \
                                             .computes = types,                                              \
                                             .sources = sources_##source,                                    \
                                             .tiled = &tiled_##NAME,                                         \
                                             .resources = tiled_resources,                                   \
                                             .check = template_check_all,                                    \
                                             .check_prefix = tiled_check_prefix,                             \
                                             .plan = tiled_plan,                                             \
                                             .predict = NAME##_predict,                                      \
                                             __VA_ARGS__};

/* A family of one template. */
#define FAMILY(NAME, types, ...) TEMPLATE_OF(NAME, NAME, types, __VA_ARGS__)
