/* checks.h — what the examples beside it share: what fails ends the program with a sentence; numbers for
 * matrices; and how far a product is from right. No part of gemmtune. */
#ifndef CHECKS_H
#define CHECKS_H

#include <cuda_runtime_api.h>
#include <gemmtune.h>

#include <stdio.h>
#include <stdlib.h>

static inline void cuda_check(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    exit(1);
}

static inline void gemmtune_check(enum gt_status status)
{
    if (status == GT_OK) return;
    fprintf(stderr, "gemmtune: %s: %s\n", gt_status_text(status), gt_error_text());
    exit(1);
}

/* Numbers of the host, and their copy in the GPU's memory. */
struct numbers {
    float *host, *gpu;
    size_t bytes;
};

static inline void to_gpu(const struct numbers *x)
{
    cuda_check(cudaMemcpy(x->gpu, x->host, x->bytes, cudaMemcpyHostToDevice));
}

static inline void to_host(const struct numbers *x)
{
    cuda_check(cudaMemcpy(x->host, x->gpu, x->bytes, cudaMemcpyDeviceToHost));
}

/* So many, from -most to most and round again: products of whole numbers this small are exact. */
static inline struct numbers numbers_make(int count, int most)
{
    struct numbers x = {.bytes = (size_t)count * sizeof *x.host};
    x.host = malloc(x.bytes);
    if (!x.host) exit(1);
    for (int i = 0; i < count; i++) x.host[i] = (float)(i % (2 * most + 1) - most);
    cuda_check(cudaMalloc((void **)&x.gpu, x.bytes));
    to_gpu(&x);
    return x;
}

static inline void numbers_free(struct numbers *x)
{
    cuda_check(cudaFree(x->gpu));
    free(x->host);
}

/* How many elements of C, M x N by rows, are not those of A B. */
static inline int count_wrong(const float *a, const float *b, const float *c, int m, int n, int k)
{
    int wrong = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
            wrong += c[i * n + j] != sum;
        }
    return wrong;
}

#endif
