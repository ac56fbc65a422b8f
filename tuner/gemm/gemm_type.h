/* gemm_type.h — the table of types: the elements of A, B and C, the accumulation type, the accuracy of the
 * result, and how NVIDIA's libraries know it. What differs from type to type follows from the rows:
 * rivals, calls of the drop-in, arguments of cuBLAS, exported headers.
 *
 * A problem says which type it needs, a template which types it computes. gemm_type_satisfies compares them;
 * do not compare for equality: a strict kernel is also right for a less strict problem.
 */
#ifndef GT_GEMM_TYPE_H
#define GT_GEMM_TYPE_H

#include "likely.h"
#include <stdbool.h>

/* ELEMENT_TF32 is no type's: FP32 that tensor maps round as they copy it. */
enum element { ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16, ELEMENT_TF32, ELEMENT_COUNT };

int element_bytes(enum element element);
int element_vector(enum element element);            /* elements in 16 bytes, the widest access */
const char *element_name(enum element element);      /* "f32", "f16", "bf16" */
const char *element_cuda_name(enum element element); /* "float", "__half", "__nv_bfloat16" */

/* Of cuBLAS and cublasLt: cudaDataType_t, cublasComputeType_t. */
enum { BLAS_R_32F = 0, BLAS_R_16F = 2, BLAS_R_16BF = 14 };
enum {
    BLAS_COMPUTE_32F = 68,
    BLAS_COMPUTE_32F_PEDANTIC = 69,
    BLAS_COMPUTE_32F_FAST_TF32 = 77,
    BLAS_COMPUTE_32F_BF16X9 = 78
};
int blas_data_type(enum element element); /* cudaDataType_t */

/* The numbers are those of gemmtune.h (GT_SGEMM, ...) and of exported headers. */
enum gemm_type {
    GEMM_SGEMM = 0,
    GEMM_SGEMM_ACCURATE = 1,
    GEMM_SGEMM_NORMWISE = 2,
    GEMM_TF32 = 3,
    GEMM_BF16 = 4,
    GEMM_F16 = 5,
    GEMM_BF16_TO_F32 = 6,
    GEMM_F16_TO_F32 = 7,
    GEMM_TYPE_COUNT
};
#define GEMM_TYPE_DEFAULT GEMM_SGEMM /* of texts and calls that name none */

/* Sets of types. */
#define GEMM_TYPE_BIT(type) (1u << (type))
#define GEMM_TYPES_FFMA     GEMM_TYPE_BIT(GEMM_SGEMM)
#define GEMM_TYPES_TF32     GEMM_TYPE_BIT(GEMM_TF32)
#define GEMM_TYPES_16_BITS  /* operands of 16 bits */                                                        \
    (GEMM_TYPE_BIT(GEMM_BF16) | GEMM_TYPE_BIT(GEMM_F16) | GEMM_TYPE_BIT(GEMM_BF16_TO_F32) |                  \
     GEMM_TYPE_BIT(GEMM_F16_TO_F32))
#define GEMM_TYPES_LIMITED /* accuracy classes */                                                            \
    (GEMM_TYPE_BIT(GEMM_SGEMM_ACCURATE) | GEMM_TYPE_BIT(GEMM_SGEMM_NORMWISE))
#define GEMM_TYPES_CUBLAS /* an arithmetic of cuBLAS and cublasLt */                                         \
    ((GEMM_TYPE_BIT(GEMM_TYPE_COUNT) - 1) & ~GEMM_TYPES_LIMITED)

struct gemm_type_row {
    const char *name; /* "sgemm"; before a colon as in the text of a problem, after it the option that C is:
                         "hgemm:c=f32" */
    const char *meaning; /* one line */
    enum element a, b, c, sum;
    double operand_roundoff; /* relative, of an element of A or B before multiplication; 0: not rounded */
    double sum_roundoff, c_roundoff;    /* of one addition; of an element of C when it is stored */
    const char *rate;                   /* name of the GPU's peak rate that bounds it: "fp32" */
    double (*rate_over_fp32)(int arch); /* for a GPU whose descriptor lacks the rate; NULL: the same */
    int least_arch;                     /* compute capability from which on GPUs have its units; 0: all */
    unsigned satisfies;                 /* bit t: kernels of this type may answer problems that need t */
    /* Accuracy classes: the largest allowed ratio of an error to the strict rival's on the same data
     * (accuracy.h); 0: no such limit. */
    double componentwise_limit, rms_limit, max_limit;
    double products; /* accuracy classes: products of BF16 pieces, in the time of one, that make up one; 0 */
    const char *arithmetic; /* what rivals are called after, "TF32"; NULL: strict FP32 */
    int compute[2];         /* cublasComputeType_t of calls that are of the type; 0: none */
};

const struct gemm_type_row *gemm_type_row(enum gemm_type type);

/* The type of products that a call of cuBLAS or cublasLt with these types of A, B and C and this compute type
 * is. Returns false if it is of none. */
bool gemm_type_of_call(int a, int b, int c, int compute, enum gemm_type *type);

/* The set of types whose matrices are so, whatever computes them. */
unsigned gemm_types_of_matrices(int a, int b, int c);

/* The cublasComputeType_t that a race asks for, and a library without a kernel: that of strict FP32 for
 * accuracy classes. */
int gemm_type_compute(enum gemm_type type);

/* Every product and every sum by FFMA. */
bool gemm_type_is_strict(enum gemm_type type);

/* Is it an accuracy class, for which measured errors decide which kernels may answer? */
bool gemm_type_has_limits(enum gemm_type type);

/* May kernels for this type have a form of an operand that is made once for many products (template.h,
 * prepare)? */
static inline bool gemm_type_prepares(enum gemm_type type)
{
    return gemm_type_has_limits(type);
}

/* Has the type kernels whose rows do not depend on M (invariant.h)? */
bool gemm_type_has_invariant(enum gemm_type type);

/* What --accuracy takes: the classes of FP32, in the order of their types from GEMM_SGEMM on. */
#define GEMM_ACCURACIES     "strict|accurate|normwise|tf32"
#define GEMM_ACCURACY_ABOUT "what is enough for problems of type sgemm (strict; docs/accuracy.md)"

/* Returns false if no class has this name. */
bool gemm_type_of_accuracy(const char *name, enum gemm_type *type);

/* Returns false if no type has this name. */
bool gemm_type_find(const char *name, enum gemm_type *type);

/* The type with the operands of *type and results of the element with this name. Returns false if there is
 * none. */
bool gemm_type_with_c(const char *element, enum gemm_type *type);

/* The names of the types that a text may begin with, separated by blanks, for messages. Returns text. */
#define GEMM_TYPE_NAMES_MAX 128
const char *gemm_type_names(char text[GEMM_TYPE_NAMES_MAX]);

/* "; did you mean 'hgemm'?", or "" if no type has such a name. Returns text. */
const char *gemm_type_likely(const char *name, char text[LIKELY_TEXT_MAX]);

/* May a kernel that delivers one type compete for a problem that needs another? Where the needed type has
 * limits, the kernel's measured errors decide. */
bool gemm_type_satisfies(enum gemm_type delivered, enum gemm_type needed);

/* May the winner for a problem of one type answer an equal problem of another type without being measured
 * again? Not where only the other type has limits on the errors. */
bool gemm_type_answers(enum gemm_type tuned, enum gemm_type needed);

/* The same, and the winner was raced against what the other type is raced against, too: cuBLAS in strict FP32
 * for all accuracy classes, else cuBLAS in the arithmetic of the very type. Only then does its race say
 * whether it or cuBLAS is the faster one for the other type. */
bool gemm_type_decides(enum gemm_type tuned, enum gemm_type needed);

#endif
