/* SPDX-License-Identifier: MIT */
/* gemmtune.h — compute matrix products with the fastest kernels that gemmtune found.
 *
 *     struct gt_handle *handle;
 *     struct gt_problem problem = gt_problem_make(m, n, k);
 *     float alpha = 1, beta = 0;
 *     struct gt_call call = gt_call_make(&alpha, a, b, &beta, c, stream);
 *     if (gt_open(&handle, NULL)) ...                      once a program
 *     if (gt_gemm(handle, &problem, &call)) ...            as often as wanted
 *     gt_close(handle);
 *
 * or, with the kernel chosen ahead: gt_plan_open once, gt_launch often, gt_plan_close. Every function may be
 * called from any thread. A call that fails returns a code, and gt_error_text() then gives the reason.
 *
 * What is computed: C[M,N] = alpha * op(A) * op(B) + beta * C, for one product or a batch of them at constant
 * strides. The problem says in which type (enum gt_type): strict FP32, never TF32, unless it asks for
 * another; FP32 as accurate as that, on tensor cores; TF32; BF16 or FP16. Sums, alpha and beta are FP32 in
 * all of them. Matrices are row-major; with GT_COLUMN_MAJOR column-major, as in BLAS.
 *
 * Addresses of A, B, C, bias and source are multiples of an element of theirs: 4 bytes in FP32 and TF32, 2 in
 * BF16 and FP16 (GT_BF16_TO_F32 and GT_FP16_TO_F32: A and B of 2, the others of 4). Kernels that read 16
 * bytes at once are the fastest: see alignment in gt_problem.
 *
 * With GT_POINTER_ARRAYS the matrices of the batch lie anywhere: A, B and C of a call are then arrays of
 * their addresses, in device memory, as for cublasSgemmBatched.
 *
 * An epilogue, if the problem has one, is part of the same kernel: D = act(alpha * op(A) * op(B) + beta * C +
 * bias), where D is C itself unless the problem says GT_OUT_OF_PLACE.
 *
 * As in BLAS: with beta = 0, C is not read; with alpha = 0 or K = 0, A and B are not.
 *
 * Growth: each struct begins with its size as the caller knows it, set by the functions gt_..._make. A
 * program that was compiled with an older header runs with a newer library. One that uses members unknown to
 * an older library gets GT_INVALID.
 *
 * C99 or C++11. No CUDA header is needed; streams may be CUstream or cudaStream_t, and device addresses
 * CUdeviceptr.
 */
#ifndef GEMMTUNE_H
#define GEMMTUNE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* CUstream and cudaStream_t are pointers to this */
struct gt_handle;
struct gt_plan;
struct gt_prepared;

enum gt_status {
    GT_OK = 0,
    GT_INVALID = 1, /* an argument is wrong; nothing was done */
    GT_NO_GPU = 2,  /* no driver, no GPU, or no context to work in */
    GT_UNAVAILABLE =
        3,         /* nothing here can compute the problem: no kernel could be built and there is no cuBLAS */
    GT_MEMORY = 4, /* out of memory */
    GT_DEVICE = 5  /* the driver or cuBLAS refused or failed; C may be partly written */
};

/* What a code means, in a few words, such as "out of memory"; "unknown status" for what is none. Never NULL;
 * a text of the program's lifetime. What happened in the call itself is in gt_error_text. */
const char *gt_status_text(enum gt_status status);

/* The sentence for the last call in this thread that did not answer GT_OK; "" before. Never NULL. Valid until
 * the next call in this thread. */
const char *gt_error_text(void);

/* "0.2.0" */
const char *gt_version(void);

/* ---- the problem ---- */

/* Elements of A, B and C, and how they are multiplied; alpha, beta and sums are FP32. What computes a type
 * may be stricter than that, and never less strict. */
enum gt_type {
    GT_SGEMM = 0,          /* FP32, strict */
    GT_SGEMM_ACCURATE = 1, /* FP32 whose errors are as small as strict FP32's in every element */
    GT_SGEMM_NORMWISE = 2, /* the same against the largest element of C */
    GT_TF32 = 3,           /* FP32; operands may be rounded to TF32 (10 bits of fraction) */
    GT_BF16 = 4,           /* BF16 operands and result */
    GT_FP16 = 5,           /* FP16 operands and result */
    GT_BF16_TO_F32 = 6,    /* BF16 operands, FP32 result; the source, too, and the bias */
    GT_FP16_TO_F32 = 7     /* FP16 operands, FP32 result, likewise */
};

/* flags of a problem */
enum {
    GT_COLUMN_MAJOR = 1,      /* A, B and C are stored by columns */
    GT_SCALARS_ON_DEVICE = 2, /* alpha and beta point to device memory, read when the kernel runs */
    GT_ADDS_TO_C = 4,    /* beta will not be 0. Only a hint to gt_plan_open: a launch with host scalars looks
                            at beta itself, and takes a kernel chosen for it */
    GT_OUT_OF_PLACE = 8, /* the result D goes to `c` of the call, and C, which is only read, is `source` of
                            the call. Both have ldc and stride_c */
    GT_POINTER_ARRAYS = 16, /* a, b and c of a call are arrays of the device addresses of their matrices, one
                               for each item of the batch. There are no strides, and no epilogue */
    GT_PREPARED_A = 32, /* every call names a prepared A: what was tuned for such calls is looked for first.
                           gt_gemm looks at the call itself; for gt_plan_open */
    GT_PREPARED_B = 64, /* the same of B */
    GT_BATCH_INVARIANT =
        128 /* the bits of a row of C (GT_COLUMN_MAJOR: of a column) do not depend on M (N), nor
               on the batch: N, K (M, K) and the type decide in which order products are added.
               Of 16-bit operands only. Never cuBLAS: GT_UNAVAILABLE where no kernel can */
};

/* A vector that is added to alpha * op(A) * op(B) + beta * C. */
enum gt_bias {
    GT_BIAS_NONE = 0,
    GT_BIAS_COLUMN = 1, /* N values: value j is added to column j of C. The bias of a linear layer whose
                           outputs are the rows of C */
    GT_BIAS_ROW = 2     /* M values: value i is added to row i of C */
};

/* A function of each element of the result, after the bias. */
enum gt_activation {
    GT_ACTIVATION_NONE = 0,
    GT_ACTIVATION_RELU = 1, /* x < 0 ? 0 : x. NaN stays NaN; cublasLt in TF32 may make it 0 */
    GT_ACTIVATION_GELU = 2  /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as cublasLt's */
};

/* Stored by rows: A is M x K with lda >= K, or if trans_a: K x M with lda >= M. B is K x N with ldb >= N, or
 * if trans_b: N x K with ldb >= K. C is M x N with ldc >= N.
 * Stored by columns: A is M x K with lda >= M, or if trans_a: K x M with lda >= K. B is K x N with ldb >= K,
 * or if trans_b: N x K with ldb >= N. C is M x N with ldc >= M.
 * Elements, not bytes. Matrix i of the batch starts i * stride_x elements after the first. */
struct gt_problem {
    uint32_t size;            /* sizeof(struct gt_problem) */
    uint32_t flags;           /* GT_COLUMN_MAJOR and so on */
    int32_t type;             /* enum gt_type */
    int32_t trans_a, trans_b; /* 0 or 1 */
    int32_t alignment;        /* bytes of which A, B and C are multiples at every launch: 4, 8 or 16, with
                                 operands of 16 bits 2, too; 0: 16. What is less aligned is computed, too, by
                                 another kernel. With GT_POINTER_ARRAYS without meaning: an element's are
                                 expected */
    int64_t m, n, k;          /* 0 to 2147418112 (2^31 - 2^16), and so are the next four */
    int64_t lda, ldb, ldc;    /* 0: no padding */
    int64_t batch;            /* 0: nothing is computed */
    int64_t stride_a, stride_b, stride_c; /* without meaning for a batch of 1; a stride_a or stride_b of 0
                                             uses the same matrix for all. With GT_POINTER_ARRAYS 0 */
    int32_t bias;                         /* enum gt_bias */
    int32_t activation;                   /* enum gt_activation */
    int64_t stride_bias;                  /* as the other strides; 0: one bias for all. Without a bias 0 */
    uint64_t reserved[2];                 /* 0 */
};

/* One product without padding; all else is left to be filled in. */
static inline struct gt_problem gt_problem_make(int64_t m, int64_t n, int64_t k)
{
    struct gt_problem p;
    memset(&p, 0, sizeof p);
    p.size = (uint32_t)sizeof p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.batch = 1;
    return p;
}

/* flags of a call */
enum {
    GT_AS_PLANNED =
        1 /* by what gt_plan_describe says, or not at all: where that cannot have its workspace now,
             or cannot run, nothing is enqueued, and the answer is GT_MEMORY or GT_UNAVAILABLE */
};

/* What a launch is given. */
struct gt_call {
    uint32_t size;            /* sizeof(struct gt_call) */
    uint32_t flags;           /* GT_AS_PLANNED, or 0 */
    const void *alpha, *beta; /* floats, on the host unless the problem says GT_SCALARS_ON_DEVICE */
    const void *a, *b;        /* device memory, as c, multiples of an element: 2 or 4 bytes, by type; with
                                 GT_POINTER_ARRAYS arrays of addresses in device memory, multiples of 8 bytes, read
                                 when the kernel runs */
    void *c;
    struct CUstream_st *stream; /* of the plan's context; NULL: the legacy default stream. Pass
                                   CU_STREAM_PER_THREAD for that one */
    void *workspace;        /* device memory of the caller's, a multiple of 16 bytes, which may hold anything
                               and is the launch's until it has run: no two launches that may overlap share
                               it. NULL: the library's own, as where cublasLt computes and it is not a
                               multiple of 256 bytes */
    size_t workspace_bytes; /* how much is wanted is in gt_plan_info; less, and it is as with none */
    const void *bias;       /* device memory, elements of C's type, a multiple of one; NULL without a bias */
    const void *source; /* C of a problem with GT_OUT_OF_PLACE, a multiple of an element of it: c itself, or
                           apart from it; not looked at if beta is 0 on the host. NULL without
                           GT_OUT_OF_PLACE */
    const struct gt_prepared *prepared; /* A or B by gt_prepare, which is passed as it is, too; NULL: none,
                                           which a plan of GT_PREPARED_A or GT_PREPARED_B refuses */
    void *reserved[1];                  /* NULL */
};

/* With the library's own workspace, without bias and source. */
static inline struct gt_call gt_call_make(const void *alpha, const void *a, const void *b, const void *beta,
                                          void *c, struct CUstream_st *stream)
{
    struct gt_call call;
    memset(&call, 0, sizeof call);
    call.size = (uint32_t)sizeof call;
    call.alpha = alpha;
    call.a = a;
    call.b = b;
    call.beta = beta;
    call.c = c;
    call.stream = stream;
    return call;
}

/* ---- the library ---- */

enum {
    GT_NO_CUBLAS = 1,       /* never call cuBLAS, also where it is faster than all kernels */
    GT_NO_COMPILER = 2,     /* never compile: cuBLAS computes what has no machine code in cache or shipped */
    GT_QUIET = 4,           /* say nothing on standard error, as GEMMTUNE_QUIET=1 does */
    GT_LOADED_CUBLASLT = 8, /* beside GT_NO_CUBLAS: run algorithms of cublasLt that won all the same, in the
                              cublasLt that the program has loaded, if it has */
    GT_KEEP_WINNERS = 16 /* what was chosen stays; else plans take new winners within seconds of a change of
                            the database, from a thread that gt_open starts (GEMMTUNE_RENEW_S); captured
                            graphs stay as they are. Results of another kernel have other bits */
};

enum { GT_NO_WORKSPACES = -1 };

/* Zero is the default everywhere else. Texts are copied. */
struct gt_options {
    uint32_t size;        /* sizeof(struct gt_options) */
    uint32_t flags;       /* GT_NO_CUBLAS and so on */
    const char *database; /* file of winners; NULL: GEMMTUNE_DB, else the user's own; "": none */
    const char *pretuned; /* folder of winners as text; NULL: those installed with the library; "": none */
    const char *cache;    /* folder of compiled kernels; NULL: GEMMTUNE_CACHE, else the user's own */
    int device;           /* GPU to use if no context is current in the thread that calls gt_open */
    int workspaces; /* launches that can have a workspace at once, in each context; those of further streams
                       wait for them on the device. 0: 8; at most 16; GT_NO_WORKSPACES: only the caller's, see
                       gt_call */
    size_t workspace_bytes; /* device memory that a launch may take beside the operands; 0:
                               GEMMTUNE_WORKSPACE (such as 256M), else 64 MiB for strict FP32 and 1 GiB for
                               other types; 1: none. What needs more is passed over for the next best that
                               does not */
    void *reserved[6];      /* NULL */
};

static inline struct gt_options gt_options_make(void)
{
    struct gt_options options;
    memset(&options, 0, sizeof options);
    options.size = (uint32_t)sizeof options;
    return options;
}

/* options may be NULL. Works in the CUDA context that is current, such as the runtime API's; where there is
 * none, in the primary context of options->device, which becomes current. A database, cache, compiler or
 * cuBLAS that is missing or unusable is no error: it is said once on standard error, and done without.
 * Errors: GT_INVALID, GT_NO_GPU, GT_MEMORY. */
enum gt_status gt_open(struct gt_handle **handle, const struct gt_options *options);

/* Frees plans, kernels and workspaces, in whichever contexts they are; what was in a context that is gone, by
 * cudaDeviceReset for example, went with it. Nothing of the handle may be running, nor a graph that was
 * captured be launched again. Takes NULL. */
void gt_close(struct gt_handle *handle);

/* Give back memory that can be had again: workspaces that no graph holds, and plans and kernels beyond those
 * that are kept. Nothing of the handle may be running. Errors: GT_INVALID, GT_NO_GPU. */
enum gt_status gt_trim(struct gt_handle *handle);

/* Choose a way to compute the problem and prepare it, in the context that is current. The first use of a
 * kernel compiles it (about a second) unless the cache has it; threads that want the same kernel meanwhile
 * wait, so that a program's results do not depend on who came first. Errors: all. */
enum gt_status gt_plan_open(struct gt_handle *handle, const struct gt_problem *problem,
                            struct gt_plan **plan);

/* Nothing of the plan may be running. Takes NULL. Plans that were not closed are closed by gt_close. */
void gt_plan_close(struct gt_plan *plan);

/* Enqueue the product on call->stream, in the plan's context, which must be current. With an epilogue the
 * result must share no memory with A, B and bias: GT_INVALID.
 *
 * Nothing but kernel launches: no lock, no allocation, no lookup; may be captured into a graph. alpha and
 * beta are read before it returns unless they are on the device. Some cases take longer, once: operands that
 * are less aligned than the problem said, beta = 0 where the plan is for another or the other way round, a
 * kernel that the driver refuses, a capture that needs a workspace. Then another kernel, or cuBLAS, or the
 * workspace, is prepared and used from then on. A plan for which cuBLAS won calls cuBLAS.
 *
 * Any number of streams and threads may launch one plan at once. A launch that needs a workspace has one of
 * the handle's, which it holds a lock of while it is enqueued; each stream of each capture has one of its
 * own, which the graph keeps. Where no device memory is left for it, another kernel or cuBLAS computes the
 * product (instead in gt_plan_info). Graphs need the handle, not the plan. In another context than the
 * plan's nothing is made ready: GT_INVALID, or GT_DEVICE where the driver says so.
 *
 * In the caller's workspace, a plan whose blocks count themselves in clears its counters there first, a small
 * memset on the stream. */
enum gt_status gt_launch(struct gt_plan *plan, const struct gt_call *call);

/* gt_plan_open and gt_launch in one; the plan is kept in the handle under the problem, the context, the
 * operands' alignment, and whether beta is 0, and found again without a lock. The first 4096 plans stay; of
 * those after them the least recently used go. */
enum gt_status gt_gemm(struct gt_handle *handle, const struct gt_problem *problem,
                       const struct gt_call *call);

/* ---- constant operands ---- */

enum gt_operand { GT_OPERAND_A = 0, GT_OPERAND_B = 1 };

/* Make once what the kernel for this problem makes of A or B in every call: for a weight that many products
 * read. Calls that name it (`prepared` of gt_call) leave that out; the same kernel gives the same bits
 * without. They are answered by the winner that was tuned for such calls (`tune --prepared`), and where there
 * is none by that for calls without. Only kernels of GT_SGEMM_ACCURATE and GT_SGEMM_NORMWISE that split their
 * operands beforehand take one. Another kernel, be it for another M, ignores it and reads the operand itself,
 * so a call passes that as well: with the same values, at any address. A matrix that is changed afterwards
 * must be prepared again: until then some calls use its old values, and some the new ones.
 *
 * It serves problems of the same type with the same operand: its op, sizes, leading dimension, and batch
 * stride if it has one for each item; the other operand, C, beta and epilogue may differ. A call with another
 * problem, handle or context, or after gt_prepared_free, is GT_INVALID.
 *
 * Takes 1.5 times the operand's memory (gt_prepared_bytes), and returns when it is ready, so that any stream
 * may use it: it waits for the stream. Not during a capture of the stream; calls that use it may be captured,
 * and the graph needs it then. Errors: GT_UNAVAILABLE, with *prepared NULL (the kernel for this problem takes
 * none: calls without are right), and all others. */
enum gt_status gt_prepare(struct gt_handle *handle, const struct gt_problem *problem, enum gt_operand operand,
                          const void *matrix, struct CUstream_st *stream, struct gt_prepared **prepared);

/* Device memory that it takes; 0 for what is none. */
size_t gt_prepared_bytes(const struct gt_prepared *prepared);

/* No call that uses it may be running, nor a graph that holds one be launched again. Takes NULL. What was not
 * freed is freed by gt_close. */
void gt_prepared_free(struct gt_prepared *prepared);

/* ---- why this kernel ---- */

enum gt_source {
    GT_EXACT,     /* measured for this very problem on this GPU */
    GT_NEAREST,   /* measured for a similar one; tuned_for says which */
    GT_PREDICTED, /* the model's choice: nothing similar was measured */
    GT_FALLBACK   /* nothing is known, or what was known could not be used; why says what happened */
};

struct gt_plan_info {
    uint32_t size;    /* sizeof(struct gt_plan_info), set by the caller; no more is written */
    int32_t source;   /* enum gt_source */
    int pretuned;     /* 1: a winner that came with the library, 0: from the user's database or the model */
    int stale;        /* 1: measured with another driver or method than now */
    int uses_cublas;  /* 1: cuBLAS computes it (cublasLt if it has an epilogue), because no kernel was faster
                         or because nothing else can */
    int adds_to_c;    /* 1: chosen for a beta other than 0 */
    char config[512]; /* "simt BM=128 ...", or "cublas"; "" for a problem without elements */
    char tuned_for[256]; /* the problem it was measured for, row-major, "" if none */
    char when[32];       /* it was measured, UTC; "" unknown */
    char why[256];       /* a sentence */
    double time_us;      /* one call: measured (GT_EXACT), otherwise estimated; 0 unknown */
    double ratio; /* cuBLAS's time over that of the fastest kernel, as measured for tuned_for: 1 or less
                     where cuBLAS won the race; 0 unknown */
    double
        loss; /* estimated share of time that tuning this problem would save: 0.05 is 5 %; below 0: unknown */
    size_t workspace_bytes; /* that a launch needs; 0: none */
    int workspaces;         /* that the handle may have for it in this context; see gt_options */
    int provisional;        /* 1: a better one fell away for a reason that may pass, and is tried again by
                               launches without GT_AS_PLANNED */
    char instead[512];      /* what computes launches that could not have their workspace: a configuration or
                               "cublas"; "" none came yet */
    int64_t without_workspace; /* how many did */
    uint64_t reserved[8];      /* written as 0 */
    char checked[256]; /* of a type that is an accuracy class: what was checked of the errors of this kernel,
                          in the race and the last check of the problem in tuned_for, and whether it computes
                          by FFMA; as of when the plan took it; "" not known, cuBLAS, or no such type */
};

static inline struct gt_plan_info gt_plan_info_make(void)
{
    struct gt_plan_info info;
    memset(&info, 0, sizeof info);
    info.size = (uint32_t)sizeof info;
    return info;
}

/* Errors: GT_INVALID. */
enum gt_status gt_plan_describe(const struct gt_plan *plan, struct gt_plan_info *info);

#ifdef __cplusplus
}
#endif
#endif
