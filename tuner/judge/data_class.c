#include "data_class.h"

/* Of A and of B. along_k: which axis of op(A) or op(B) is graded, or has pairs: that of k, or the other one.
 * keep: of op(A), the others are 0; 0: all. */
static const struct {
    const char *name;
    enum oracle_data a, b;
    bool along_k;
    unsigned keep;
} classes[DATA_CLASS_COUNT] = {
    [DATA_CLASS_UNIFORM] = {"uniform", ORACLE_UNIFORM, ORACLE_UNIFORM, false, 0},
    [DATA_CLASS_POSITIVE] = {"positive", ORACLE_POSITIVE, ORACLE_POSITIVE, false, 0},
    [DATA_CLASS_NORMAL] = {"normal", ORACLE_NORMAL, ORACLE_NORMAL, false, 0},
    [DATA_CLASS_LOGNORMAL] = {"lognormal", ORACLE_LOGNORMAL, ORACLE_LOGNORMAL, false, 0},
    [DATA_CLASS_NEAR_ONE] = {"near 1", ORACLE_NEAR_ONE, ORACLE_NEAR_ONE, false, 0},
    [DATA_CLASS_ROWS] = {"graded rows", ORACLE_UP, ORACLE_UNIFORM, false, 0},
    [DATA_CLASS_COLUMNS] = {"graded columns", ORACLE_UNIFORM, ORACLE_UP, false, 0},
    [DATA_CLASS_K] = {"graded k", ORACLE_UP, ORACLE_DOWN, true, 0},
    [DATA_CLASS_CANCELLING] = {"cancelling", ORACLE_PAIRED, ORACLE_OPPOSED, true, 0},
    [DATA_CLASS_HUGE] = {"huge", ORACLE_HUGE, ORACLE_TINY, false, 0},
    [DATA_CLASS_SPARSE] = {"sparse", ORACLE_UNIFORM, ORACLE_UNIFORM, false, UINT32_MAX / 4},
    [DATA_CLASS_OUTLIERS] = {"outliers", ORACLE_OUTLIERS, ORACLE_UNIFORM, true, 0},
    [DATA_CLASS_EMPTY] = {"nearly empty", ORACLE_UNIFORM, ORACLE_UNIFORM, false, UINT32_MAX / 512},
    [DATA_CLASS_SPIKES] = {"spikes", ORACLE_SPIKES, ORACLE_UNIFORM, false, 0},
    [DATA_CLASS_CANCEL_FAR] = {"cancelling far", ORACLE_FAR_PAIRED, ORACLE_FAR_OPPOSED, true, 0},
};

const char *data_class_name(enum data_class which)
{
    return classes[which].name;
}

bool data_class_is_compared(enum data_class which)
{
    return which < DATA_CLASS_EMPTY;
}

struct random_test data_class_test(enum data_class which, const struct problem *problem, uint64_t seed)
{
    struct random_test t = oracle_random_test(seed);
    const bool along_k = classes[which].along_k;
    t.rule[OPERAND_A].data = (int)classes[which].a;
    t.rule[OPERAND_B].data = (int)classes[which].b;
    t.rule[OPERAND_A].axis = along_k == problem->trans_a ? ORACLE_AXIS_ROWS : ORACLE_AXIS_COLUMNS;
    t.rule[OPERAND_B].axis = along_k == problem->trans_b ? ORACLE_AXIS_COLUMNS : ORACLE_AXIS_ROWS;
    t.rule[OPERAND_A].grades = t.rule[OPERAND_B].grades = oracle_mix(seed);
    if (classes[which].keep) t.rule[OPERAND_A].keep = classes[which].keep;
    return t;
}
