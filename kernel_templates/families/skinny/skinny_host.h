/* skinny_host.h — shared by the host files of the skinny family: the index of each parameter in a
 * configuration, and the sizes derived from the parameters. */
#ifndef GT_SKINNY_HOST_H
#define GT_SKINNY_HOST_H

#include "template.h"

/* Same order as params. */
enum {
    P_SIDE,
    P_ROWS,
    P_TX,
    P_VX,
    P_VS,
    P_VC,
    P_LANES_X,
    P_WARPS_X,
    P_WARPS_K,
    P_WARPS_R,
    P_DEPTH,
    P_STEPS,
    P_BUFFERS,
    P_LOADER,
    P_MIN_BLOCKS,
    P_REDUCE,
    P_SPLIT_K,
    P_COUNT
};

/* The parameters under the names that the rules use, for functions whose configuration is called `config`. */
#define SIDE       (config->value[P_SIDE])
#define ROWS       (config->value[P_ROWS])
#define TX         (config->value[P_TX])
#define VX         (config->value[P_VX])
#define VS         (config->value[P_VS])
#define VC         (config->value[P_VC])
#define LANES_X    (config->value[P_LANES_X])
#define WARPS_X    (config->value[P_WARPS_X])
#define WARPS_K    (config->value[P_WARPS_K])
#define DEPTH      (config->value[P_DEPTH])
#define STEPS      (config->value[P_STEPS])
#define BUFFERS    (config->value[P_BUFFERS])
#define LOADER     (config->value[P_LOADER])
#define MIN_BLOCKS (config->value[P_MIN_BLOCKS])
#define WARPS_R    (config->value[P_WARPS_R])
#define REDUCE     (config->value[P_REDUCE])
#define SPLIT_K    (config->value[P_SPLIT_K])
#include "skinny_rules.h"

/* template.h: predict. */
struct prediction skinny_predict(const struct config *config, const struct problem *problem,
                                 const struct gpu *gpu, const struct kernel_facts *facts);

#endif
