#include "rival_open.h"

#include <string.h>

enum { RIVAL_COMPUTE_32F_FAST_TF32 = 77 };

/* The rivals of a type with operands of 16 bits and FP32 sums. */
#define RIVALS_OF_16_BITS(type, name_)                                                                       \
    {.name = "cublasGemmEx " name_,                                                                          \
     .role = "cublas",                                                                                       \
     .what = "cublasGemmEx with " name_,                                                                     \
     .delivers = type,                                                                                       \
     .epilogues = RIVAL_PLAIN,                                                                               \
     .compute = RIVAL_COMPUTE_32F,                                                                           \
     .algorithm = RIVAL_ALGORITHM_DEFAULT,                                                                   \
     .open = rival_gemm_ex_open},                                                                            \
        {.name = "cublasGemmBatchedEx " name_,                                                               \
         .role = "cublas",                                                                                   \
         .what = "cublasGemmBatchedEx with " name_,                                                          \
         .delivers = type,                                                                                   \
         .epilogues = RIVAL_PLAIN,                                                                           \
         .pointers = true,                                                                                   \
         .compute = RIVAL_COMPUTE_32F,                                                                       \
         .algorithm = RIVAL_ALGORITHM_DEFAULT,                                                               \
         .open = rival_gemm_ex_open},                                                                        \
        {.name = "cublasLt " name_ " epilogue",                                                              \
         .role = "cublas",                                                                                   \
         .what = "cublasLt with " name_ " and its epilogue",                                                 \
         .delivers = type,                                                                                   \
         .epilogues = RIVAL_EPILOGUE,                                                                        \
         .compute = RIVAL_COMPUTE_32F,                                                                       \
         .algorithm = RIVAL_ALGORITHM_FIRST,                                                                 \
         .open = rival_lt_open},                                                                             \
        {.name = "cublasLt " name_,                                                                          \
         .role = "lt",                                                                                       \
         .what = "the best of cublasLt with " name_,                                                         \
         .delivers = type,                                                                                   \
         .epilogues = RIVAL_PLAIN | RIVAL_EPILOGUE,                                                          \
         .compute = RIVAL_COMPUTE_32F,                                                                       \
         .open = rival_lt_open},                                                                             \
    {                                                                                                        \
        .name = "cublasGemmEx " name_ " autotune", .role = "autotune",                                       \
        .what = "CUBLAS_GEMM_AUTOTUNE with " name_, .delivers = type, .epilogues = RIVAL_PLAIN,              \
        .compute = RIVAL_COMPUTE_32F, .algorithm = RIVAL_ALGORITHM_AUTOTUNE, .open = rival_gemm_ex_open      \
    }

/* If no row of a role delivers exactly the needed type, the first one that satisfies it is taken. */
const struct rival_row rivals[] = {
    {.name = "cublasSgemm",
     .role = "cublas",
     .what = "cublasSgemm",
     .delivers = GEMM_SGEMM,
     .epilogues = RIVAL_PLAIN,
     .open = rival_sgemm_open},
    {.name = "cublasSgemmBatched",
     .role = "cublas",
     .what = "cublasSgemmBatched",
     .delivers = GEMM_SGEMM,
     .epilogues = RIVAL_PLAIN,
     .pointers = true,
     .open = rival_sgemm_open},
    {.name = "cublasGemmBatchedEx TF32",
     .role = "cublas",
     .what = "cublasGemmBatchedEx with TF32",
     .delivers = GEMM_TF32,
     .epilogues = RIVAL_PLAIN,
     .pointers = true,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_DEFAULT,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx TF32",
     .role = "cublas",
     .what = "cublasGemmEx with TF32",
     .delivers = GEMM_TF32,
     .epilogues = RIVAL_PLAIN,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_DEFAULT,
     .open = rival_gemm_ex_open},
    {.name = "cublasLt epilogue",
     .role = "cublas",
     .what = "cublasLt with its epilogue",
     .delivers = GEMM_SGEMM,
     .epilogues = RIVAL_EPILOGUE,
     .compute = RIVAL_COMPUTE_32F,
     .algorithm = RIVAL_ALGORITHM_FIRST,
     .open = rival_lt_open},
    {.name = "cublasLt TF32 epilogue",
     .role = "cublas",
     .what = "cublasLt with TF32 and its epilogue",
     .delivers = GEMM_TF32,
     .epilogues = RIVAL_EPILOGUE,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_FIRST,
     .open = rival_lt_open},
    {.name = "cublasLt",
     .role = "lt",
     .what = "the best of cublasLt",
     .delivers = GEMM_SGEMM,
     .epilogues = RIVAL_PLAIN | RIVAL_EPILOGUE,
     .compute = RIVAL_COMPUTE_32F,
     .open = rival_lt_open},
    {.name = "cublasLt TF32",
     .role = "lt",
     .what = "the best of cublasLt with TF32",
     .delivers = GEMM_TF32,
     .epilogues = RIVAL_PLAIN | RIVAL_EPILOGUE,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .open = rival_lt_open},
    {.name = "cublasGemmEx autotune",
     .role = "autotune",
     .what = "CUBLAS_GEMM_AUTOTUNE",
     .delivers = GEMM_SGEMM,
     .epilogues = RIVAL_PLAIN,
     .compute = RIVAL_COMPUTE_32F,
     .algorithm = RIVAL_ALGORITHM_AUTOTUNE,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx TF32 autotune",
     .role = "autotune",
     .what = "CUBLAS_GEMM_AUTOTUNE with TF32",
     .delivers = GEMM_TF32,
     .epilogues = RIVAL_PLAIN,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_AUTOTUNE,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx BF16x9",
     .role = "bf16x9",
     .what = "BF16x9 emulation",
     .delivers = GEMM_SGEMM_ACCURATE,
     .epilogues = RIVAL_PLAIN,
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
    const int epilogue = !problem->epilogue                        ? RIVAL_PLAIN
                         : epilogue_in_cublaslt(problem->epilogue) ? RIVAL_EPILOGUE
                                                                   : 0;
    for (int i = 0; i < rival_count; i++) {
        const struct rival_row *row = &rivals[i];
        if (strcmp(row->role, role) != 0 || !(row->epilogues & epilogue) ||
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
