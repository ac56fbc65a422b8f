/* rival.h — the anchor that every winner is raced against: cuBLAS, as most programs call it. */
#ifndef GT_RIVAL_H
#define GT_RIVAL_H

#include "kernel.h"

/* cuBLAS, opened at run time (GEMMTUNE_LIBCUBLAS, toolkit, usual names), strict FP32: TF32 and emulation are
 * off, whatever the environment says (it changes this process's environment before the library is loaded).
 * E_ABSENT when there is no cuBLAS, or it cannot take the problem. version: "13.1.0". Errors: E_GPU. */
enum status rival_open(struct device *device, const struct problem *problem, struct kernel *kernel,
                       char version[16]);

/* Version of cuBLAS without opening a device. E_ABSENT when there is none, with where it was looked for. */
enum status rival_version(char version[16], char *path, size_t room);

#endif
