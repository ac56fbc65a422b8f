#include "not_done.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const struct not_done not_done_rows[] = {
    {"fp8* f8* bf8* e4m3* e5m2* float8* qgemm_fp8", "FP8 products", "use cublasLt"},
    {"fp4* fp6* nvfp4* mxfp* mx8* e2m1*", "FP4, FP6 and block-scaled products", "use cublasLt or CUTLASS"},
    {"int8* i8* s8* igemm* uint8* int4* imma*", "integer products (INT8, INT4)", "use cublasLt"},
    {"fp64* f64* double* dgemm*", "FP64 products", "use cuBLAS"},
    {"cgemm* zgemm* complex* c10::complex* cf32* f32_c f64_c", "complex products", "use cuBLAS"},
    {"compute_16f* hgemm_16f* hgemm16* fp16sum* sum=f16", "FP16 sums (COMPUTE_16F)",
     "use hgemm, which sums in FP32, or cuBLAS"},
    {"grouped* group* groups* moe* experts*", "grouped and MoE products",
     "tune each product, or a batch of equal ones (:batch=), or use CUTLASS"},
    {"sparse* 2:4* spgemm* spmm*", "sparse products", "use cusparseLt"},
    {"mig* mps*", "parts of a GPU (MIG, MPS)", "it is not tested; tune where no other program uses the GPU"},
    {"volta* v100* titanv sm_70* sm_72* pascal* p100* p40* p4 sm_60* sm_61* gtx10* maxwell* sm_5*",
     "Volta, Pascal and older GPUs", "use a GPU of sm_75 or later, for which NVRTC 13 compiles"},
    {"amd* radeon* mi2* mi3* gfx* rocm* hip* intel* arc*", "GPUs of other makers",
     "use the tuners of their libraries"},
};
const size_t not_done_count = sizeof not_done_rows / sizeof *not_done_rows;

/* Is it one of the words? */
static bool is_among(const char *asked, const char *words)
{
    while (*words) {
        const size_t length = strcspn(words, " ");
        const bool begins = words[length - 1] == '*';
        if (begins ? strncmp(asked, words, length - 1) == 0
                   : strlen(asked) == length && strncmp(asked, words, length) == 0)
            return true;
        words += length + strspn(words + length, " ");
    }
    return false;
}

static const struct not_done *row_of(const char *asked)
{
    char lower[64];
    size_t used = 0;
    for (; *asked && used + 1 < sizeof lower; asked++)
        if (*asked != ' ') lower[used++] = (char)tolower((unsigned char)*asked);
    lower[used] = '\0';
    const char *plain = lower; /* "NVIDIA Tesla V100" */
    static const char *const before[] = {"nvidia", "geforce", "tesla"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(plain, before[i], strlen(before[i])) == 0) plain += strlen(before[i]);
    for (size_t i = 0; i < not_done_count; i++)
        if (is_among(plain, not_done_rows[i].words)) return &not_done_rows[i];
    return NULL;
}

const char *not_done(const char *asked)
{
    static _Thread_local char sentence[256];
    const struct not_done *row = row_of(asked);
    if (!row) return NULL;
    snprintf(sentence, sizeof sentence, "gemmtune does not do %s: %s (docs/not-done.md)", row->what,
             row->why);
    return sentence;
}

const char *not_done_what(const char *asked)
{
    const struct not_done *row = row_of(asked);
    return row ? row->what : NULL;
}
