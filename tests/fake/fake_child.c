/* fake_child.c — a compiler and a GPU worker without compiler and GPU, for tests of the supervisor: speaks
 * the messages, invents times that depend on the configuration alone (and a little noise), and misbehaves
 * when told to.
 *
 * Told by the environment; PART is a part of a configuration's text:
 *   FAKE_LOG=FILE       appends "VERB PID CONFIG" for each request, "prepare PID PROBLEM"
 *   FAKE_ANSWERED=FILE  is made when a request has been answered
 *   FAKE_TRIAL_MS, FAKE_BLOCK_MS, FAKE_COMPILE_MS, FAKE_PREPARE_MS    how long it takes (0)
 *   FAKE_WORK_MS        processor time that a trial takes (0)
 *   FAKE_FIRST_PREPARE_MS    how much longer the first preparation of a worker takes
 *   FAKE_LAUNCH_MS      how long a call takes, up to a tenth more by the configuration
 *                       (trial and check make as many as the worker's, the others one)
 *   FAKE_CHECK_MS       how long the last check takes (0)
 *   FAKE_COMPILE_UPTO_MS  the most of a compilation that takes another time each time (0)
 *   FAKE_SLOW=PART, FAKE_SLOW_MS    how much longer the compilation of these takes
 *   FAKE_STEADY=1       no noise in the times
 *   FAKE_SMOOTH=1       times that grow with each value, so that a search learns them
 *   FAKE_DEVICES=N      GPUs there are (1; 0: no driver)
 *   FAKE_OTHER_GPU=N    GPU N is of another model: it has one SM fewer
 *   FAKE_POWER_LIMIT=W  of the GPU (0: unknown)
 *   FAKE_CAPPED=1       blocks of the race find the GPU at its power limit
 *   FAKE_TIRES=PART     under load it takes a third longer
 *   FAKE_JOULES=N       the energy of a call under load (0: not counted); FAKE_FRUGAL=PART takes half of it
 *   FAKE_PROCESSES=N    with a context on the GPU during blocks (0: unknown)
 *   FAKE_LIMIT_FROM=FILE  the power limit is 600 W in blocks while there is such a file, else 700
 *   FAKE_CLOCK_MHZ=N    of its multiprocessors in every trial (0: unknown)
 *   FAKE_UUID=TEXT      of the GPU (GPU-fake-N)
 *   FAKE_DRIVER, FAKE_CUBLAS, FAKE_NVRTC    versions (580.0, 13.1.0, 13.0)
 *   FAKE_NO_NVRTC=1     the compiler has no NVRTC
 *   FAKE_NO_CUBLAS=1    no anchor
 *   FAKE_FAST_CUBLAS=1  the anchor is faster than all candidates
 *   FAKE_FAST_FOR=PART  the same for problems with this in their text
 *   FAKE_WRONG_CUBLAS=1 the anchor's product is wrong
 *   FAKE_LIBRARY=N      cublasLt proposes N algorithms (0)
 *   FAKE_NO_RIVAL=NAME  no "lt" or no "autotune"
 *   FAKE_CRASH=PART, FAKE_HANG=PART, FAKE_GARBAGE=PART, FAKE_WRONG=PART    in a trial, always
 *   FAKE_CRASH_BLOCK=PART         in a block of the race
 *   FAKE_CRASH_ONCE=FILE          in the first trial of all; FILE remembers
 *   FAKE_UNBUILDABLE=PART, FAKE_SPILLS=PART, FAKE_COMPILER_CRASH=PART      the compiler
 *   FAKE_FAST=PART      is faster than all others
 *   FAKE_REFUSE=PART    the last check finds it wrong
 *   FAKE_REFUSE_FROM=FILE         the last check finds all wrong while there is such a file
 *   FAKE_INACCURATE=PART    the last check finds ten times the rival's errors
 *   FAKE_DEAD_GPU=N     the worker of GPU N dies at every preparation
 *   FAKE_DEAD_FROM=FILE the workers die at the end of every preparation while there is such a file
 *   FAKE_NO_COMPILER_FROM=FILE    a compiler dies that starts while there is such a file
 *   FAKE_NO_ROOM=PART   no preparation for a problem with this in its text
 *   FAKE_LOST_CUBIN=FILE          the first trial of all finds no cubin; FILE remembers
 *   FAKE_LOSE_CUBIN=FILE          a trial finds no cubin, once there is FILE, which it removes
 *   FAKE_LOSE_AT=VERB             in place of a trial, a block or the last check (verify) does
 */
#include "config.h"
#include "frame.h"
#include "messages.h"
#include "problem.h"
#include "screen.h"
#include "template.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SUPERVISOR 3
#define CUBIN      "/nowhere/fake.cubin" /* of every kernel */

static uint64_t noise_state = 1;
static int device;
static char prepared[PROBLEM_TEXT_MAX]; /* the problem */

static void note(const char *verb, const char *config)
{
    const char *path = getenv("FAKE_LOG");
    if (!path) return;
    char line[CONFIG_TEXT_MAX + 64];
    int n = snprintf(line, sizeof line, "%s %d %s\n", verb, (int)getpid(), config);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n) abort();
    close(fd);
}

static const char *version(const char *variable, const char *usual)
{
    const char *told = getenv(variable);
    return told ? told : usual;
}

/* In ms, as it is told. */
static double take_time(const char *variable)
{
    const char *ms = getenv(variable);
    double seconds = ms ? 1e-3 * atof(ms) : 0;
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
    return 1e3 * seconds;
}

/* Something up to what is told. */
static double take_any_time(const char *variable)
{
    const char *most = getenv(variable);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t random = ((uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32) * 0x9e3779b97f4a7c15u;
    const double ms = most ? atof(most) * (double)(random >> 11) * 0x1p-53 : 0;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e6 * ms)}, NULL);
    return ms;
}

static void work(const char *variable)
{
    const char *ms = getenv(variable);
    const clock_t end = clock() + (clock_t)(ms ? 1e-3 * atof(ms) * CLOCKS_PER_SEC : 0);
    while (clock() < end) continue;
}

static bool told(const char *variable, const char *config)
{
    const char *part = getenv(variable);
    return part && strstr(config, part);
}

/* True for the first process that asks, in the life of the file. */
static bool first_time(const char *variable)
{
    const char *path = getenv(variable);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static double smooth_time_of(const struct config *config)
{
    double us = 1000;
    for (int p = 0; p < config->template->param_count; p++) us *= 1 + 0.05 * log2(1 + config->value[p]);
    return us;
}

/* Between 1 and 2 ms by the configuration, or 0.9 ms; within 0.05 % of it at each call. */
static double time_of(const char *text)
{
    struct config config;
    double us = 1000;
    if (config_parse(text, &config) == OK)
        us = getenv("FAKE_SMOOTH") ? smooth_time_of(&config)
                                   : 1000 + (double)(config_hash(&config) % 100003) / 100.003;
    if (told("FAKE_FAST", text)) us = 900;
    if (getenv("FAKE_LAUNCH_MS")) us = 1e3 * atof(getenv("FAKE_LAUNCH_MS")) * (1 + 1e-4 * (us - 1000));
    if (getenv("FAKE_STEADY")) return us;
    noise_state = noise_state * 6364136223846793005u + 1442695040888963407u;
    return us * (1 + 1e-3 * ((double)(noise_state >> 40) / (double)(1 << 24) - 0.5));
}

/* ---- compiler ---- */

static json_t *compile(const char *text)
{
    double took_ms = take_time("FAKE_COMPILE_MS") + take_any_time("FAKE_COMPILE_UPTO_MS");
    if (told("FAKE_SLOW", text)) took_ms += take_time("FAKE_SLOW_MS");
    if (told("FAKE_COMPILER_CRASH", text)) abort();
    struct kernel_facts facts = {.registers = 128, .cubin_bytes = 1000, .compile_ms = fmax(1, took_ms)};
    if (told("FAKE_UNBUILDABLE", text))
        return json_pack("{s:b, s:b, s:s, s:s, s:o}", "ok", 1, "built", 0, "verdict", "unbuildable", "detail",
                         "told to", "facts", facts_to_json(&facts));
    if (told("FAKE_SPILLS", text)) facts.spill_bytes = 64;
    return json_pack("{s:b, s:b, s:s, s:s, s:b, s:o}", "ok", 1, "built", 1, "cubin", CUBIN, "checksum",
                     "00112233", "cached", 0, "facts", facts_to_json(&facts));
}

/* ---- worker ---- */

static json_t *hello_of_worker(void)
{
    const char *devices = getenv("FAKE_DEVICES");
    int count = devices ? atoi(devices) : 1;
    if (device >= count) return message_failure(fail(E_GPU, "there is no GPU %d here", device));
    struct gpu gpu;
    if (gpu_read(GT_SOURCE_DIR "/configs/gpus/h200.conf", &gpu)) return message_failure(E_IO);
    const char *other = getenv("FAKE_OTHER_GPU");
    if (other && atoi(other) == device) gpu.sm_count--;
    char uuid[48];
    if (getenv("FAKE_UUID")) snprintf(uuid, sizeof uuid, "%s", getenv("FAKE_UUID"));
    else snprintf(uuid, sizeof uuid, "GPU-fake-%d", device);
    const char *limit = getenv("FAKE_POWER_LIMIT");
    return json_pack("{s:b, s:o, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:i, s:f}", "ok", 1, "gpu",
                     gpu_to_json(&gpu), "uuid", uuid, "driver", version("FAKE_DRIVER", "580.0"), "cuda",
                     "13.0", "cublas", version("FAKE_CUBLAS", "13.1.0"), "nvrtc", "13.0", "nvml", 1, "canary",
                     1, "devices", count, "power_limit_w", limit ? atof(limit) : 0.0);
}

/* An error of its own for each: 1, 2 and 3 times so much. */
static json_t *errors(double unit)
{
    return json_pack("{s:f, s:f, s:f}", "componentwise", unit, "rms", 2 * unit, "max", 3 * unit);
}

/* Algorithms 1 to N. */
static json_t *library(void)
{
    const char *count = getenv("FAKE_LIBRARY");
    json_t *texts = json_array();
    struct config config = {.template = template_find("cublaslt")};
    char text[CONFIG_TEXT_MAX];
    for (int i = 1; count && i <= atoi(count); i++) {
        if (!config_set(&config, "ALGO", i) || !config_set(&config, "VERSION", 130100)) abort();
        config_format(&config, text);
        json_array_append_new(texts, json_string(text));
    }
    return texts;
}

static json_t *prepare(const char *text)
{
    struct problem problem;
    if (problem_parse(text, &problem)) return message_failure(E_INPUT);
    const char *dead = getenv("FAKE_DEAD_GPU");
    if (dead && atoi(dead) == device) abort();
    if (told("FAKE_NO_ROOM", text)) return message_failure(fail(E_GPU, "told to have no room"));
    static bool warm;
    if (!warm) take_time("FAKE_FIRST_PREPARE_MS");
    warm = true;
    take_time("FAKE_PREPARE_MS");
    snprintf(prepared, sizeof prepared, "%s", text);
    const double launch_ms = take_time("FAKE_LAUNCH_MS");
    const char *dead_from = getenv("FAKE_DEAD_FROM");
    if (dead_from && access(dead_from, F_OK) == 0) abort();
    double anchor_us = getenv("FAKE_NO_CUBLAS") ? 0 : launch_ms > 0 ? 1e3 * launch_ms : 1100;
    const char *rival = anchor_us == 0 ? "" : problem.type == GEMM_TF32 ? "cublasGemmEx TF32" : "cublasSgemm";
    return json_pack("{s:b, s:o, s:f, s:s, s:[f], s:f, s:i, s:b, s:o*}", "ok", 1, "library", library(),
                     "anchor_us", anchor_us, "rival", rival, "anchor_samples_us", anchor_us, "warm_s", 0.0,
                     "sets", 2, "anchor_right", !getenv("FAKE_WRONG_CUBLAS"), "anchor_errors",
                     anchor_us > 0 ? errors(2e-7) : NULL);
}

static double take_calls(int calls)
{
    double took_ms = 0;
    for (int i = 0; i < calls; i++) took_ms += take_time("FAKE_LAUNCH_MS");
    return took_ms;
}

/* True if it finds no cubin. */
static bool loses_cubin(const char *verb)
{
    const char *lose = getenv("FAKE_LOSE_CUBIN"), *at = getenv("FAKE_LOSE_AT");
    return lose && strcmp(verb, at ? at : "trial") == 0 && unlink(lose) == 0;
}

static json_t *trial(const char *text, double best_us, double limit_s)
{
    const double call_ms = take_calls(1);
    const bool at_sight = screen_at_sight(1e3 * call_ms, best_us, limit_s);
    const double took_ms =
        take_time("FAKE_TRIAL_MS") + call_ms + take_calls(at_sight ? 0 : TRIAL_CALLS_LEAST - 1);
    work("FAKE_WORK_MS");
    if (told("FAKE_CRASH", text) || first_time("FAKE_CRASH_ONCE")) abort();
    if (told("FAKE_HANG", text))
        for (;;) pause();
    if (told("FAKE_GARBAGE", text)) (void)!write(SUPERVISOR, "Segmentation fault", 18);
    if (first_time("FAKE_LOST_CUBIN") || loses_cubin("trial"))
        return message_failure(fail(E_IO, "no such cubin"));
    struct outcome o = {.verdict = VERDICT_MEASURED, .exact = true, .cold = true, .worst_error = 0.1};
    if (told("FAKE_WRONG", text)) o = outcome_failed(VERDICT_WRONG, "told to");
    else {
        o.sample_count = at_sight ? 1 : 5;
        if (at_sight) o.verdict = VERDICT_SLOW;
        for (int i = 0; i < o.sample_count; i++) o.samples_us[i] = time_of(text);
        o.time_us = o.samples_us[o.sample_count / 2];
        if (getenv("FAKE_CLOCK_MHZ")) o.state.sm_clock_mhz = atoi(getenv("FAKE_CLOCK_MHZ"));
    }
    o.errors = (struct accuracy){1e-7, 2e-7, 3e-7};
    o.wall_ms = fmax(1, took_ms);
    return json_pack("{s:b, s:o}", "ok", 1, "outcome", outcome_to_json(&o));
}

static json_t *block(const char *who, const char *text, const char *timing)
{
    take_time("FAKE_BLOCK_MS");
    if (strcmp(who, "config") == 0 && loses_cubin("block"))
        return message_failure(fail(E_IO, "no such cubin"));
    if (told("FAKE_CRASH_BLOCK", text)) abort();
    take_calls(1);
    if (told("FAKE_NO_RIVAL", who)) return message_failure(fail(E_ABSENT, "told to have no %s", who));
    const bool fast = getenv("FAKE_FAST_CUBLAS") || told("FAKE_FAST_FOR", prepared);
    const bool load = strcmp(timing, "load") == 0;
    const char *limit = getenv("FAKE_LIMIT_FROM"), *processes = getenv("FAKE_PROCESSES");
    double joules = load && getenv("FAKE_JOULES") ? atof(getenv("FAKE_JOULES")) : 0;
    double us = strcmp(who, "config") == 0   ? time_of(text)
                : strcmp(who, "anchor") == 0 ? (fast ? 0.5 : 1.1) * time_of("")
                                             : 0.9 * time_of(""); /* "lt", "autotune" */
    if (load && told("FAKE_TIRES", text)) us *= 4.0 / 3;
    if (told("FAKE_FRUGAL", text)) joules /= 2;
    return json_pack("{s:b, s:f, s:f, s:f, s:i, s:s, s:{s:i, s:i, s:f, s:f, s:i}}", "ok", 1, "time_us", us,
                     "joules", joules, "watts", 1e6 * joules / us, "launches", 10, "detail",
                     strcmp(who, "lt") == 0 ? "answer 2 of 7" : "", "state", "throttle_reasons",
                     getenv("FAKE_CAPPED") ? 4 : 0, "sm_clock_mhz", getenv("FAKE_CAPPED") ? 1410 : 0,
                     "power_w", getenv("FAKE_CAPPED") ? 690.0 : 0.0, "power_limit_w",
                     !limit                     ? 0.0
                     : access(limit, F_OK) == 0 ? 600.0
                                                : 700.0,
                     "processes", processes ? atoi(processes) : 0);
}

/* Of an accuracy class. */
static json_t *checked(void)
{
    struct problem problem;
    if (problem_parse(prepared, &problem) || !gemm_type_has_limits(problem.type)) return NULL;
    const struct accuracy_checked c = {.kinds = 12, .bounded = 3, .m = 64, .n = 65, .k = 66, .rms = 0.44};
    return accuracy_checked_to_json(&c);
}

static json_t *verify(const char *text, double call_us, double limit_s)
{
    const int runs = screen_check_runs(call_us, limit_s);
    take_time("FAKE_CHECK_MS");
    if (loses_cubin("verify")) return message_failure(fail(E_IO, "no such cubin"));
    take_calls(runs ? TRIAL_CALLS_LEAST - 1 + runs : CHECK_CALLS_LEAST);
    const char *from = getenv("FAKE_REFUSE_FROM");
    bool wrong = told("FAKE_REFUSE", text) || (from && access(from, F_OK) == 0);
    return json_pack("{s:b, s:s, s:s, s:i, s:o, s:o*}", "ok", 1, "verdict", wrong ? "wrong" : "measured",
                     "detail", wrong ? "told to" : "", "shapes", 20, "errors",
                     errors(told("FAKE_INACCURATE", text) ? 2e-6 : 1e-7), "checked", checked());
}

static json_t *answer(const json_t *request, bool compiler)
{
    const char *verb = "", *text = "", *who = "", *problem = "", *cubin = CUBIN, *timing = "repeat";
    double best_us = 0, call_us = 0, limit_s = 0;
    json_unpack((json_t *)(uintptr_t)request, "{s:s, s?s, s?{s:s}, s?s, s?s, s?s, s?s, s?F, s?F, s?F}", "do",
                &verb, "config", &text, "key", "config", &text, "who", &who, "problem", &problem, "cubin",
                &cubin, "timing", &timing, "best_us", &best_us, "call_us", &call_us, "limit_s", &limit_s);
    note(verb, *problem ? problem : text);
    if (cubin[0] && strcmp(cubin, CUBIN) != 0) /* "": of an algorithm of the library */
        return message_failure(fail(E_IO, "no such cubin: %s", cubin));
    if (compiler && strcmp(verb, "hello") == 0)
        return getenv("FAKE_NO_NVRTC")
                   ? message_failure(fail(E_COMPILER, "NVRTC is not installed"))
                   : json_pack("{s:b, s:s}", "ok", 1, "nvrtc", version("FAKE_NVRTC", "13.0"));
    if (compiler) return compile(text);
    if (strcmp(verb, "hello") == 0) return hello_of_worker();
    if (strcmp(verb, "prepare") == 0) return prepare(problem);
    if (strcmp(verb, "trial") == 0) return trial(text, best_us, limit_s);
    if (strcmp(verb, "block") == 0) return block(who, text, timing);
    if (strcmp(verb, "verify") == 0) return verify(text, call_us, limit_s);
    if (strcmp(verb, "roofline") == 0)
        return json_pack("{s:b, s:f, s:f}", "ok", 1, "fp32_tflops", 60.0, "gb_per_s", 4000.0);
    return message_failure(fail(E_CHILD, "unknown request"));
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool compiler = argc > 1 && strcmp(argv[1], "_compiler") == 0;
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--device") == 0) device = atoi(argv[i + 1]);
    noise_state = (uint64_t)getpid();
    for (int i = 0; i < 2; i++)
        if (first_time(compiler ? i ? "FAKE_COMPILER_DEATH_2" : "FAKE_COMPILER_DEATH"
                       : i      ? "FAKE_WORKER_DEATH_2"
                                : "FAKE_WORKER_DEATH"))
            abort();
    const char *no_compiler = getenv("FAKE_NO_COMPILER_FROM");
    if (compiler && no_compiler && access(no_compiler, F_OK) == 0) abort();
    json_t *request;
    while (frame_receive(SUPERVISOR, &request) == OK) {
        json_t *reply = answer(request, compiler);
        json_decref(request);
        enum status st = frame_send(SUPERVISOR, reply);
        json_decref(reply);
        if (st) return 1;
        first_time("FAKE_ANSWERED");
    }
    return 0;
}
