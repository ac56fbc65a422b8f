/* driver_version.h — the version of the NVIDIA driver: its release, "580.95.05". Where nobody tells that, the
 * version of CUDA that the driver supports stands for it, "CUDA 13.0", which is no release: several releases
 * have it. Both are stored as text.
 */
#ifndef GT_DRIVER_VERSION_H
#define GT_DRIVER_VERSION_H

#include <stdbool.h>

#define DRIVER_VERSION_MAX 64

/* The release of the driver that runs in the kernel, as it says in /proc (GEMMTUNE_PROC names another folder,
 * for tests) or /sys; "": a container may hide both. */
void driver_release(char version[DRIVER_VERSION_MAX]);

/* nvml: the release by NVML, or "", then driver_release is asked; cuda: 13000 for CUDA 13.0, if that is
 * silent, too. */
void driver_version(const char *nvml, int cuda, char version[DRIVER_VERSION_MAX]);

/* Are they known to be of different drivers? Not so if one is "", or one a release and the other is none. */
bool driver_differs(const char *x, const char *y);

#endif
