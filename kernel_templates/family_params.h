/* family_params.h — the parameters of a family on the host. PARAMS names the family's list, NAME_params.def,
 * with a line PARAM(name, kind, role, least, most, meaning) each (template.h: struct param), those of a
 * launch last; LATER in place of PARAM: optional (struct template); SINCE: silent, too. Included by
 * NAME_host.h.
 */
#define PARAM(name, kind, role, least, most, meaning) P_##name,
#define LATER                                         PARAM
#define SINCE                                         PARAM
enum {
#include PARAMS
    P_COUNT
};
#undef PARAM
#undef LATER
#undef SINCE

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
