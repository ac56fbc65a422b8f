#include "launcher.h"

_Static_assert(sizeof(CUtensorMap) == LAUNCH_VIEW_BYTES, "a tensor map is as launch_plan.h says");

enum status launcher_check(const struct launch_plan *plan, int arch)
{
    bool extended = false;
    for (int i = 0; i < plan->kernels; i++) extended = extended || launch_has_attributes(&plan->kernel[i]);
    const bool views = plan->views > 0;
    if (!extended && !views) return OK;
    if (arch < 90) return fail(E_ABSENT, "clusters, dependent launches and tensor maps need sm_90");
    if (extended && !cuda.LaunchKernelEx)
        return fail(
            E_ABSENT,
            "the driver lacks cuLaunchKernelEx, which clusters and dependent launches need: update it");
    if (views && !cuda.TensorMapEncodeTiled)
        return fail(E_ABSENT, "the driver lacks cuTensorMapEncodeTiled, which tensor maps need: update it");
    return OK;
}
