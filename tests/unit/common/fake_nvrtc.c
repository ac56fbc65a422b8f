/* fake_nvrtc.c — a compiler that builds nothing in no time, for tests of who calls it how often.
 *
 * Its "cubin" is the list of options. FAKE_NVRTC_REFUSES=TEXT: what is compiled with an option that contains
 * TEXT is refused. FAKE_NVRTC_MS: how long a compilation takes.
 */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int fake_compilations;
extern int fake_compilations;
_Atomic int fake_gate, fake_waiting; /* while gate is 1 compilations wait, and so many do */
extern _Atomic int fake_gate, fake_waiting;

/* As NVRTC does, it registers a destructor during its first compilation, which takes away what another one
 * may be using. */
static _Atomic pid_t compiling_process;
static void destroy(void)
{
    if (fake_waiting && getpid() == compiling_process) _exit(97);
}

static void register_once(void)
{
    static int registered;
    if (!__atomic_exchange_n(&registered, 1, __ATOMIC_RELAXED)) atexit(destroy);
}

struct _nvrtcProgram {
    char text[4096];
    int is_empty; /* a kernel that does nothing: neither counted nor held up */
    int (*callback)(void *payload, void *reserved);
    void *payload;
};

/* As the header of later versions has it. */
nvrtcResult nvrtcSetFlowCallback(nvrtcProgram program, int (*callback)(void *, void *), void *payload);

nvrtcResult nvrtcSetFlowCallback(nvrtcProgram program, int (*callback)(void *, void *), void *payload)
{
    program->callback = callback;
    program->payload = payload;
    return NVRTC_SUCCESS;
}

static int is_cancelled(nvrtcProgram program)
{
    return program->callback && program->callback(program->payload, NULL);
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headers,
                               const char *const *texts, const char *const *names)
{
    (void)source, (void)headers, (void)texts, (void)names;
    *program = calloc(1, sizeof **program);
    if (*program) (*program)->is_empty = strcmp(name, "empty.cu") == 0;
    return *program ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    const char *refuses = getenv("FAKE_NVRTC_REFUSES"), *ms = getenv("FAKE_NVRTC_MS");
    register_once();
    if (program->is_empty) return NVRTC_SUCCESS;
    const struct timespec pause = {.tv_nsec = ms ? atol(ms) * 1000000 : 0};
    nanosleep(&pause, NULL);
    compiling_process = getpid();
    fake_waiting++;
    int cancelled = is_cancelled(program);
    while (fake_gate && !cancelled) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        cancelled = is_cancelled(program);
    }
    fake_waiting--;
    if (cancelled) return (nvrtcResult)16; /* NVRTC_ERROR_CANCELLED, which old headers lack */
    __atomic_add_fetch(&fake_compilations, 1, __ATOMIC_RELAXED);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (refuses && strstr(options[i], refuses)) return NVRTC_ERROR_COMPILATION;
        used += (size_t)snprintf(program->text + used, sizeof program->text - used, "%s\n", options[i]);
    }
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
    *size = strlen(program->text) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
    memcpy(cubin, program->text, strlen(program->text) + 1);
    return NVRTC_SUCCESS;
}

static const char *const ptxas =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 64 registers, used 1 barriers\n";

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = strlen(ptxas) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    (void)program;
    memcpy(log, ptxas, strlen(ptxas) + 1);
    return NVRTC_SUCCESS;
}
