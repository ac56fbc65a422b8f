/* nvml.h — the state of the GPU during timing: clocks, power, temperature, throttle reasons. NVML is opened
 * at run time; without it the figures are 0 and nothing fails.
 */
#ifndef GT_NVML_H
#define GT_NVML_H

#include "outcome.h"
#include <stdbool.h>
#include <stddef.h>

/* Throttle reasons (nvmlClocksEventReasons). */
#define NVML_REASON_SW_POWER_CAP        0x04ull
#define NVML_REASON_HW_SLOWDOWN         0x08ull
#define NVML_REASON_SW_THERMAL_SLOWDOWN 0x20ull
#define NVML_REASON_HW_THERMAL_SLOWDOWN 0x40ull
#define NVML_REASON_HW_POWER_BRAKE      0x80ull

/* A block timed under one of these says nothing about the kernel. The software power cap is not included:
 * large GEMMs normally run under it. */
#define NVML_REASONS_REJECTED                                                                                \
    (NVML_REASON_HW_SLOWDOWN | NVML_REASON_SW_THERMAL_SLOWDOWN | NVML_REASON_HW_THERMAL_SLOWDOWN |           \
     NVML_REASON_HW_POWER_BRAKE)

/* One GPU in NVML; zeroed: none. */
struct nvml {
    void *handle;
};

/* Opens NVML (GEMMTUNE_LIBNVML names another library) and finds the GPU with this UUID ("GPU-..." as in
 * device.h). Returns false, and a zeroed *nvml, if NVML is missing or does not know the GPU. */
bool nvml_open(struct nvml *nvml, const char *uuid);

/* The current state; figures that NVML does not give are 0. Without NVML: false, and all figures 0. */
bool nvml_read(const struct nvml *nvml, struct gpu_state *state);

/* Highest clocks in MHz, and the enforced power limit in watts; 0 if unknown. */
bool nvml_limits(const struct nvml *nvml, int *sm_clock_mhz, int *memory_clock_mhz, double *power_limit_w);

/* The energy that the board has taken since the driver was loaded, in mJ; it goes on in steps of some tens of
 * ms. False if there is no such counter. */
bool nvml_energy(const struct nvml *nvml, uint64_t *mj);

/* Processes that have a context on the GPU, this one among them, as far as NVML may see them; 0: unknown. */
int nvml_processes(const struct nvml *nvml);

/* "580.82.07", or "" and false without NVML. */
bool nvml_driver_version(char *version, size_t room);

#endif
