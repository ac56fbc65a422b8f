#include "dropin.h"

#include "blas_lt.h"
#include "device.h"
#include "dropin_handle.h"
#include "env.h"
#include "exclude.h"
#include "graph_counts.h"
#include "launch_kernel.h"
#include "log.h"
#include "lt_shortcut.h"
#include "stack_room.h"
#include "tf32.h"
#include "watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAVE_EVERY_S 30.0

static struct {
    bool tf32_forbidden;     /* NVIDIA_TF32_OVERRIDE=0: no handle's mode may allow it */
    enum gemm_type accuracy; /* GEMMTUNE_ACCURACY: what is enough for calls that ask for FP32 */
} settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic enum { ASLEEP, STARTING, ON, OFF, FORKED } state; /* FORKED: in a child, from then on */

/* ---- settings ---- */

/* As vLLM sets it for rows whose bits do not depend on the batch: cuBLAS divides no k. Winners that divide
 * none would not do: each size has its own, and cuBLAS computes the others. */
static bool wants_batch_invariance(void)
{
    const char *config = env_text("CUBLAS_WORKSPACE_CONFIG"), *kib = env_text("CUBLASLT_WORKSPACE_SIZE");
    return config && kib && strcmp(config, ":16:8") == 0 && (strcmp(kib, "1") == 0 || strcmp(kib, "0") == 0);
}

/* What the program has chosen for all of its cuBLAS calls, if our kernels do not give it; else NULL. */
static const char *chosen_otherwise(void)
{
    if (wants_batch_invariance())
        return "CUBLAS_WORKSPACE_CONFIG=:16:8 and CUBLASLT_WORKSPACE_SIZE=1 ask for bits that do not depend "
               "on "
               "the batch";
    if (env_is_nonzero("NVIDIA_TF32_OVERRIDE")) return "NVIDIA_TF32_OVERRIDE allows TF32";
    if (env_is_nonzero("CUBLAS_EMULATE_SINGLE_PRECISION")) return "CUBLAS_EMULATE_SINGLE_PRECISION is set";
    return NULL;
}

static void start_recorder(void)
{
    const char *file = env_text("GEMMTUNE_CAPTURE");
    double every_s = SAVE_EVERY_S;
    env_seconds("GEMMTUNE_CAPTURE_S", &every_s);
    if (file) recorder_start(file, every_s);
}

/* Threads that held our locks do not exist in a forked child, so it must not take a lock. Its calls fail as
 * those of the real library do. A child of a program that has not called yet is a program like any other. */
void dropin_in_child(void)
{
    device_in_child();
    if (atomic_load(&state) == ASLEEP) return;
    atomic_store(&state, FORKED);
    recorder_forget();
}

static enum gemm_type accuracy_wanted(void)
{
    static const enum gemm_type types[] = {[ENV_STRICT] = GEMM_SGEMM,
                                           [ENV_ACCURATE] = GEMM_SGEMM_ACCURATE,
                                           [ENV_NORMWISE] = GEMM_SGEMM_NORMWISE,
                                           [ENV_TF32] = GEMM_TF32};
    const enum gemm_type wanted = types[env_choice("GEMMTUNE_ACCURACY")];
    return wanted == GEMM_TF32 && settings.tf32_forbidden ? GEMM_SGEMM : wanted;
}

static void start(void)
{
    const char *other = chosen_otherwise();
    bool on = false;
    log_calls = env_is_on("GEMMTUNE_LOG");
    settings.tf32_forbidden = tf32_is_forbidden();
    settings.accuracy = accuracy_wanted();
    exclude_start(env_text("GEMMTUNE_EXCLUDE"), log_text);
    instead_rules.excludes = exclude_has;
    instead_rules.wait = env_is_on("GEMMTUNE_WAIT");
    instead_rules.nearest = env_choice("GEMMTUNE_DROPIN") == ENV_DROPIN_NEAREST;
    if (!env_is_on("GEMMTUNE_QUIET")) env_report(log_text);
    if (other) {
        if (log_calls) log_say("everything goes to cuBLAS: %s", other);
    } else if (device_load()) {
        if (log_calls) log_say("everything goes to cuBLAS: %s", status_text());
    } else {
        start_recorder();
        record_all = log_calls || recorder_on();
        on = true;
    }
    atomic_store_explicit(&state, on ? ON : OFF, memory_order_release);
}

/* A child must not find the beginning of a thread that it does not have, so the state tells it first. */
static bool is_on_once_started(void)
{
    int asleep = ASLEEP;
    atomic_compare_exchange_strong(&state, &asleep, STARTING);
    if (asleep == FORKED) return false;
    pthread_once(&once, start);
    return atomic_load(&state) == ON;
}

bool dropin_on(void)
{
    const int now = atomic_load_explicit(&state, memory_order_acquire);
    return now == ON || (now < ON && is_on_once_started());
}

bool dropin_is_watched(void)
{
    return record_all;
}

/* ---- one call ---- */

void dropin_end(struct intercept *intercept)
{
    recorder_end(intercept->sample, intercept->stream);
}

/* Counts and times a call that is no problem. */
static void leave_out(const char *why, const CUstream *stream, struct intercept *intercept)
{
    intercept->stream = stream ? *stream : NULL;
    intercept->sample = recorder_leave_out(why, stream);
}

void dropin_refuse(struct refusal *refusal, const struct blas_request *request, struct intercept *intercept)
{
    if (!dropin_on()) return;
    CUstream stream = request ? request->stream : NULL;
    const bool known = request && (!request->handle || (request->real->GetStream &&
                                                        !request->real->GetStream(request->handle, &stream)));
    leave_out(refusal->why, known ? &stream : NULL, intercept);
    if (log_calls && !atomic_flag_test_and_set(&refusal->said))
        log_say("%s -> cuBLAS: %s", refusal->function, refusal->why);
}

struct modes {
    CUstream stream;
    bool pedantic;     /* by math mode or compute type */
    const char *other; /* why cuBLAS computes it: another arithmetic, or not the whole GPU; else NULL */
};

/* Why a call of the type under this math mode has no kernel; NULL: it may have one. */
static const char *why_math(enum gemm_type type, int math)
{
    math &= BLAS_MATH_MODE_MASK;
    if (math == BLAS_DEFAULT_MATH || (math == BLAS_TF32_MATH && settings.tf32_forbidden)) return NULL;
    if (type == GEMM_SGEMM)
        return math == BLAS_PEDANTIC_MATH ? NULL : "its math mode allows less than strict FP32";
    if (type == GEMM_SGEMM_ACCURATE && math == BLAS_BF16X9_MATH) return NULL;
    if (math == BLAS_TF32_MATH || (math == BLAS_TENSOR_MATH && type != GEMM_TF32)) return NULL;
    return "its math mode is neither the default nor TF32";
}

/* What is enough for a call: less than strict FP32 where its handle's math mode says so, or the user. The
 * mode is asked for early only if kernels for what it may allow may be known. */
static enum gemm_type enough_for(const struct blas_request *request, struct gpu_context *context)
{
    int math = -1;
    if (request->type != GEMM_SGEMM || request->pedantic) return request->type;
    const unsigned types = context ? listed_of(context)->types : 0;
    const bool tf32 = !settings.tf32_forbidden && types & GEMM_TYPE_BIT(GEMM_TF32),
               accurate = types & GEMM_TYPE_BIT(GEMM_SGEMM_ACCURATE);
    const bool matters = tf32 || accurate || settings.accuracy != GEMM_SGEMM || dropin_is_watched();
    if (request->handle && matters) {
        if (!request->real->GetMathMode || request->real->GetMathMode(request->handle, &math))
            return request->type;
        math &= BLAS_MATH_MODE_MASK;
        if (math == BLAS_TF32_MATH && !settings.tf32_forbidden) return GEMM_TF32;
        if (math == BLAS_BF16X9_MATH) return GEMM_SGEMM_ACCURATE;
        if (math == BLAS_PEDANTIC_MATH) return GEMM_SGEMM;
    }
    return settings.accuracy;
}

/* False: cuBLAS does not know the handle. */
static bool read_modes(const struct blas_request *request, struct modes *modes)
{
    const struct real_blas *real = request->real;
    int math = -1, multiprocessors = 0;
    *modes = (struct modes){.stream = request->stream, .pedantic = request->pedantic};
    if (!request->handle) return true;
    if (!real->GetStream || !real->GetMathMode || real->GetStream(request->handle, &modes->stream) ||
        real->GetMathMode(request->handle, &math))
        return false;
    /* Versions before 11.5 have no such target. */
    if (real->GetSmCountTarget && real->GetSmCountTarget(request->handle, &multiprocessors)) return false;
    modes->pedantic |= (math & BLAS_MATH_MODE_MASK) == BLAS_PEDANTIC_MATH;
    modes->other = why_math(request->type, math);
    if (!modes->other && multiprocessors) modes->other = "its handle limits the number of SMs";
    return true;
}

struct scalars {
    bool on_device;
    bool adds; /* beta is known, and not 0; a beta on the device counts as 0 */
};

/* False: no kernel is needed (alpha is 0), or cuBLAS would refuse the call. */
static bool read_scalars(const struct blas_request *request, struct scalars *scalars)
{
    int pointer = request->scalars_on_device ? BLAS_DEVICE_SCALARS : BLAS_HOST_SCALARS;
    if (!request->alpha || !request->beta || !request->a || !request->b || !request->c) return false;
    if (request->m < 1 || request->n < 1 || request->k < 1 || request->batch < 1) return false;
    if (request->handle &&
        (!request->real->GetPointerMode || request->real->GetPointerMode(request->handle, &pointer)))
        return false;
    *scalars = (struct scalars){.on_device = pointer == BLAS_DEVICE_SCALARS};
    if (scalars->on_device) return true;
    scalars->adds = *(const float *)request->beta != 0;
    return pointer == BLAS_HOST_SCALARS && *(const float *)request->alpha != 0;
}

/* True if the kernel is an algorithm of cublasLt, and not one for this call. */
static bool is_other_algorithm(const struct blas_request *request, struct record *record,
                               const struct executable *kernel, const struct modes *modes)
{
    unsigned reason = 0;
    const char *why = NULL;
    if (!kernel->cublas) return false;
    if (modes->pedantic) {
        reason = SAID_PEDANTIC;
        why = "its kernel is an algorithm of cublasLt, and the call is pedantic";
    } else if ((uintptr_t)request->bias % BLAS_LT_KEPT_ALIGNMENT) {
        reason = SAID_BIAS;
        why = "its bias is less aligned than its kernel requires";
    }
    if (why) log_call(request, record, reason, why);
    return why;
}

bool dropin_launch(const struct blas_request *request, struct record *record, struct gt_plan *plan,
                   struct executable *kernel, CUstream stream, bool reads_c, int *result)
{
    char why[INSTEAD_WHY_MAX];
    bool untouched;
    const enum launched launched = launch_kernel(plan, kernel, request, stream, &untouched, why);
    *result = BLAS_SUCCESS;
    if (launched == LAUNCHED) return true;
    if (launched == LAUNCH_NOT_THIS) {
        log_call(request, record, SAID_SHORT, why);
        return false;
    }
    instead_give_up(&record->instead, kernel, launched == LAUNCH_FAILS_FOR_NOW ? FAILS_FOR_NOW : FAILS, why);
    log_call(request, record, SAID_FAILED, NULL);
    /* Part of the result may be written; cuBLAS may still compute it if that is not read. */
    *result = BLAS_EXECUTION_FAILED;
    return !untouched && !request->source && reads_c;
}

/* Why there is no kernel at the moment. */
static void tell_passed(const struct blas_request *request, struct record *record)
{
    if (instead_is_compiling(&record->instead))
        log_call(request, record, SAID_COMPILING, "its tuned kernel is being compiled");
    else if (atomic_load(&record->instead.by) == BY_KERNEL)
        log_call(request, record, SAID_CAPTURED,
                 "its tuned kernel was not prepared before the capture of a graph");
    else log_call(request, record, SAID_FAILED, NULL);
}

/* True if the call is done. */
static bool run_tuned(const struct blas_request *request, struct record *record, const struct modes *modes,
                      const struct scalars *scalars, int *result)
{
    struct instead *instead = &record->instead;
    struct executable *kernel = instead_kernel(instead, scalars->on_device, modes->stream);
    if (!kernel) {
        tell_passed(request, record);
        return false;
    }
    if (is_other_algorithm(request, record, kernel, modes)) return false;
    log_call(request, record, SAID_TUNED, NULL);
    struct gt_plan *plan = instead_plan(instead, scalars->on_device);
    const bool reads_c = scalars->on_device || scalars->adds;
    if (!dropin_launch(request, record, plan, kernel, modes->stream, reads_c, result)) return false;
    if (*result == BLAS_SUCCESS) {
        atomic_fetch_add_explicit(&record->tuned, 1, memory_order_relaxed);
        if (request->matmul && request->calls && !dropin_is_watched())
            lt_shortcut_keep(request, record, plan, kernel);
    }
    return true;
}

/* True if the result of a call with an epilogue is also read, as another operand. */
static bool is_shared(const struct blas_request *request, struct record *record)
{
    if (!request->epilogue || record->instead.unnamed) return false;
    const struct gt_plan *plan = record->instead.plan;
    unsigned long long at[OPERANDS];
    blas_request_addresses(request, at);
    if (!overlap_find(&plan->problem, &plan->extents, at)) return false;
    log_call(request, record, SAID_SHARED, "its result shares memory with another operand");
    return true;
}

/* True if the call is done, by a kernel. */
static bool answer(const struct blas_request *request, struct record *record, const struct modes *modes,
                   const struct scalars *scalars, int *result)
{
    if (instead_is_kernel(&record->instead) && is_shared(request, record)) return false;
    if (instead_is_due(&record->instead)) return run_tuned(request, record, modes, scalars, result);
    log_call(request, record, SAID_PASS, NULL);
    return false;
}

/* Handles a call whose problem must be counted or has a tuned kernel. True if the call is done. */
static bool attend(const struct blas_request *request, struct record *record, const struct scalars *scalars,
                   struct intercept *intercept, int *result)
{
    struct modes modes;
    if (!read_modes(request, &modes)) return false;
    /* This check is slow: it is not made only to count calls for the log. */
    const bool matters = instead_is_kernel(&record->instead) || recorder_on() ||
                         !(atomic_load_explicit(&record->said, memory_order_relaxed) & SAID_PASS);
    const char *unusual =
        matters && request->why_unusual ? request->why_unusual(request->why_unusual_of) : NULL;
    if (unusual) {
        leave_out(unusual, &modes.stream, intercept);
        log_call(request, record, SAID_UNUSUAL, unusual);
        return false;
    }
    const char *unnamed = record->instead.unnamed;
    if (modes.other || unnamed) leave_out(modes.other ? modes.other : unnamed, &modes.stream, intercept);
    if (modes.other) {
        log_call(request, record, SAID_MODE, modes.other);
        return false;
    }
    intercept->stream = modes.stream;
    if (recorder_on() && !unnamed) intercept->sample = recorder_begin(record, modes.stream);
    else if (dropin_is_watched()) atomic_fetch_add_explicit(&record->calls, 1, memory_order_relaxed);
    const bool done = answer(request, record, &modes, scalars, result);
    if (recorder_on() && !unnamed) graph_counts_add(record, done, modes.stream);
    return done;
}

bool dropin_take(const struct blas_request *request, struct intercept *intercept, int *result)
{
    struct scalars scalars;
    struct blas_request enough;
    if (!dropin_on()) return false;
    if (!read_scalars(request, &scalars)) {
        leave_out("it has no product to compute (alpha or a size is 0), or cuBLAS refuses it", NULL,
                  intercept);
        return false;
    }
    struct record *record = NULL;
    struct gpu_context *context = request->context ? request->context : dropin_handle_context();
    const enum gemm_type type = enough_for(request, context);
    if (type != request->type) {
        enough = *request;
        enough.type = type;
        enough.matmul = NULL; /* its descriptor asks for what the call's type is */
        record = record_of(&enough, context, scalars.adds);
        /* A kernel for strict FP32 may do what the user is content with. */
        const bool strict_too = type == settings.accuracy && !recorder_on();
        if (!strict_too || (record && instead_is_kernel(&record->instead))) request = &enough;
    }
    if (request != &enough) record = record_of(request, context, scalars.adds);
    if (!record)
        leave_out("there is no room for its problem, or no GPU or operands for a kernel", NULL, intercept);
    return record && (instead_is_kernel(&record->instead) || dropin_is_watched()) &&
           attend(request, record, &scalars, intercept, result);
}

/* ---- the end ---- */

/* The program is the one that tune run has become, not one that it has started. */
static bool is_under_tune_run(void)
{
    const char *run = env_text("GEMMTUNE_RUN");
    return run && strtol(run, NULL, 10) == getpid();
}

static void tell_end(void *nothing)
{
    (void)nothing;
    watch_end();
    recorder_save(true);
    if (log_calls) log_summary();
    if (recorder_on() && env_text("GEMMTUNE_RUN")) log_table();
    else if (atomic_load(&state) == ON && !log_calls && !env_is_on("GEMMTUNE_QUIET") && is_under_tune_run())
        log_share();
}

/* The thread that ends the program may have little room. */
__attribute__((destructor)) static void finish(void)
{
    struct stack_room room = {.known = false};
    if (atomic_load(&state) != FORKED) stack_room_run(&room, tell_end, NULL);
}
