#include "arguments.h"
#include "gpu_context.h"
#include "kernel.h"
#include "launcher.h"
#include "lookup.h"
#include "plan.h"
#include "public_problem.h"

#include <string.h>

/* The result of a launch. */
enum launch_result {
    LAUNCH_DONE,
    LAUNCH_REFUSED,         /* nothing was enqueued that writes C; another executable may do */
    LAUNCH_REFUSED_FOR_NOW, /* the same, for lack of memory */
    LAUNCH_NO_WORKSPACE,    /* there is no workspace for it; nothing was enqueued, nor up to NO_CONTEXT */
    LAUNCH_OTHER_KEY,       /* beta or the operands' alignment are not as the plan's key says */
    LAUNCH_RETRY_DUE,       /* it is provisional, and the better one should be tried again */
    LAUNCH_NO_CONTEXT,      /* no context is current in this thread */
    LAUNCH_FAILED           /* an error; C may be partly written. status_text() says what happened */
};

/* ---- one executable ---- */

static bool no_context(void)
{
    CUcontext current = NULL;
    return cuda.CtxGetCurrent(&current) == CUDA_SUCCESS && !current;
}

/* touched: something that writes C had been enqueued before. */
static __attribute__((noinline)) enum launch_result failed(CUresult result, bool touched)
{
    if (result == CUDA_ERROR_INVALID_CONTEXT && !touched && no_context()) return LAUNCH_NO_CONTEXT;
    bool refused = kernel_refused(result) && !touched;
    device_check(result, refused ? "the driver refuses the kernel" : "launch the kernel");
    return !refused                             ? LAUNCH_FAILED
           : result == CUDA_ERROR_OUT_OF_MEMORY ? LAUNCH_REFUSED_FOR_NOW
                                                : LAUNCH_REFUSED;
}

/* Launches one that is one plain launch. extended: it has an epilogue. */
static inline __attribute__((always_inline)) enum launch_result
launch_only(const struct executable *x, const struct gemm_call *call, bool extended)
{
    const struct launch_slots *slots = &x->form.slots;
    _Alignas(16) unsigned char argument[LAUNCH_NOWHERE + sizeof(uintptr_t)];
    memcpy(argument, x->only.argument, extended ? EXTENDED_ARGUMENT_MAX : PLAIN_ARGUMENT_MAX);
    for (int i = 0; i < (extended ? OPERANDS : OPERAND_C + 1); i++)
        launch_write_address(argument, slots->at[i], call->at[i]);
    if (call->scalars_on_device) {
        launch_write_address(argument, slots->alpha_device, (uintptr_t)call->alpha);
        launch_write_address(argument, slots->beta_device, (uintptr_t)call->beta);
    } else {
        launch_write_scalar(argument, slots->alpha, *(const float *)call->alpha);
        launch_write_scalar(argument, slots->beta, *(const float *)call->beta);
    }
    CUresult result =
        launcher_enqueue_plain(x->function[0], &x->form.kernel[0], x->only.grid, argument, call->stream);
    return result == CUDA_SUCCESS ? LAUNCH_DONE : failed(result, false);
}

static enum launch_result launch_kernels(const struct executable *x, CUdeviceptr workspace,
                                         const struct gemm_call *call)
{
    struct launch_call with = {.operand = {[LAUNCH_WORKSPACE] = workspace}};
    bool touched;
    for (int i = 0; i < OPERANDS; i++) with.operand[i] = call->at[i];
    if (call->scalars_on_device) {
        with.alpha_device = (uintptr_t)call->alpha;
        with.beta_device = (uintptr_t)call->beta;
    } else {
        with.alpha = *(const float *)call->alpha;
        with.beta = *(const float *)call->beta;
    }
    const struct launch_plan *form =
        call->prepared && x->prepared ? prepared_form(x->prepared, call->prepared) : NULL;
    if (form) with.operand[LAUNCH_PREPARED] = prepared_at(call->prepared);
    CUresult result = launcher_enqueue(form ? form : &x->form, x->function, &with, call->stream, &touched);
    return result == CUDA_SUCCESS ? LAUNCH_DONE : failed(result, touched);
}

static enum launch_result launch_cublas(const struct gt_plan *plan, const struct executable *x,
                                        CUdeviceptr workspace, const struct gemm_call *call)
{
    switch (x->by_lt ? blas_pool_run_lt(&x->lt, workspace, call)
                     : blas_pool_run(&plan->context->blas, &plan->problem, call)) {
    case OK:
        return LAUNCH_DONE;
    case E_ABSENT:
        return LAUNCH_REFUSED;
    case E_MEMORY:
        return LAUNCH_REFUSED_FOR_NOW;
    default:
        return LAUNCH_FAILED;
    }
}

/* Launches with a workspace at this address, 0 if none is needed. */
static enum launch_result launch_at(const struct gt_plan *plan, const struct executable *x,
                                    CUdeviceptr workspace, const struct gemm_call *call)
{
    return x->cublas ? launch_cublas(plan, x, workspace, call) : launch_kernels(x, workspace, call);
}

/* Launches in the caller's workspace, which may hold anything. */
static enum launch_result launch_in_theirs(const struct gt_plan *plan, const struct executable *x,
                                           const struct gemm_call *call)
{
    CUresult result = CUDA_SUCCESS;
    if (x->need.counters > 0) result = cuda.MemsetD8Async(call->workspace, 0, x->need.counters, call->stream);
    if (result != CUDA_SUCCESS) return failed(result, false);
    return launch_at(plan, x, call->workspace, call);
}

/* Bytes of which a workspace of cublasLtMatmul is a multiple (its documentation). */
#define LT_WORKSPACE_ALIGNMENT 256

static enum launch_result launch_in_workspace(const struct gt_plan *plan, const struct executable *x,
                                              const struct gemm_call *call)
{
    struct workspaces *workspaces = plan->context->workspaces;
    struct workspace_use use;
    const bool fits = call->workspace && call->workspace_bytes >= x->need.bytes &&
                      !(x->cublas && call->workspace % LT_WORKSPACE_ALIGNMENT);
    if (fits) return launch_in_theirs(plan, x, call);
    if (!workspaces || !workspaces_enter(workspaces, &x->need, call->stream, &use))
        return no_context() ? LAUNCH_NO_CONTEXT : LAUNCH_NO_WORKSPACE;
    enum launch_result result = launch_at(plan, x, use.at, call);
    workspaces_leave(&use, result == LAUNCH_DONE);
    return result;
}

/* The graph of a capture cannot hold the kernel. */
static enum launch_result not_held(enum status st)
{
    if (st == E_MEMORY || device_was_short_of_memory()) return LAUNCH_REFUSED_FOR_NOW;
    return no_context() ? LAUNCH_NO_CONTEXT : LAUNCH_FAILED;
}

static __attribute__((noinline)) enum launch_result
launch_unusual(const struct gt_plan *plan, struct executable *x, const struct gemm_call *call)
{
    if (x->usual_extended) return launch_only(x, call, true);
    if (x->provisional && !call->as_planned && atomic_fetch_sub(&x->retry, 1) == 1) return LAUNCH_RETRY_DUE;
    const enum status st = x->counted ? graphs_hold(&plan->context->graphs, x->module, call->stream) : OK;
    if (st) return not_held(st);
    if (x->need.bytes > 0) return launch_in_workspace(plan, x, call);
    return launch_at(plan, x, 0, call);
}

/* Kernel launches only, or cuBLAS. Nothing waits. */
static __attribute__((noinline)) enum launch_result
launch_executable(const struct gt_plan *plan, struct executable *x, const struct gemm_call *call)
{
    return __builtin_expect(x->usual, 1) ? launch_only(x, call, false) : launch_unusual(plan, x, call);
}

/* ---- where the executable at hand will not do ---- */

/* The caller has asked for nothing else. */
static enum status not_as_planned(enum launch_result result)
{
    switch (result) {
    case LAUNCH_NO_WORKSPACE:
        return fail(E_MEMORY, "there is no device memory for the workspace of the plan's kernel");
    case LAUNCH_REFUSED_FOR_NOW:
        return E_MEMORY;
    case LAUNCH_FAILED:
    case LAUNCH_NO_CONTEXT:
        return E_GPU;
    case LAUNCH_REFUSED:
        return E_ABSENT;
    default:
        return fail(E_ABSENT, "the plan's own kernel is not the one to launch");
    }
}

/* Makes the plan's context current before anything is prepared. A thread without a context gets the plan's.
 */
static enum status enter_context(const struct gt_plan *plan)
{
    unsigned long long id = 0;
    CUcontext current = NULL;
    CUresult result = cuda.CtxGetCurrent(&current);
    if (result == CUDA_SUCCESS && !current) result = cuda.CtxSetCurrent(plan->context->device.context);
    if (result == CUDA_SUCCESS) result = cuda.CtxGetId(NULL, &id);
    enum status st = device_check(result, "make the plan's context current");
    if (!st && id != plan->context->id)
        st = fail(E_INPUT, "another context is current than the plan's, or the plan's was reset");
    return st;
}

/* True if beta is 0 where the plan's is not, or the other way round. */
static inline bool has_other_beta(const struct gt_plan *plan, const struct gemm_call *call)
{
    return !plan->traits.scalars_on_device && (*(const float *)call->beta != 0) != (plan->problem.beta != 0);
}

/* True if an algorithm of cublasLt cannot take this call's bias. */
static bool lacks_bias(const struct executable *x, const struct gemm_call *call)
{
    return x->lt.needs_alignment && call->at[OPERAND_BIAS] % (CUdeviceptr)x->lt.needs_alignment;
}

/* The key of a call that the plan's executable has not launched. */
static struct plan_key key_of_call(const struct gt_plan *plan, const struct executable *x,
                                   enum launch_result result, const struct gemm_call *call)
{
    uint64_t context = plan->entry.key.context;
    struct gt_problem p = plan_key_problem(&plan->entry.key);
    if (has_other_beta(plan, call)) p.flags ^= GT_ADDS_TO_C;
    else if (lacks_bias(x, call) || gemm_call_bits(call) & (CUdeviceptr)(plan->traits.alignment - 1))
        p.alignment = plan->traits.element;
    if (result == LAUNCH_NO_WORKSPACE) context |= KEY_WITHOUT_WORKSPACE;
    return plan_key_of(context, &p);
}

/* The plan does without it from now on. */
static void refuse(const struct gt_plan *plan, struct executable *x, enum launch_refusal refusal)
{
    notice(&plan->context->handle->notices, NOTICE_KERNEL, "a tuned kernel cannot be used: %s",
           status_text());
    atomic_store(&x->refusal, refusal);
}

/* Launches by the plan of the call's key, or another executable, until one does. */
static enum status launch_otherwise(struct gt_plan *const own, struct executable *x,
                                    enum launch_result result, const struct gemm_call *call)
{
    struct gt_plan *plan = own;
    for (int tries = 0; tries < 2 * CHOICES_MAX; tries++) {
        struct gt_plan *const before = plan;
        const bool lacks = lacks_bias(x, call); /* then it is refused for this call alone */
        const bool other_beta = has_other_beta(plan, call);
        const struct plan_key key = key_of_call(plan, x, result, call);
        if (result == LAUNCH_REFUSED && !lacks) refuse(plan, x, REFUSED);
        if (result == LAUNCH_REFUSED_FOR_NOW && !lacks) refuse(plan, x, REFUSED_FOR_NOW);
        if (result == LAUNCH_RETRY_DUE) plan_retry(plan);
        const enum status st = plan_other(own, &key, &plan);
        if (st && other_beta) return st;
        if (st) break;
        if (plan != before) x = atomic_load_explicit(&plan->now, memory_order_acquire);
        else if (plan_ready(plan, &x)) break;
        if (result == LAUNCH_NO_WORKSPACE)
            atomic_fetch_add_explicit(&plan->launches, 1, memory_order_relaxed);
        result = gemm_call_bits(call) & x->unaligned ? LAUNCH_OTHER_KEY : launch_executable(plan, x, call);
        if (result == LAUNCH_DONE) return OK;
        if (result == LAUNCH_NO_CONTEXT || result == LAUNCH_FAILED) break;
    }
    return result == LAUNCH_NO_WORKSPACE || result == LAUNCH_REFUSED_FOR_NOW ? E_MEMORY : E_GPU;
}

/* Slow path: a launch that the executable at hand has not done. */
static __attribute__((noinline)) enum status launch_slowly(struct gt_plan *plan, struct executable *x,
                                                           enum launch_result result,
                                                           const struct gemm_call *call)
{
    if (device_forked()) return fail(E_GPU, DEVICE_FORKED); /* before any lock */
    enum status st = OK;
    if (result == LAUNCH_NO_CONTEXT) {
        if ((st = enter_context(plan))) return st;
        result = launch_executable(plan, x, call);
    }
    if (result == LAUNCH_DONE) return OK;
    if (call->as_planned) return not_as_planned(result);
    if (result == LAUNCH_FAILED || result == LAUNCH_NO_CONTEXT) return E_GPU;
    st = enter_context(plan);
    return st ? st : launch_otherwise(plan, x, result, call);
}

/* ---- a call, checked ---- */

/* The call is as it must be; source is set if the plan is extended. */
static inline __attribute__((always_inline)) enum status
launch_checked(struct gt_plan *plan, struct executable *x, const struct gemm_call *call)
{
    const CUdeviceptr bits = gemm_call_bits(call);
    const bool other_beta = has_other_beta(plan, call);
    if ((bits & x->unaligned) || other_beta) return launch_slowly(plan, x, LAUNCH_OTHER_KEY, call);
    const enum launch_result result =
        __builtin_expect(x->usual, 1) ? launch_only(x, call, false) : launch_unusual(plan, x, call);
    return result == LAUNCH_DONE ? OK : launch_slowly(plan, x, result, call);
}

static bool is_empty(const struct problem *p)
{
    return p->m == 0 || p->n == 0;
}

/* Checks an operand beside A, B and C. A source that is not read may be anything. */
static enum status check_operand(const struct gt_plan *plan, enum operand which, CUdeviceptr at,
                                 bool not_read)
{
    const bool source = which == OPERAND_SOURCE;
    const bool own = source ? plan->traits.out_of_place : plan->extents.own[which];
    const unsigned element = plan->extents.element[which];
    if (at && !own)
        return fail(E_INPUT, "the call has a %s, and its problem %s", operand_name(which),
                    source ? "is not GT_OUT_OF_PLACE" : "has none");
    if (!own || is_empty(&plan->problem) || (source && not_read)) return OK;
    if (!at) return fail(E_INPUT, "the %s is NULL", operand_name(which));
    if (at & (element - 1))
        return fail(E_INPUT, "the %s must be a multiple of %u bytes", operand_name(which), element);
    return OK;
}

/* not_read: C, because beta is 0. */
static enum status check_extended(const struct gt_plan *plan, const struct gemm_call *call, bool not_read)
{
    enum status st = OK;
    for (int i = OPERAND_C + 1; i < OPERANDS && !st; i++)
        st = check_operand(plan, (enum operand)i, call->at[i], not_read);
    return st;
}

static __attribute__((noinline)) enum status launch_extended(struct gt_plan *plan, struct executable *x,
                                                             const struct gemm_call *call)
{
    const bool not_read = !plan->traits.scalars_on_device && *(const float *)call->beta == 0;
    struct gemm_call with = *call;
    enum status st = check_extended(plan, call, not_read);
    if (st) return st;
    if (plan->traits.pointers) { /* the host does not see the addresses, nor what the matrices share */
        if (gemm_call_bits(call) & 7)
            return fail(E_INPUT, "the arrays of addresses must be multiples of 8 bytes");
    } else {
        if (!plan->traits.out_of_place || not_read) with.at[OPERAND_SOURCE] = with.at[OPERAND_C];
        const char *shared = overlap_find(&plan->problem, &plan->extents, with.at);
        if (shared) return fail(E_INPUT, "the result shares memory with %s", shared);
    }
    return launch_checked(plan, x, &with);
}

static inline enum status launch(struct gt_plan *plan, struct executable *x, const struct gemm_call *call)
{
    if (!call->alpha || !call->beta) return fail(E_INPUT, "alpha or beta is NULL");
    const int element = plan->traits.element, element_c = plan->traits.element_c;
    const CUdeviceptr a = call->at[OPERAND_A], b = call->at[OPERAND_B], c = call->at[OPERAND_C];
    if (((a | b) & (CUdeviceptr)(element - 1)) | (c & (CUdeviceptr)(element_c - 1)))
        return fail(E_INPUT, "A and B must be multiples of %d bytes, C of %d", element, element_c);
    if (call->workspace & 15) return fail(E_INPUT, "the workspace must be a multiple of 16 bytes");
    if ((!c || ((!a || !b) && plan->problem.k > 0)) && !is_empty(&plan->problem))
        return fail(E_INPUT, "A, B or C is NULL");
    return plan->traits.extended || gemm_call_has_more(call) ? launch_extended(plan, x, call)
                                                             : launch_checked(plan, x, call);
}

enum status plan_launch(struct gt_plan *plan, struct executable *x, const struct gemm_call *call)
{
    return launch(plan, x, call);
}

/* ---- a caller's call ---- */

static inline struct gemm_call call_by_rows(const struct gt_plan *plan, const struct gt_call *x)
{
    struct gemm_call call = {.alpha = x->alpha,
                             .beta = x->beta,
                             .scalars_on_device = plan->traits.scalars_on_device,
                             .stream = x->stream,
                             .workspace = (CUdeviceptr)x->workspace,
                             .workspace_bytes = x->workspace_bytes,
                             .prepared = x->prepared,
                             .as_planned = x->flags & GT_AS_PLANNED};
    public_addresses(x, plan->traits.column_major, call.at);
    return call;
}

static inline enum gt_status launch_public(struct gt_plan *plan, const struct gt_call *call)
{
    const struct gemm_call by_rows = call_by_rows(plan, call);
    const bool checks = by_rows.prepared || plan->problem.prepared;
    enum status st = checks ? prepared_check(by_rows.prepared, plan) : OK;
    if (!st) st = launch(plan, atomic_load_explicit(&plan->now, memory_order_acquire), &by_rows);
    return st ? public_status(st) : GT_OK;
}

enum gt_status gt_launch(struct gt_plan *plan, const struct gt_call *call)
{
    struct gt_call copy;
    if (!object_is(&plan_pool, plan)) return public_status(fail(E_INPUT, NO_PLAN, "gt_launch"));
    if (!call) return public_status(fail(E_INPUT, "gt_launch: the call is NULL"));
    if (!arguments_are_usual(call)) {
        enum status st = arguments_read_call(call, &copy);
        if (st) return public_status(st);
        call = &copy;
    }
    return launch_public(plan, call);
}

/* The plan is not among those that stay: it is recent, or a new one. */
static __attribute__((noinline)) enum gt_status
gemm_slowly(struct gt_handle *handle, const struct plan_key *key, uint64_t hash, const struct gt_call *call)
{
    struct plan_entry *entry = plans_take(&handle->plans, key, hash), *unused = NULL;
    if (!entry) {
        struct gt_plan *plan;
        const enum status st = plan_open(handle, key, &plan);
        if (st) return public_status(st);
        plan->entry.hash = hash;
        /* A kernel that may be unloaded is not one of a plan that stays. */
        entry = plans_add(&handle->plans, &plan->entry, !atomic_load(&plan->now)->counted, &unused);
    }
    if (unused) plan_free(unused->plan);
    const enum gt_status status = launch_public(entry->plan, call);
    plans_put(&handle->plans, entry);
    return status;
}

/* The caller's problem as a key of plans: as aligned as the operands that are used, with the scalars looked
 * at. */
static inline void specialize(struct gt_problem *p, const struct gt_call *call)
{
    const bool on_device = p->flags & GT_SCALARS_ON_DEVICE;
    const bool adds = !on_device && call->beta && *(const float *)call->beta != 0;
    uintptr_t bits = (uintptr_t)call->a | (uintptr_t)call->b | (uintptr_t)call->c;
    if (on_device || adds) bits |= (uintptr_t)call->source;
    if (p->flags & GT_POINTER_ARRAYS) bits |= 4; /* they are addresses of arrays, not of matrices */
    p->alignment = bits & 3 && element_bytes_of(p->type) == 2 ? 2 : bits & 7 ? 4 : bits & 15 ? 8 : 16;
    if (call->prepared) prepared_mark(p, call->prepared);
    else p->flags &= ~(uint32_t)(GT_PREPARED_A | GT_PREPARED_B);
    if (on_device || !call->beta) return;
    p->flags &= ~(uint32_t)GT_ADDS_TO_C;
    if (adds) p->flags |= GT_ADDS_TO_C;
}

enum gt_status gt_gemm(struct gt_handle *handle, const struct gt_problem *problem, const struct gt_call *call)
{
    struct gt_problem p;
    struct gt_call copy;
    unsigned long long context_id;
    if (!object_is(&handle_pool, handle)) return public_status(fail(E_INPUT, NO_HANDLE, "gt_gemm"));
    if (!problem || !call) return public_status(fail(E_INPUT, "gt_gemm: an argument is NULL"));
    enum status st = arguments_copy_problem(problem, &p);
    if (!st && !arguments_are_usual(call)) {
        st = arguments_read_call(call, &copy);
        call = &copy;
    }
    if (st) return public_status(st);
    st = gpu_context_current(handle, &context_id);
    if (st) return GT_NO_GPU;
    specialize(&p, call);
    const struct plan_key key = plan_key_of(context_id, &p);
    const uint64_t hash = plan_hash(&key);
    const struct plan_entry *entry = plans_find(&handle->plans, &key, hash);
    if (!entry) return gemm_slowly(handle, &key, hash, call);
    return launch_public(entry->plan, call);
}
