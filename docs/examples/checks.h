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

/* Memory that host and GPU see, until cudaFree. */
static inline void *managed(size_t bytes)
{
    void *memory;
    cuda_check(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal));
    return memory;
}

/* So many numbers in it, from -most to most and round again: products of whole numbers this small are exact.
 */
static inline float *numbers(int count, int most)
{
    float *x = managed((size_t)count * sizeof *x);
    for (int i = 0; i < count; i++) x[i] = (float)(i % (2 * most + 1) - most);
    return x;
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
