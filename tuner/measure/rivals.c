#include "rival_open.h"

#include <string.h>

enum { RIVAL_COMPUTE_32F_FAST_TF32 = 77 };

/* Bits of codes: no epilogue, and all that cublasLt has: no bias or one for each column, then anything. */
#define PLAIN 1u
#define LT    ((3u | 3u << 4 | 3u << 8) * 0x10001u)
_Static_assert(EPILOGUE_CODES <= 32, "every code has a bit");

/* The rivals of a type with operands of 16 bits and FP32 sums. */
#define RIVALS_OF_16_BITS(type, name_)                                                                       \
    {.name = "cublasGemmEx " name_,                                                                          \
     .role = "cublas",                                                                                       \
     .what = "cublasGemmEx with " name_,                                                                     \
     .delivers = type,                                                                                       \
     .epilogues = PLAIN,                                                                                     \
     .compute = RIVAL_COMPUTE_32F,                                                                           \
     .algorithm = RIVAL_ALGORITHM_DEFAULT,                                                                   \
     .open = rival_gemm_ex_open},                                                                            \
        {.name = "cublasGemmBatchedEx " name_,                                                               \
         .role = "cublas",                                                                                   \
         .what = "cublasGemmBatchedEx with " name_,                                                          \
         .delivers = type,                                                                                   \
         .epilogues = PLAIN,                                                                                 \
         .pointers = true,                                                                                   \
         .compute = RIVAL_COMPUTE_32F,                                                                       \
         .algorithm = RIVAL_ALGORITHM_DEFAULT,                                                               \
         .open = rival_gemm_ex_open},                                                                        \
        {.name = "cublasLt " name_ " epilogue",                                                              \
         .role = "cublas",                                                                                   \
         .what = "cublasLt with " name_ " and its epilogue",                                                 \
         .delivers = type,                                                                                   \
         .epilogues = LT & ~PLAIN,                                                                           \
         .compute = RIVAL_COMPUTE_32F,                                                                       \
         .algorithm = RIVAL_ALGORITHM_FIRST,                                                                 \
         .open = rival_lt_open},                                                                             \
        {.name = "cublasLt " name_,                                                                          \
         .role = "lt",                                                                                       \
         .what = "the best of cublasLt with " name_,                                                         \
         .delivers = type,                                                                                   \
         .epilogues = LT,                                                                                    \
         .compute = RIVAL_COMPUTE_32F,                                                                       \
         .open = rival_lt_open},                                                                             \
    {                                                                                                        \
        .name = "cublasGemmEx " name_ " autotune", .role = "autotune",                                       \
        .what = "CUBLAS_GEMM_AUTOTUNE with " name_, .delivers = type, .epilogues = PLAIN,                    \
        .compute = RIVAL_COMPUTE_32F, .algorithm = RIVAL_ALGORITHM_AUTOTUNE, .open = rival_gemm_ex_open      \
    }

/* If no row of a role delivers exactly the needed type, the first one that satisfies it is taken. */
const struct rival_row rivals[] = {
    {.name = "cublasSgemm",
     .role = "cublas",
     .what = "cublasSgemm",
     .delivers = GEMM_SGEMM,
     .epilogues = PLAIN,
     .open = rival_sgemm_open},
    {.name = "cublasSgemmBatched",
     .role = "cublas",
     .what = "cublasSgemmBatched",
     .delivers = GEMM_SGEMM,
     .epilogues = PLAIN,
     .pointers = true,
     .open = rival_sgemm_open},
    {.name = "cublasGemmBatchedEx TF32",
     .role = "cublas",
     .what = "cublasGemmBatchedEx with TF32",
     .delivers = GEMM_TF32,
     .epilogues = PLAIN,
     .pointers = true,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_DEFAULT,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx TF32",
     .role = "cublas",
     .what = "cublasGemmEx with TF32",
     .delivers = GEMM_TF32,
     .epilogues = PLAIN,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_DEFAULT,
     .open = rival_gemm_ex_open},
    {.name = "cublasLt epilogue",
     .role = "cublas",
     .what = "cublasLt with its epilogue",
     .delivers = GEMM_SGEMM,
     .epilogues = LT & ~PLAIN,
     .compute = RIVAL_COMPUTE_32F,
     .algorithm = RIVAL_ALGORITHM_FIRST,
     .open = rival_lt_open},
    {.name = "cublasLt TF32 epilogue",
     .role = "cublas",
     .what = "cublasLt with TF32 and its epilogue",
     .delivers = GEMM_TF32,
     .epilogues = LT & ~PLAIN,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_FIRST,
     .open = rival_lt_open},
    {.name = "cublasLt",
     .role = "lt",
     .what = "the best of cublasLt",
     .delivers = GEMM_SGEMM,
     .epilogues = LT,
     .compute = RIVAL_COMPUTE_32F,
     .open = rival_lt_open},
    {.name = "cublasLt TF32",
     .role = "lt",
     .what = "the best of cublasLt with TF32",
     .delivers = GEMM_TF32,
     .epilogues = LT,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .open = rival_lt_open},
    {.name = "cublasGemmEx autotune",
     .role = "autotune",
     .what = "CUBLAS_GEMM_AUTOTUNE",
     .delivers = GEMM_SGEMM,
     .epilogues = PLAIN,
     .compute = RIVAL_COMPUTE_32F,
     .algorithm = RIVAL_ALGORITHM_AUTOTUNE,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx TF32 autotune",
     .role = "autotune",
     .what = "CUBLAS_GEMM_AUTOTUNE with TF32",
     .delivers = GEMM_TF32,
     .epilogues = PLAIN,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_AUTOTUNE,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx BF16x9",
     .role = "bf16x9",
     .what = "BF16x9 emulation",
     .delivers = GEMM_SGEMM_ACCURATE,
     .epilogues = PLAIN,
     .compute = RIVAL_COMPUTE_32F_EMULATED_16BFX9,
     .algorithm = RIVAL_ALGORITHM_DEFAULT,
     .open = rival_gemm_ex_open},
    RIVALS_OF_16_BITS(GEMM_BF16, "BF16"),
    RIVALS_OF_16_BITS(GEMM_F16, "FP16"),
    RIVALS_OF_16_BITS(GEMM_BF16_TO_F32, "BF16/FP32"),
    RIVALS_OF_16_BITS(GEMM_F16_TO_F32, "FP16/FP32"),
};

const int rival_count = sizeof rivals / sizeof *rivals;
_Static_assert(sizeof rivals / sizeof *rivals <= RIVALS_MAX, "a contenders has room for all rivals");

bool rival_is_known(const char *role)
{
    for (int i = 0; i < rival_count; i++)
        if (strcmp(rivals[i].role, role) == 0) return true;
    return false;
}

const struct rival_row *rival_for(const char *role, const struct problem *problem)
{
    const struct rival_row *found = NULL;
    for (int i = 0; i < rival_count; i++) {
        const struct rival_row *row = &rivals[i];
        if (strcmp(row->role, role) != 0 || !(row->epilogues >> problem->epilogue & 1) ||
            row->pointers != problem->pointers)
            continue;
        if (row->delivers == problem->type) return row;
        if (!gemm_type_satisfies(row->delivers, problem->type)) continue;
        if (!found) found = row;
    }
    return found;
}

const struct rival_row *rival_anchor(const struct problem *problem)
{
    return rival_for("cublas", problem);
}
