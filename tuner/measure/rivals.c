#include "rival_open.h"

#include "env.h"
#include <string.h>

enum { RIVAL_COMPUTE_32F_FAST_TF32 = 77 };

/* If no row of a role delivers exactly the needed type, the first one that satisfies it is taken. */
const struct rival_row rivals[] = {
    {.name = "cublasSgemm",
     .role = "cublas",
     .what = "cublasSgemm",
     .delivers = GEMM_SGEMM,
     .open = rival_sgemm_open},
    {.name = "cublasGemmEx TF32",
     .role = "cublas",
     .what = "cublasGemmEx with TF32",
     .delivers = GEMM_TF32,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_DEFAULT,
     .open = rival_gemm_ex_open},
    {.name = "cublasLt",
     .role = "lt",
     .what = "the best of cublasLt",
     .delivers = GEMM_SGEMM,
     .compute = RIVAL_COMPUTE_32F,
     .open = rival_lt_open},
    {.name = "cublasLt TF32",
     .role = "lt",
     .what = "the best of cublasLt with TF32",
     .delivers = GEMM_TF32,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .open = rival_lt_open},
    {.name = "cublasGemmEx autotune",
     .role = "autotune",
     .what = "CUBLAS_GEMM_AUTOTUNE",
     .delivers = GEMM_SGEMM,
     .compute = RIVAL_COMPUTE_32F,
     .algorithm = RIVAL_ALGORITHM_AUTOTUNE,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx TF32 autotune",
     .role = "autotune",
     .what = "CUBLAS_GEMM_AUTOTUNE with TF32",
     .delivers = GEMM_TF32,
     .compute = RIVAL_COMPUTE_32F_FAST_TF32,
     .algorithm = RIVAL_ALGORITHM_AUTOTUNE,
     .open = rival_gemm_ex_open},
    {.name = "cublasGemmEx BF16x9",
     .role = "bf16x9",
     .what = "BF16x9 emulation",
     .delivers = GEMM_SGEMM_ACCURATE,
     .compute = RIVAL_COMPUTE_32F_EMULATED_16BFX9,
     .algorithm = RIVAL_ALGORITHM_DEFAULT,
     .open = rival_gemm_ex_open},
};

const int rival_count = sizeof rivals / sizeof *rivals;
_Static_assert(sizeof rivals / sizeof *rivals <= RIVALS_MAX, "a contenders has room for all rivals");

bool rival_must_be_pedantic(void)
{
    return env_text("NVIDIA_TF32_OVERRIDE") || env_text("CUBLAS_EMULATE_SINGLE_PRECISION");
}

bool rival_is_known(const char *role)
{
    for (int i = 0; i < rival_count; i++)
        if (strcmp(rivals[i].role, role) == 0) return true;
    return false;
}

const struct rival_row *rival_for(const char *role, enum gemm_type needed)
{
    const struct rival_row *found = NULL;
    for (int i = 0; i < rival_count; i++) {
        const struct rival_row *row = &rivals[i];
        if (strcmp(row->role, role) != 0 || !gemm_type_satisfies(row->delivers, needed)) continue;
        if (row->delivers == needed) return row;
        if (!found) found = row;
    }
    return found;
}

const struct rival_row *rival_anchor(enum gemm_type needed)
{
    return rival_for("cublas", needed);
}
