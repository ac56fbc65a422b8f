#include "nvml.h"

#include "library.h"

#include <pthread.h>
#include <string.h>

/* The toolkit's headers do not always include nvml.h, so the few prototypes are written out here. Every
 * result is an int, 0 means success; a device is an opaque pointer. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

/* nvmlProcessInfo_t, version 2 and later. */
struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

static struct {
    int (*Init)(void);
    int (*DriverVersion)(char *, unsigned);
    int (*HandleByUuid)(const char *, void **);
    int (*ClockInfo)(void *, int, unsigned *);
    int (*MaxClockInfo)(void *, int, unsigned *);
    int (*PowerUsage)(void *, unsigned *);
    int (*PowerLimit)(void *, unsigned *);
    int (*Temperature)(void *, int, unsigned *);
    int (*Reasons)(void *, unsigned long long *);
    int (*Energy)(void *, unsigned long long *);                 /* NULL where the driver has none */
    int (*Processes)(void *, unsigned *, struct nvml_process *); /* the same */
} nvml_api;

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static bool usable;

static void open_library(void)
{
    static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so"};
    const struct library_names library = {"GEMMTUNE_LIBNVML", names, 2, false, false};
    const struct library_symbol symbols[] = {
        {"nvmlInit_v2", &nvml_api.Init},
        {"nvmlSystemGetDriverVersion", &nvml_api.DriverVersion},
        {"nvmlDeviceGetHandleByUUID", &nvml_api.HandleByUuid},
        {"nvmlDeviceGetClockInfo", &nvml_api.ClockInfo},
        {"nvmlDeviceGetMaxClockInfo", &nvml_api.MaxClockInfo},
        {"nvmlDeviceGetPowerUsage", &nvml_api.PowerUsage},
        {"nvmlDeviceGetEnforcedPowerLimit", &nvml_api.PowerLimit},
        {"nvmlDeviceGetTemperature", &nvml_api.Temperature},
    };
    /* Renamed in release 535; newer drivers still have the old name. */
    const struct library_symbol reasons = {"nvmlDeviceGetCurrentClocksEventReasons", &nvml_api.Reasons};
    const struct library_symbol reasons_before = {"nvmlDeviceGetCurrentClocksThrottleReasons",
                                                  &nvml_api.Reasons};
    char why[LIBRARY_WHY_MAX];
    void *handle = library_open(&library, why);
    if (!handle || library_bind(handle, symbols, sizeof symbols / sizeof *symbols)) return;
    if (library_bind(handle, &reasons, 1) && library_bind(handle, &reasons_before, 1)) return;
    const struct library_symbol energy = {"nvmlDeviceGetTotalEnergyConsumption", &nvml_api.Energy};
    const struct library_symbol processes = {"nvmlDeviceGetComputeRunningProcesses_v3", &nvml_api.Processes};
    if (library_bind(handle, &energy, 1)) nvml_api.Energy = NULL;
    if (library_bind(handle, &processes, 1)) nvml_api.Processes = NULL;
    usable = nvml_api.Init() == 0;
}

static bool load(void)
{
    pthread_once(&opened, open_library);
    return usable;
}

bool nvml_open(struct nvml *nvml, const char *uuid)
{
    *nvml = (struct nvml){NULL};
    if (!load()) return false;
    void *handle = NULL;
    if (nvml_api.HandleByUuid(uuid, &handle) != 0) return false;
    nvml->handle = handle;
    return handle != NULL;
}

bool nvml_read(const struct nvml *nvml, struct gpu_state *state)
{
    *state = (struct gpu_state){0};
    if (!nvml->handle) return false;
    unsigned value;
    unsigned long long reasons;
    if (nvml_api.ClockInfo(nvml->handle, CLOCK_SM, &value) == 0) state->sm_clock_mhz = (int)value;
    if (nvml_api.ClockInfo(nvml->handle, CLOCK_MEMORY, &value) == 0) state->memory_clock_mhz = (int)value;
    if (nvml_api.PowerUsage(nvml->handle, &value) == 0) state->power_w = value / 1e3;
    if (nvml_api.Temperature(nvml->handle, SENSOR_GPU, &value) == 0) state->temperature_c = (int)value;
    if (nvml_api.Reasons(nvml->handle, &reasons) == 0) state->throttle_reasons = reasons;
    return true;
}

bool nvml_limits(const struct nvml *nvml, int *sm_clock_mhz, int *memory_clock_mhz, double *power_limit_w)
{
    *sm_clock_mhz = *memory_clock_mhz = 0;
    *power_limit_w = 0;
    if (!nvml->handle) return false;
    unsigned value;
    if (nvml_api.MaxClockInfo(nvml->handle, CLOCK_SM, &value) == 0) *sm_clock_mhz = (int)value;
    if (nvml_api.MaxClockInfo(nvml->handle, CLOCK_MEMORY, &value) == 0) *memory_clock_mhz = (int)value;
    if (nvml_api.PowerLimit(nvml->handle, &value) == 0) *power_limit_w = value / 1e3;
    return true;
}

bool nvml_energy(const struct nvml *nvml, uint64_t *mj)
{
    unsigned long long value;
    *mj = 0;
    if (!nvml->handle || !nvml_api.Energy || nvml_api.Energy(nvml->handle, &value) != 0) return false;
    *mj = value;
    return true;
}

int nvml_processes(const struct nvml *nvml)
{
    enum { MOST = 64, MORE = 7 /* NVML_ERROR_INSUFFICIENT_SIZE */ };
    struct nvml_process process[MOST];
    unsigned count = MOST;
    if (!nvml->handle || !nvml_api.Processes) return 0;
    const int result = nvml_api.Processes(nvml->handle, &count, process);
    return result == 0 || result == MORE ? (int)count : 0;
}

bool nvml_driver_version(char *version, size_t room)
{
    if (load() && nvml_api.DriverVersion(version, (unsigned)room) == 0) return true;
    version[0] = '\0';
    return false;
}
