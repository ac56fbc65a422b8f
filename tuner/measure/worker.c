/* worker.c — the GPU worker process: owns the context of one GPU and executes the supervisor's requests.
 *
 * Its state can be rebuilt, so it may be killed at any time. It checks a request completely before using any
 * of it. When the context is lost, it answers once more and ends, because its results would no longer be
 * reliable.
 */
#include "worker.h"
#include "cache.h"
#include "canary.h"
#include "command_line.h"
#include "compile.h"
#include "contenders.h"
#include "driver_version.h"
#include "env.h"
#include "frame.h"
#include "lt_kernel.h"
#include "messages.h"
#include "own_child.h"
#include "roofline.h"
#include "screen.h"
#include "timing.h"
#include "verify.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define SUPERVISOR   3 /* file descriptor of the socket */
#define EXIT_LOST    3 /* the context is lost; the supervisor starts another worker */
#define WARM_LIMIT_S 30.0
#define BLOCK_MS_MAX 10000.0

enum { ANCHOR_SAMPLES = 32 };

struct worker {
    int ordinal;
    const char *cache;
    struct device device;
    bool open; /* the device is open, the judge loaded, and the canary passed */
    struct trial_setup setup;
    struct contenders contenders;
    char cublas[16], nvrtc[16];
};

/* ---- parsing a request ---- */

static enum status unpack_failed(const char *verb, const json_error_t *error)
{
    return fail(E_INPUT, "malformed request '%s' to the GPU worker: %s", verb, error->text);
}

static json_t *writable(const json_t *json)
{
    return (json_t *)(uintptr_t)json;
} /* jansson unpacks non-const only */

/* Parses a candidate and checks it against the rules for the problem and the GPU. Its texts belong to the
 * request. */
static enum status take_candidate(const struct worker *w, const char *verb, const json_t *request,
                                  struct candidate *candidate)
{
    const char *text;
    json_t *facts = NULL;
    json_error_t error;
    if (!w->setup.ready) return fail(E_INPUT, "'%s' was requested before a problem was prepared", verb);
    if (json_unpack_ex(writable(request), &error, 0, "{s:s, s:s, s:s, s?o}", "config", &text, "cubin",
                       &candidate->cubin, "checksum", &candidate->checksum, "facts", &facts))
        return unpack_failed(verb, &error);
    enum status st = config_parse(text, &candidate->config);
    if (!st && facts) st = facts_from_json(facts, &candidate->facts);
    if (st) return st;
    const char *why =
        candidate->config.template->check(&candidate->config, &w->setup.problem, &w->device.gpu);
    return why ? fail(E_INPUT, "'%s' is not legal here: %s", text, why) : OK;
}

static json_t *samples_to_json(const double *samples, int count)
{
    json_t *array = json_array();
    for (int i = 0; array && i < count; i++) json_array_append_new(array, json_real(samples[i]));
    return array;
}

/* How many processes use the GPU, and what power it may take now, go with each block: both may change. */
static json_t *state_to_json(const struct worker *w, const struct gpu_state *s)
{
    const struct nvml *nvml = &w->setup.watch.nvml;
    int sm_clock_mhz, memory_clock_mhz;
    double power_limit_w;
    nvml_limits(nvml, &sm_clock_mhz, &memory_clock_mhz, &power_limit_w);
    return json_pack("{s:i, s:i, s:f, s:i, s:I, s:f, s:i}", "sm_clock_mhz", s->sm_clock_mhz,
                     "memory_clock_mhz", s->memory_clock_mhz, "power_w", s->power_w, "temperature_c",
                     s->temperature_c, "throttle_reasons", (json_int_t)s->throttle_reasons, "power_limit_w",
                     power_limit_w, "processes", nvml_processes(nvml));
}

/* ---- requests ---- */

/* The judge's kernels are compiled while the driver makes a context, which takes a tenth of a second. */
static enum status open_device(struct worker *w)
{
    struct compiled built[ORACLE_PART_COUNT];
    enum status st = device_find(w->ordinal, &w->device);
    if (st) return st;
    struct oracle_build *build = oracle_build_start(w->device.gpu.arch, w->cache, GEMM_TYPE_DEFAULT);
    char why[512];
    st = device_open(w->ordinal, &w->device);
    if (st) snprintf(why, sizeof why, "%s", status_text());
    const enum status compiled = oracle_build_finish(build, built); /* its sentence would be the last one */
    return st ? fail(st, "%s", why) : compiled;
}

static enum status open_worker(struct worker *w)
{
    if (w->open) return OK;
    enum status st = compile_load(w->nvrtc);
    if (!st) st = open_device(w);
    if (!st) st = trial_setup_open(&w->device, w->cache, &w->setup);
    if (!st) st = canary_run(&w->setup);
    w->open = st == OK;
    return st;
}

static json_t *answer_hello(struct worker *w)
{
    char release[64], driver[DRIVER_VERSION_MAX], cuda_text[32], path[256];
    int count = 0, version = 0, sm_clock_mhz, memory_clock_mhz;
    double power_limit_w;
    enum status st = open_worker(w);
    if (!st) st = device_count(&count);
    if (st) return message_failure(st);
    bool nvml = nvml_driver_version(release, sizeof release);
    version = device_driver_version();
    snprintf(cuda_text, sizeof cuda_text, "%d.%d", version / 1000, version % 1000 / 10);
    driver_version(nvml ? release : "", version, driver);
    if (rival_version(w->cublas, path, sizeof path)) w->cublas[0] = '\0';
    nvml_limits(&w->setup.watch.nvml, &sm_clock_mhz, &memory_clock_mhz, &power_limit_w);
    return json_pack("{s:b, s:o, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:i, s:f}", "ok", 1, "gpu",
                     gpu_to_json(&w->device.gpu), "uuid", w->device.uuid, "driver", driver, "cuda", cuda_text,
                     "cublas", w->cublas, "nvrtc", w->nvrtc, "nvml", nvml, "canary", 1, "devices", count,
                     "power_limit_w", power_limit_w);
}

/* Of the time that a preparation should take. */
#define REFERENCE_SHARE   0.1 /* for each of the two references, */
#define REFERENCE_LEAST_S 2.0 /* at least; the rows of C that are judged follow from it */
#define ANCHOR_SHARE      0.2 /* for judging the anchor, if its calls are long */

/* True if there is time for three calls of the anchor that need not be made: only an accuracy class compares
 * errors with its. */
static bool judges_anchor(const struct worker *w, double limit_s)
{
    const double call_us = w->contenders.anchor.timed.call_us;
    return limit_s <= 0 || call_us < SCREEN_LONG_US || gemm_type_has_limits(w->setup.problem.type) ||
           3e-6 * call_us <= ANCHOR_SHARE * limit_s;
}

/* The anchor is judged like any candidate. It also brings the GPU to its steady state. Where one sample is
 * enough, the call that estimated it is that sample. */
static enum status measure_anchor(struct worker *w, double warm_s, double limit_s, double *samples,
                                  int *count, double *spent_s, struct judgement *judgement)
{
    *count = 0;
    *spent_s = 0;
    if (!w->contenders.has_anchor) return OK;
    enum status st = judges_anchor(w, limit_s)
                         ? oracle_judge(&w->setup.oracle, &w->contenders.anchor.kernel, judgement)
                         : OK;
    if (!st && judgement->right) w->setup.anchor_errors = judgement->errors;
    if (!st && screen_samples(w->contenders.anchor.timed.call_us) == 1) {
        samples[(*count)++] = w->contenders.anchor.timed.call_us;
        return OK;
    }
    if (!st && warm_s > 0)
        return timed_warm_up(&w->contenders.anchor.timed, warm_s, samples, ANCHOR_SAMPLES, count, spent_s);
    int64_t calls;
    *count = 3;
    return st ? st
              : timed_blocks(&w->contenders.anchor.timed, *count, MEASURE_BLOCK_US, samples, &calls, NULL);
}

/* The algorithms that cublasLt proposes; [] where there are none, or no cublasLt. */
static enum status propose_library(struct worker *w, json_t **library)
{
    struct config configs[BLAS_LT_ANSWERS_MAX];
    char text[CONFIG_TEXT_MAX];
    int count;
    enum status st = lt_kernel_candidates(&w->device, &w->setup.problem, configs, &count);
    *library = json_array();
    for (int i = 0; !st && i < count; i++) {
        config_format(&configs[i], text);
        json_array_append_new(*library, json_string(text));
    }
    return st && device_lost() ? st : OK;
}

static json_t *answer_prepare(struct worker *w, const json_t *request)
{
    const char *text;
    int cold, one_by_one = 0;
    json_int_t seed;
    double warm_s, limit_s = 0, spent_s, samples[ANCHOR_SAMPLES];
    json_error_t error;
    struct problem problem;
    struct judgement judgement = {.right = true, .errors = accuracy_unknown()};
    int count;
    if (json_unpack_ex(writable(request), &error, 0, "{s:s, s:b, s:I, s:F, s?F, s?b}", "problem", &text,
                       "cold", &cold, "seed", &seed, "warm_s", &warm_s, "limit_s", &limit_s, "one_by_one",
                       &one_by_one))
        return message_failure(unpack_failed("prepare", &error));
    if (seed < 0 || !(warm_s >= 0) || !(limit_s >= 0))
        return message_failure(fail(E_INPUT, "prepare: seed, warm_s or limit_s is negative"));
    enum status st = problem_parse(text, &problem);
    if (st) return message_failure(st);
    contenders_close(&w->contenders);
    w->setup.watch.one_by_one = one_by_one;
    w->setup.reference_s =
        limit_s > 0 ? fmin(ORACLE_SECONDS, fmax(REFERENCE_LEAST_S, REFERENCE_SHARE * limit_s)) : 0;
    st = trial_setup_prepare(&w->setup, &problem, cold, (uint64_t)seed);
    if (!st) st = contenders_open(&w->setup, &w->contenders);
    if (!st)
        st = measure_anchor(w, fmin(warm_s, WARM_LIMIT_S), limit_s, samples, &count, &spent_s, &judgement);
    json_t *library = NULL;
    if (!st) st = propose_library(w, &library);
    if (st) {
        json_decref(library);
        json_t *failure = message_failure(st);
        contenders_close(&w->contenders);
        trial_setup_clear(&w->setup);
        return failure;
    }
    return json_pack(
        "{s:b, s:o, s:f, s:s, s:o, s:f, s:i, s:b, s:s, s:o*, s:I, s:I}", "ok", 1, "library", library,
        "anchor_us", count ? samples[count - 1] : 0.0, "rival", count ? w->contenders.anchor_row->name : "",
        "anchor_samples_us", samples_to_json(samples, count), "warm_s", spent_s, "sets",
        w->setup.work.layout.sets, "anchor_right", judgement.right, "anchor_detail", judgement.detail,
        "anchor_errors", accuracy_to_json(&judgement.errors), "judged_rows",
        (json_int_t)w->setup.oracle.plan.rows, "rows", (json_int_t)w->setup.oracle.plan.rows_all);
}

static json_t *answer_trial(struct worker *w, const json_t *request)
{
    struct candidate candidate = {0};
    struct outcome outcome;
    double best_us, limit_s = 0;
    json_error_t error;
    enum status st = take_candidate(w, "trial", request, &candidate);
    if (st) return message_failure(st);
    if (json_unpack_ex(writable(request), &error, 0, "{s:F, s?F}", "best_us", &best_us, "limit_s", &limit_s))
        return message_failure(unpack_failed("trial", &error));
    if (!(best_us >= 0) || !(limit_s >= 0))
        return message_failure(fail(E_INPUT, "trial: best_us or limit_s is not a time"));
    st = trial_run(&w->setup, &candidate, best_us, limit_s, &outcome);
    if (st) return message_failure(st);
    return json_pack("{s:b, s:o}", "ok", 1, "outcome", outcome_to_json(&outcome));
}

/* Whose block is requested. `detail` belongs to the contenders. */
static enum status find_runner(struct worker *w, const char *who, const json_t *request,
                               struct runner **runner, const char **detail)
{
    struct candidate candidate = {0};
    if (strcmp(who, "config") == 0) {
        enum status st = take_candidate(w, "block", request, &candidate);
        return st ? st : contenders_find(&w->contenders, &candidate, runner);
    }
    if (!w->setup.ready) return fail(E_ABSENT, "block: no problem was prepared");
    if (strcmp(who, "anchor") != 0) return contenders_rival(&w->contenders, who, runner, detail);
    if (!w->contenders.has_anchor)
        return fail(E_ABSENT, "block: cuBLAS is missing or does not support the problem");
    *runner = &w->contenders.anchor;
    return OK;
}

static json_t *answer_block(struct worker *w, const json_t *request)
{
    const char *who, *name = timing_name(TIMING_REPEAT), *detail = "";
    double block_ms, lead_ms = 0;
    json_error_t error;
    enum call_timing timing;
    struct block block;
    struct runner *runner = NULL;
    if (json_unpack_ex(writable(request), &error, 0, "{s:s, s:F, s?s, s?F}", "who", &who, "block_ms",
                       &block_ms, "timing", &name, "lead_ms", &lead_ms))
        return message_failure(unpack_failed("block", &error));
    if (!(block_ms > 0 && block_ms <= BLOCK_MS_MAX) || !(lead_ms >= 0 && lead_ms <= BLOCK_MS_MAX))
        return message_failure(fail(E_INPUT, "block: block_ms = %g or lead_ms = %g is outside 0..%g",
                                    block_ms, lead_ms, BLOCK_MS_MAX));
    enum status st = timing_parse(name, &timing);
    if (!st) st = find_runner(w, who, request, &runner, &detail);
    if (!st) st = contenders_block(&w->contenders, runner, timing, lead_ms, block_ms, &block);
    if (st) return message_failure(st);
    return json_pack("{s:b, s:f, s:f, s:f, s:I, s:s, s:o}", "ok", 1, "time_us", block.time_us, "joules",
                     block.joules, "watts", block.watts, "launches", (json_int_t)block.calls, "detail",
                     detail, "state", state_to_json(w, &block.state));
}

static json_t *answer_verify(struct worker *w, const json_t *request)
{
    struct candidate candidate = {0};
    struct verification v;
    double call_us = 0, limit_s = 0;
    json_error_t error;
    enum status st = take_candidate(w, "verify", request, &candidate);
    if (!st &&
        json_unpack_ex(writable(request), &error, 0, "{s?F, s?F}", "call_us", &call_us, "limit_s", &limit_s))
        st = unpack_failed("verify", &error);
    if (!st && (!(call_us >= 0) || !(limit_s >= 0)))
        st = fail(E_INPUT, "verify: call_us or limit_s is not a time");
    if (!st) st = verify_run(&w->setup, &candidate, call_us, limit_s, &v);
    if (st) return message_failure(st);
    return json_pack("{s:b, s:s, s:s, s:i, s:i, s:o*, s:o*}", "ok", 1, "verdict", verdict_name(v.verdict),
                     "detail", v.detail, "shapes", v.shapes, "skipped", v.skipped, "errors",
                     accuracy_to_json(&v.errors), "checked", accuracy_checked_to_json(&v.checked));
}

static json_t *answer_roofline(struct worker *w, const json_t *request)
{
    (void)request;
    struct roofline roofline;
    enum status st = roofline_measure(&w->setup.watch, w->cache, &roofline);
    if (st) return message_failure(st);
    return json_pack("{s:b, s:f, s:f}", "ok", 1, "fp32_tflops", roofline.fp32_tflops, "gb_per_s",
                     roofline.gb_per_s);
}

static const struct {
    const char *verb;
    json_t *(*answer)(struct worker *w, const json_t *request);
} requests[] = {
    {"prepare", answer_prepare}, {"trial", answer_trial},       {"block", answer_block},
    {"verify", answer_verify},   {"roofline", answer_roofline},
};

static json_t *answer(void *self, const json_t *request)
{
    struct worker *w = self;
    const char *verb = json_string_value(json_object_get(request, "do"));
    if (verb && env_is_on("GEMMTUNE_TEST")) {
        if (strcmp(verb, "crash") == 0) abort();
        if (strcmp(verb, "hang") == 0)
            for (;;) pause();
    }
    if (verb && strcmp(verb, "hello") == 0) return answer_hello(w);
    for (size_t i = 0; verb && i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(requests[i].verb, verb) != 0) continue;
        if (w->open) return requests[i].answer(w, request);
        return message_failure(fail(E_INPUT, "'%s' was requested before hello was answered", verb));
    }
    return message_failure(
        fail(E_INPUT, "the GPU worker does not know the request '%.40s'", verb ? verb : ""));
}

/* ---- the process ---- */

/* The process ends with the supervisor, and leaves the terminal's signals to it. */
static void settle(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the whole group; the supervisor handles it */
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* a core file of a CUDA process has many useless GiB */
}

/* Without exit handlers: closing a lost context may hang, and nothing is left to report. */
static void leave_lost_device(void)
{
    if (device_lost()) _exit(EXIT_LOST);
}

enum status cmd_gpu_worker(int argc, char **argv)
{
    static const struct command_option options[] = {
        {"device", 0, "N", "number of the GPU", OPTION_INT(struct worker, ordinal, 0, 4096)},
        {"cache", 0, "DIR", "folder of compiled kernels", OPTION_TEXT(struct worker, cache)},
        OPTION_ROW_KERNELS};
    static const struct command_line line = {
        .options = options, .option_count = 3, .about = "Child process; started by tune."};
    struct worker w = {.ordinal = -1};
    if (command_line_read(&line, argc, argv, &w) || !w.cache || w.ordinal < 0)
        return fail(E_USAGE, "%s is started by tune itself, with --device N --cache DIR", argv[0]);
    cache_spare(getppid());
    settle();
    enum status st = frame_serve(SUPERVISOR, answer, leave_lost_device, &w);
    contenders_close(&w.contenders);
    trial_setup_close(&w.setup);
    device_close(&w.device);
    return st;
}
