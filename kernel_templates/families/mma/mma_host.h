/* mma_host.h — shared by the host files of the mma family: the index of each parameter in a configuration,
 * and the sizes derived from the parameters. */
#ifndef GT_MMA_HOST_H
#define GT_MMA_HOST_H

#include "template.h"

/* Same order as params. */
enum { P_BM, P_BN, P_BK, P_WM, P_WN, P_STAGES, P_VA, P_VB, P_VC, P_MIN_BLOCKS, P_GROUP, P_SPLIT_K, P_COUNT };

/* The parameters under the names that the rules use, for functions whose configuration is called `config`. */
#define BM         (config->value[P_BM])
#define BN         (config->value[P_BN])
#define BK         (config->value[P_BK])
#define WM         (config->value[P_WM])
#define WN         (config->value[P_WN])
#define STAGES     (config->value[P_STAGES])
#define VA         (config->value[P_VA])
#define VB         (config->value[P_VB])
#define VC         (config->value[P_VC])
#define MIN_BLOCKS (config->value[P_MIN_BLOCKS])
#define GROUP      (config->value[P_GROUP])
#define SPLIT_K    (config->value[P_SPLIT_K])
#include "mma_rules.h"

/* template.h: predict. */
struct prediction mma_predict(const struct config *config, const struct problem *problem,
                              const struct gpu *gpu, const struct kernel_facts *facts);

#endif
