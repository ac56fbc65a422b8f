#include "survey.h"

#include "clock.h"
#include "compile.h"
#include "device.h"
#include "driver_version.h"
#include "nvml.h"
#include "print.h"
#include "rivals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART_SECONDS 60

json_t *survey_finding(const char *item, bool found, const char *version, const char *detail,
                       const char *advice)
{
    return json_pack("{s:s, s:b, s:s, s:s, s:s}", "item", item, "found", found, "version", version, "detail",
                     detail, "advice", advice);
}

static void add(json_t *findings, const char *item, bool found, const char *version, const char *detail,
                const char *advice)
{
    json_array_append_new(findings, survey_finding(item, found, version, detail, advice));
}

static void look_at_gpu(json_t *findings, int ordinal)
{
    struct device device;
    char item[32], arch[16], detail[256];
    snprintf(item, sizeof item, "GPU %d", ordinal);
    if (device_open(ordinal, &device)) {
        add(findings, item, false, "", status_text(), "see what nvidia-smi says of this GPU");
        return;
    }
    const struct gpu *gpu = &device.gpu;
    struct nvml nvml;
    struct gpu_state now;
    gpu_arch_name(gpu->arch, arch);
    int used = snprintf(detail, sizeof detail, "%s: %d SMs, %lld GiB, %.0f GB/s, %.1f TFLOPS in FP32",
                        gpu->name, gpu->sm_count, (long long)(gpu->memory_bytes >> 30), gpu->memory_gb_per_s,
                        gpu_rate(gpu, "fp32"));
    if (nvml_open(&nvml, device.uuid) && nvml_read(&nvml, &now))
        snprintf(detail + used, sizeof detail - (size_t)used, "; now %d MHz, %d C, %.0f W", now.sm_clock_mhz,
                 now.temperature_c, now.power_w);
    add(findings, item, true, arch, detail, "");
    device_close(&device);
}

static void look_at_driver(json_t *findings)
{
    char version[80], release[DRIVER_VERSION_MAX] = "", detail[64];
    int count = 0;
    if (device_count(&count)) {
        add(findings, "driver", false, "", status_text(),
            "without a GPU, tune --gpu NAME compiles and predicts for a named one");
    } else {
        snprintf(detail, sizeof detail, "supports CUDA %d.%d; %d GPU%s", device_driver_version() / 1000,
                 device_driver_version() % 1000 / 10, count, PRINT_S(count));
        if (!nvml_driver_version(release, sizeof release)) driver_release(release);
        add(findings, "driver", true, release, detail, "");
    }
    for (int i = 0; i < count; i++) look_at_gpu(findings, i);
    bool nvml = nvml_driver_version(version, sizeof version);
    add(findings, "NVML", nvml, nvml ? version : "",
        nvml ? "clocks, power and throttling are recorded" : "not found",
        nvml ? ""
             : "it comes with the driver; without it tuning works, but clocks and throttling are not "
               "recorded");
}

/* Compiles a kernel of one line into a folder that is removed afterwards. */
static enum status try_compiler(double *ms)
{
    static const struct source_text probe = {
        "probe.cu", "extern \"C\" __global__ void gemm(float *p) { p[threadIdx.x] *= 2; }\n"};
    char folder[] = "/tmp/gemmtune-doctor-XXXXXX", json_path[1100];
    struct compiled out;
    if (!mkdtemp(folder)) return fail(E_IO, "cannot make a folder in /tmp: %s", strerror(errno));
    enum status st = compile_sources(&probe, 1, NULL, 0, 80, folder, &out);
    if (!st && !out.built) st = fail(E_COMPILER, "it refuses a kernel of one line: %s", out.log);
    *ms = st ? 0 : out.facts.compile_ms;
    if (!st) {
        snprintf(json_path, sizeof json_path, "%.*s.json", (int)(strlen(out.path) - strlen(".cubin")),
                 out.path);
        unlink(out.path);
        unlink(json_path);
    }
    rmdir(folder);
    return st;
}

static void look_at_compiler(json_t *findings)
{
    char version[16], path[1024], detail[1200];
    double ms = 0;
    if (compile_load(version)) {
        add(findings, "NVRTC", false, "", status_text(),
            "install the CUDA toolkit, or with pip nvidia-cuda-nvrtc; in the source tree tools/setup.sh "
            "does");
        return;
    }
    if (compile_library(path, sizeof path)) path[0] = '\0';
    if (try_compiler(&ms)) {
        add(findings, "NVRTC", false, version, status_text(), "install the CUDA toolkit again");
        return;
    }
    snprintf(detail, sizeof detail, "%s; compiled a kernel in %.0f ms", path, ms);
    add(findings, "NVRTC", true, version, detail, "");
}

static void look_at_rival(json_t *findings)
{
    char version[16], path[1024];
    if (rival_version(version, path, sizeof path))
        add(findings, "cuBLAS", false, "", status_text(),
            "without it tuning works, but nothing is compared with it");
    else add(findings, "cuBLAS", true, version, path, "");
}

/* Runs in the child: collects findings, writes them as JSON text, ends without the caller's exit handlers. */
static void run_part(void (*look)(json_t *findings), int fd)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    json_t *findings = json_array();
    look(findings);
    _exit(json_dumpfd(findings, fd, JSON_COMPACT) == 0 ? 0 : 1);
}

/* Reads until the other end closes; false at the deadline or out of memory. */
static bool read_until_closed(int fd, char *text, size_t room)
{
    double deadline = now_s() + PART_SECONDS;
    for (size_t used = 0;;) {
        double left = deadline - now_s();
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        if (left <= 0 || used + 1 >= room) return false;
        int ready = poll(&wanted, 1, (int)(1e3 * left) + 1);
        if (ready < 0 && errno != EINTR) return false;
        if (ready <= 0) continue;
        ssize_t got = read(fd, text + used, room - used - 1);
        if (got < 0) return false;
        used += (size_t)got;
        text[used] = '\0';
        if (got == 0) return true;
    }
}

/* Appends the findings of a part. A crash or a deadline is a finding, too. */
static enum status survey_part(const char *item, void (*look)(json_t *findings), json_t *findings)
{
    static char text[1 << 16];
    int ends[2], how = 0;
    char detail[128];
    if (pipe(ends)) return fail(E_CHILD, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL); /* or the child would write our buffers a second time */
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return fail(E_CHILD, "cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        close(ends[0]);
        run_part(look, ends[1]);
    }
    close(ends[1]);
    bool whole = read_until_closed(ends[0], text, sizeof text);
    close(ends[0]);
    if (!whole) kill(pid, SIGKILL);
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) continue;

    json_t *found = whole ? json_loads(text, 0, NULL) : NULL;
    if (found && WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        json_array_extend(findings, found);
        json_decref(found);
        return OK;
    }
    json_decref(found);
    if (!whole) snprintf(detail, sizeof detail, "gave no answer within %d s", PART_SECONDS);
    else if (WIFSIGNALED(how))
        snprintf(detail, sizeof detail, "crashed the process that checked it (%s)", strsignal(WTERMSIG(how)));
    else
        snprintf(detail, sizeof detail, "ended the process that checked it (exit status %d)",
                 WEXITSTATUS(how));
    add(findings, item, false, "", detail, "install it again; see what nvidia-smi says");
    return OK;
}

enum status survey_machine(json_t **findings)
{
    json_t *list = json_array();
    if (!list) return fail(E_MEMORY, "out of memory");
    enum status st = survey_part("driver", look_at_driver, list);
    if (!st) st = survey_part("NVRTC", look_at_compiler, list);
    if (!st) st = survey_part("cuBLAS", look_at_rival, list);
    if (st) {
        json_decref(list);
        return st;
    }
    *findings = list;
    return OK;
}
