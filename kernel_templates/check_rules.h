/* check_rules.h — what the kernel of a family asserts, asked by the host: the function check_rules, for the
 * one file that includes this where RULES names the family's rules. NULL if the rules that need only the
 * first `known` values hold, else why not; those that depend on the op if there is a problem.
 */
static const char *check_rules(const struct config *config, int known, const struct problem *problem)
{
#define RULE(last, holds, why)                                                                               \
    if (known > P_##last && !(holds)) return why;
#include RULES
#undef RULE
    if (!problem) return NULL;
    const bool TRANS_A = problem->trans_a, TRANS_B = problem->trans_b;
#define RULE_OP(last, holds, why)                                                                            \
    if (known > P_##last && !(holds)) return why;
#include RULES
#undef RULE_OP
    return NULL;
}
