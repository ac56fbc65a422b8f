/* gpu.h — what the tuner must know about a GPU: limits that decide legality, rates for the model.
 *
 * There are two sources for one struct: a descriptor file in configs/gpus (for prediction without the GPU),
 * or the driver (device.h). Plain data.
 */
#ifndef GT_GPU_H
#define GT_GPU_H

#include "gemm_type.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_NAME_MAX  96
#define GPU_RATES_MAX 8

/* Peak rate of a GPU with one kind of unit, dense, in 1e12 operations per second: "fp32" (FFMA), "tf32". */
struct gpu_rate {
    char name[16]; /* "": unused */
    double value;
};

struct gpu {
    char id[32];             /* short name used on the command line and as file name: "h200" */
    char name[GPU_NAME_MAX]; /* as the driver gives it: "NVIDIA H200" */
    int arch;                /* compute capability, 10 * major + minor: 90 */
    int sm_count;
    int threads_per_sm, blocks_per_sm;
    int registers_per_sm;                        /* 32-bit */
    int smem_per_sm_bytes, smem_per_block_bytes; /* per block: the opt-in limit */
    int smem_reserved_bytes;                     /* taken by the system for each block */
    int64_t l2_bytes, memory_bytes;
    double clock_mhz;       /* boost */
    double memory_gb_per_s; /* published or measured, 1e9 bytes */
    struct gpu_rate rate[GPU_RATES_MAX];
    char source[160]; /* where the figures come from */
};

/* A rate by its name; 0: unknown. */
double gpu_rate(const struct gpu *gpu, const char *name);

/* Adds or changes a rate. False: the name is too long, or there is no room. */
bool gpu_set_rate(struct gpu *gpu, const char *name, double value);

/* The rate that bounds a type. Where it is unknown, the FP32 rate times the ratio of the architecture's
 * units. */
double gpu_peak_tflops(const struct gpu *gpu, enum gemm_type type);

/* The target handed to the compiler: 75 -> "sm_75", 90 -> "sm_90a", 100 -> "sm_100a", 120 -> "sm_120a". */
void gpu_arch_name(int arch, char name[16]);

/* Features that a template's rules ask for. */
bool gpu_has_cp_async(const struct gpu *gpu); /* sm_80 and later */
bool gpu_has_tma(const struct gpu *gpu);      /* sm_90 and later */

/* Read one descriptor (INI; the keys are the names of the struct's members; a rate is NAME_tflops;
 * fp32_tflops is required). Errors: E_IO, E_INPUT (file:line, reason). */
enum status gpu_read(const char *path, struct gpu *gpu);

/* Find a descriptor in folder by id or by driver name, ignoring case, blanks and an "NVIDIA " prefix.
 * Errors: E_ABSENT with the list of known ids. */
enum status gpu_find(const char *folder, const char *name, struct gpu *gpu);

/* Is it the name of its architecture (sm_90, sm_90a, compute_90, 9.0)? */
bool gpu_has_arch(const struct gpu *gpu, const char *name);

/* Does a person mean this GPU by name? By its id, its driver's name, the first words of either (h100:
 * "NVIDIA H100 80GB HBM3"), or its architecture. */
bool gpu_fits(const struct gpu *gpu, const char *name);

/* The descriptor that a person means: that of gpu_find, else the only one that fits. Errors: E_ABSENT, with
 * the ids that fit, or with all and the likely one. */
enum status gpu_choose(const char *folder, const char *name, struct gpu *gpu);

/* True if two names mean the same GPU: case, blanks, punctuation and a leading "NVIDIA" or "GeForce" are
 * ignored. */
bool gpu_same_name(const char *x, const char *y);

/* All descriptors of a folder, sorted by id; malloc'ed, owned by the caller. */
enum status gpu_list(const char *folder, struct gpu **gpus, size_t *count);

#endif
