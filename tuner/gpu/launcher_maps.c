#include "launcher.h"

_Static_assert(_Alignof(CUtensorMap) % 64 == 0, "the driver wants a map at a multiple of 64");

#define ADDRESS_UNIT 16 /* bytes of which the address of a map is a multiple */

/* Two addresses of the range that GPUs have, far apart; the second is a multiple of ADDRESS_UNIT alone. */
#define PLACEHOLDER ((uintptr_t)0x10000000000)
#define ELSEWHERE   ((uintptr_t)0x7edcba987650)

/* False: encode it. What encoding refuses is not left to the driver here. */
static bool replace_address(const struct tensor_view *view, const unsigned char *encoded, uintptr_t operand,
                            unsigned char *out)
{
    const uintptr_t address = operand + (uintptr_t)view->offset_bytes;
    CUtensorMap map;
    if (address == 0 || address % ADDRESS_UNIT) return false;
    memcpy(&map, encoded, sizeof map);
    if (cuda.TensorMapReplaceAddress(&map, (void *)address) != CUDA_SUCCESS) /* NOLINT: a device address */
        return false;
    memcpy(out, &map, sizeof map);
    return true;
}

/* The first launch of a call whose operands are all at this address, with its maps. */
static bool encode_first(const struct launch_plan *plan, uintptr_t address, struct launch *launch)
{
    struct launch_call call = {.alpha = 0};
    struct launch_walk walk;
    for (int i = 0; i < LAUNCH_OPERANDS; i++) call.operand[i] = address;
    launch_walk_start(&walk, plan, &call);
    return launch_walk_next(&walk, launch) && launcher_encode(plan, launch) == CUDA_SUCCESS;
}

void launcher_encode_ahead(struct launch_plan *plan)
{
    struct launch first, other;
    plan->maps_items = 0;
    if (plan->views == 0 || !cuda.TensorMapReplaceAddress || !encode_first(plan, PLACEHOLDER, &first) ||
        !encode_first(plan, ELSEWHERE, &other))
        return;
    for (int i = 0; i < plan->views; i++) {
        const struct tensor_view *const view = &plan->view[i];
        unsigned char replaced[LAUNCH_VIEW_BYTES];
        if (!replace_address(view, first.argument + view->at, other.operand[view->operand], replaced) ||
            memcmp(replaced, other.argument + view->at, sizeof replaced) != 0)
            return;
    }
    for (int i = 0; i < plan->views; i++) {
        const unsigned at = plan->view[i].at;
        memcpy(plan->argument + at, first.argument + at, LAUNCH_VIEW_BYTES);
    }
    plan->maps_items = first.items;
    plan->maps_k = first.k;
}

CUresult launcher_put_maps(const struct launch_plan *plan, struct launch *launch)
{
    bool done =
        launch->items == plan->maps_items && launch->k == plan->maps_k && cuda.TensorMapReplaceAddress;
    for (int i = 0; i < plan->views && done; i++) {
        const struct tensor_view *const view = &plan->view[i];
        done = replace_address(view, plan->argument + view->at, launch->operand[view->operand],
                               launch->argument + view->at);
    }
    return done ? CUDA_SUCCESS : launcher_encode(plan, launch);
}
