/* blas_lt.h — the few entry points of cublasLt that compute a product, with an epilogue or without, opened at
 * run time.
 *
 * Prototypes and values are written out, as in blas.h.
 */
#ifndef GT_BLAS_LT_H
#define GT_BLAS_LT_H

#include "config.h"
#include "operand.h"
#include "problem.h"
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

typedef struct blas_lt_context *blas_lt_handle;
typedef struct blas_lt_opaque *blas_lt_object; /* a descriptor, a layout or a preference */

struct blas_lt_algorithm {
    uint64_t data[8];
};

struct blas_lt_answer {
    struct blas_lt_algorithm algorithm;
    size_t workspace_bytes;
    int state; /* 0: usable */
    float waves;
    int reserved[4];
};

struct blas_lt_api {
    int (*Create)(blas_lt_handle *);
    int (*Destroy)(blas_lt_handle);
    int (*DescCreate)(blas_lt_object *, int compute, int scale);
    int (*DescSet)(blas_lt_object, int, const void *, size_t);
    int (*DescDestroy)(blas_lt_object);
    int (*LayoutCreate)(blas_lt_object *, int type, uint64_t rows, uint64_t columns, int64_t ld);
    int (*LayoutSet)(blas_lt_object, int, const void *, size_t);
    int (*LayoutDestroy)(blas_lt_object);
    int (*PreferenceCreate)(blas_lt_object *);
    int (*PreferenceSet)(blas_lt_object, int, const void *, size_t);
    int (*PreferenceDestroy)(blas_lt_object);
    int (*Heuristic)(blas_lt_handle, blas_lt_object desc, blas_lt_object a, blas_lt_object b,
                     blas_lt_object c, blas_lt_object d, blas_lt_object preference, int wanted,
                     struct blas_lt_answer *, int *count);
    size_t (*GetVersion)(void);
    int (*AlgoInit)(blas_lt_handle, int compute, int scale, int a, int b, int c, int d, int id,
                    struct blas_lt_algorithm *);
    int (*AlgoCheck)(blas_lt_handle, blas_lt_object desc, blas_lt_object a, blas_lt_object b,
                     blas_lt_object c, blas_lt_object d, const struct blas_lt_algorithm *,
                     struct blas_lt_answer *);
    int (*AlgoGet)(const struct blas_lt_algorithm *, int, void *, size_t, size_t *written);
    int (*AlgoSet)(struct blas_lt_algorithm *, int, const void *, size_t);
    int (*Matmul)(blas_lt_handle, blas_lt_object desc, const void *alpha, const void *a, blas_lt_object,
                  const void *b, blas_lt_object, const void *beta, const void *c, blas_lt_object, void *d,
                  blas_lt_object, const struct blas_lt_algorithm *, void *workspace, size_t, CUstream);
};

extern struct blas_lt_api blas_lt; /* valid after blas_lt_load() answered OK */

/* Open cublasLt: GEMMTUNE_LIBCUBLASLT, the toolkit this program was built with, then the usual names.
 * Idempotent, from any thread. E_ABSENT if there is none, with the places that were searched. */
enum status blas_lt_load(void);

/* The same for the cublasLt that the process has loaded already: the newest, under its own name. E_ABSENT:
 * none, so far. */
enum status blas_lt_load_loaded(void);

/* Bytes of which all addresses are multiples, for algorithms that are kept as configurations. */
#define BLAS_LT_KEPT_ALIGNMENT 16

/* Statuses beside 0. */
enum { BLAS_LT_ALLOC_FAILED = 3, BLAS_LT_NOT_SUPPORTED = 15 };

/* The compute type of a problem's type; pedantic where the environment would replace strict FP32. */
int blas_lt_compute(enum gemm_type type);

/* The workspace of cublasLt in a race, and the alignment of its operands. */
#define BLAS_LT_WORKSPACE_BYTES ((size_t)64 << 20)
#define BLAS_LT_ALIGNMENT       256
#define BLAS_LT_ANSWERS_MAX     32 /* that are asked for */

/* An algorithm, and the workspace that it needs. */
struct blas_lt_choice {
    struct blas_lt_algorithm algorithm;
    size_t workspace_bytes;
};

/* A product by cublasLt. Objects of cublasLt are in host memory and outlive a context. */
struct blas_lt_product {
    blas_lt_handle handle;  /* the caller's */
    blas_lt_object a, b, c; /* layouts. Operands are exchanged, as in blas.c: a is that of our B */
    struct blas_lt_choice promised, aligned; /* for addresses as promised; where all have BLAS_LT_ALIGNMENT */
    int needs_alignment; /* bytes of which all addresses must be multiples, the bias's too; 0: any will do */
    struct problem problem;
    int compute;
    blas_lt_object desc; /* of calls without a bias whose scalars are there; NULL: each call makes its own */
    bool scalars_on_device;
};

/* Where a call's matrices and scalars are. */
struct blas_lt_call {
    CUdeviceptr at[OPERANDS]; /* bias 0: none */
    const void *alpha, *beta;
    bool scalars_on_device;
    CUdeviceptr workspace; /* of blas_lt_workspace bytes; 0 where these are 0 */
    CUstream stream;
};

/* How a product is asked for. */
struct blas_lt_wish {
    int compute;
    bool scalars_on_device;
    int alignment;          /* bytes: addresses are multiples of it, those of the bias of 4 */
    size_t workspace_bytes; /* that it may need */
};

/* Make a product ready: by the first algorithm that cublasLt proposes, which is what `cublas` of a race with
 * an epilogue runs where workspace and alignment are those of a race. *status: cublasLt's. E_ABSENT: it has
 * no such epilogue, or nothing for the problem. Close it after an error, too. */
enum status blas_lt_open(struct blas_lt_product *product, blas_lt_handle handle,
                         const struct problem *problem, const struct blas_lt_wish *wish, int *status);

/* The same for the algorithm that a configuration of the template cublaslt is, with operands at multiples of
 * 16 bytes. E_ABSENT: this cublasLt does not run it, or is of another version, for which it was not judged.
 */
enum status blas_lt_load_algorithm(struct blas_lt_product *product, blas_lt_handle handle,
                                   const struct problem *problem, const struct config *config,
                                   bool scalars_on_device);

/* Bytes of device memory, at a multiple of 16, that its calls need. */
size_t blas_lt_workspace(const struct blas_lt_product *product);

/* Takes a zeroed struct. */
void blas_lt_close(struct blas_lt_product *product);

/* The parts of blas_lt_open, for callers that choose algorithms of their own. All return cublasLt's status.
 * describe makes the layouts for product->problem, make_desc a descriptor of the product with its epilogue
 * (not of a bias by rows, which cublasLt lacks). Algorithms depend on the bias: set it before asking for
 * them. alignment: bytes, of cublasLt's A, B, C and D; its A is our B. */
int blas_lt_describe(struct blas_lt_product *product);
int blas_lt_make_desc(const struct blas_lt_product *product, blas_lt_object *desc);
int blas_lt_set_bias(blas_lt_object desc, const void *bias);
int blas_lt_prefer(blas_lt_object preference, size_t workspace_bytes, const uint32_t alignment[4]);
/* No algorithms that add the partial sums of split-K in a narrower type than the sums'. */
int blas_lt_prefer_sums(blas_lt_object preference, enum gemm_type type);
int blas_lt_propose(const struct blas_lt_product *product, blas_lt_object desc, blas_lt_object preference,
                    struct blas_lt_answer answers[BLAS_LT_ANSWERS_MAX], int *count);
bool blas_lt_usable(const struct blas_lt_answer *answer, size_t workspace_bytes);

/* An algorithm as a configuration of the template cublaslt, which names its attributes, its workspace, the
 * version of cublasLt, and its 64 bytes. False: an attribute is outside what a configuration holds, or the
 * program lacks the template. */
bool blas_lt_to_config(const struct blas_lt_answer *answer, struct config *config);

/* The reverse. The bytes are taken as they are where the version is this library's; else the algorithm is
 * made again from the attributes, which *rebuilt says: then it must be judged before it is believed. Either
 * way cublasLt has checked that it takes the product (desc as blas_lt_make_desc makes it). E_ABSENT, with the
 * reason: it does not. */
enum status blas_lt_from_config(const struct blas_lt_product *product, blas_lt_object desc,
                                const struct config *config, struct blas_lt_choice *choice, bool *rebuilt);

/* Enqueue it. From any thread. Returns cublasLt's status. */
int blas_lt_run(const struct blas_lt_product *product, const struct blas_lt_call *call);

#endif
