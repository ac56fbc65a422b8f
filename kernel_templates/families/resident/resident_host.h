/* resident_host.h — shared by the host files of the resident family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_RESIDENT_HOST_H
#define GT_RESIDENT_HOST_H

#include "template.h"

/* Same order as params. */
enum {
    P_SIDE,
    P_BM,
    P_BN,
    P_BK,
    P_WM,
    P_WN,
    P_TM,
    P_TN,
    P_STAGES,
    P_LOADER,
    P_ORDER,
    P_VS,
    P_VC,
    P_UNROLL,
    P_MIN_BLOCKS,
    P_SMS,
    P_COUNT
};

/* The parameters under the names that the rules use, for functions whose configuration is called `config`. */
#define SIDE       (config->value[P_SIDE])
#define BM         (config->value[P_BM])
#define BN         (config->value[P_BN])
#define BK         (config->value[P_BK])
#define WM         (config->value[P_WM])
#define WN         (config->value[P_WN])
#define TM         (config->value[P_TM])
#define TN         (config->value[P_TN])
#define STAGES     (config->value[P_STAGES])
#define LOADER     (config->value[P_LOADER])
#define ORDER      (config->value[P_ORDER])
#define VS         (config->value[P_VS])
#define VC         (config->value[P_VC])
#define UNROLL     (config->value[P_UNROLL])
#define MIN_BLOCKS (config->value[P_MIN_BLOCKS])
#define SMS        (config->value[P_SMS])
#include "resident_rules.h"

/* template.h: predict. */
struct prediction resident_predict(const struct config *config, const struct problem *problem,
                                   const struct gpu *gpu, const struct kernel_facts *facts);

#endif
