/* simt_host.h — shared by the host files of the simt family: the index of each parameter in a configuration,
 * and the sizes derived from the parameters. */
#ifndef GT_SIMT_HOST_H
#define GT_SIMT_HOST_H

#include "template.h"

/* Same order as params. */
enum {
    P_BM,
    P_BN,
    P_BK,
    P_WM,
    P_WN,
    P_TM,
    P_TN,
    P_WARPS_K,
    P_STAGES,
    P_LOADER,
    P_PACK,
    P_VA,
    P_VB,
    P_VC,
    P_UNROLL,
    P_STORE_AT,
    P_ORDER,
    P_MIN_BLOCKS,
    P_REDUCE,
    P_GROUP,
    P_SPLIT_K,
    P_COUNT
};

/* The parameters under the names that the rules use, for functions whose configuration is called `config`. */
#define BM         (config->value[P_BM])
#define BN         (config->value[P_BN])
#define BK         (config->value[P_BK])
#define WM         (config->value[P_WM])
#define WN         (config->value[P_WN])
#define TM         (config->value[P_TM])
#define TN         (config->value[P_TN])
#define WARPS_K    (config->value[P_WARPS_K])
#define STAGES     (config->value[P_STAGES])
#define LOADER     (config->value[P_LOADER])
#define PACK       (config->value[P_PACK])
#define VA         (config->value[P_VA])
#define VB         (config->value[P_VB])
#define VC         (config->value[P_VC])
#define UNROLL     (config->value[P_UNROLL])
#define STORE_AT   (config->value[P_STORE_AT])
#define ORDER      (config->value[P_ORDER])
#define MIN_BLOCKS (config->value[P_MIN_BLOCKS])
#define REDUCE     (config->value[P_REDUCE])
#define GROUP      (config->value[P_GROUP])
#define SPLIT_K    (config->value[P_SPLIT_K])
#include "simt_rules.h"

/* template.h: predict. */
struct prediction simt_predict(const struct config *config, const struct problem *problem,
                               const struct gpu *gpu, const struct kernel_facts *facts);

#endif
