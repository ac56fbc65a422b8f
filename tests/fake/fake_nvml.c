/* fake_nvml.c — NVML for tests: a GPU whose state the test sets by the struct fake_nvml of this library. */
#include <stdio.h>

struct fake_nvml {
    unsigned sm_clock_mhz, power_mw, limit_mw, processes;
    unsigned long long reasons, mj;
    int no_energy;
};
extern struct fake_nvml fake_nvml;
struct fake_nvml fake_nvml = {.sm_clock_mhz = 1980, .power_mw = 500000, .limit_mw = 700000, .processes = 1};

enum { SUCCESS, NOT_SUPPORTED = 3 };

int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *version, unsigned room);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz);
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *processes);

int nvmlInit_v2(void)
{
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned room)
{
    snprintf(version, room, "580.00");
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    (void)uuid;
    *device = &fake_nvml;
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = clock == 1 ? fake_nvml.sm_clock_mhz : 2619;
    return SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = clock == 1 ? 1980 : 2619;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    (void)device;
    *mw = fake_nvml.power_mw;
    return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw)
{
    (void)device;
    *mw = fake_nvml.limit_mw;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device, (void)sensor;
    *celsius = 40;
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = fake_nvml.reasons;
    return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    (void)device;
    *mj = fake_nvml.mj;
    return fake_nvml.no_energy ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *processes)
{
    (void)device, (void)processes;
    *count = fake_nvml.processes;
    return SUCCESS;
}
