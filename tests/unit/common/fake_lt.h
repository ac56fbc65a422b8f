/* fake_lt.h — the cublasLt functions that both fakes have, with the types of their own. */
#ifndef GT_FAKE_LT_H
#define GT_FAKE_LT_H

#include <stddef.h>
#include <stdint.h>

/* A handle, a descriptor, a layout or a preference. */
struct lt;

struct lt_answer {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

int cublasLtCreate(struct lt **handle);
int cublasLtDestroy(struct lt *handle);
int cublasLtMatmulDescCreate(struct lt **desc, int compute, int scale);
int cublasLtMatmulDescSetAttribute(struct lt *desc, int what, const void *value, size_t bytes);
int cublasLtMatmulDescDestroy(struct lt *desc);
int cublasLtMatrixLayoutCreate(struct lt **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(struct lt *layout, int what, const void *value, size_t bytes);
int cublasLtMatrixLayoutDestroy(struct lt *layout);
int cublasLtMatmulPreferenceCreate(struct lt **preference);
int cublasLtMatmulPreferenceSetAttribute(struct lt *preference, int what, const void *value, size_t bytes);
int cublasLtMatmulPreferenceDestroy(struct lt *preference);
int cublasLtMatmulAlgoGetHeuristic(struct lt *handle, struct lt *desc, struct lt *a, struct lt *b,
                                   struct lt *c, struct lt *d, struct lt *preference, int wanted,
                                   struct lt_answer *answers, int *count);
size_t cublasLtGetVersion(void);
int cublasLtMatmulAlgoConfigGetAttribute(const uint64_t *algorithm, int what, void *value, size_t bytes,
                                         size_t *written);
int cublasLtMatmulAlgoConfigSetAttribute(uint64_t *algorithm, int what, const void *value, size_t bytes);
int cublasLtMatmulAlgoInit(struct lt *handle, int compute_type, int scale, int a, int b, int c, int d, int id,
                           uint64_t *algorithm);
int cublasLtMatmulAlgoCheck(struct lt *handle, struct lt *desc, struct lt *a, struct lt *b, struct lt *c,
                            struct lt *d, const uint64_t *algorithm, struct lt_answer *answer);
int cublasLtMatmul(struct lt *handle, struct lt *desc, const void *alpha, const void *a, struct lt *of_a,
                   const void *b, struct lt *of_b, const void *beta, const void *c, struct lt *of_c, void *d,
                   struct lt *of_d, const uint64_t *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream);

#endif
