/* rivals.h — what NVIDIA's libraries offer for a problem, as a table: each row a way to compute it, opened as
 * a kernel. A type (gemm_type.h) has a row for each role. One of them is the anchor that every winner is
 * raced against; the others are for tune bench.
 *
 * Each is asked for the arithmetic that it promises, by the mode of its handle or its compute type, and the
 * environment of this process is left alone. The supervisor removes variables that change the meaning of FP32
 * for a whole process from its children's environment (children.h). If one is set nevertheless, strict FP32
 * uses cuBLAS's pedantic mode, which has neither TF32 nor emulation.
 */
#ifndef GT_RIVALS_H
#define GT_RIVALS_H

#include "problem.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>

struct trial_setup;
struct kernel;

#define RIVAL_DETAIL_MAX 96

enum rival_epilogue {
    RIVAL_PLAIN = 1,   /* none */
    RIVAL_EPILOGUE = 2 /* one that cublasLt applies */
};

enum { RIVAL_ROLES = 9, RIVALS_MAX = RIVAL_ROLES * GEMM_TYPE_COUNT, RIVAL_NAME_MAX = 40 };

struct rival_row {
    int number;                /* in the table */
    char name[RIVAL_NAME_MAX]; /* in decisions and reports: "cublasSgemm" */
    char what[64];             /* for use in sentences: "the best of cublasLt" */
    const char *role;          /* "cublas" (the anchor), "lt", "autotune", "bf16x9": tune bench --rival */
    enum gemm_type delivers;   /* it is a rival for the types that this satisfies */
    int epilogues;             /* and for problems with these: bits of rival_epilogue */
    bool pointers;             /* for problems with pointers, and for no others */
    int compute, algorithm;    /* cublasComputeType_t, cublasGemmAlgo_t; for the rows that use them, else 0 */

    /* Opens it for the setup's problem. detail: which algorithm of how many, or "". E_ABSENT: the library
     * lacks it, refuses the problem, or its results are not right. Errors: E_GPU, E_MEMORY. */
    enum status (*open)(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                        char detail[RIVAL_DETAIL_MAX]);
};

/* The rows, from 0 on; NULL after the last one. */
const struct rival_row *rival_at(int number);

bool rival_is_known(const char *role); /* whether some type has a rival of this role */

/* The row of this role for the problem's type, epilogue and pointers: the one that delivers the type, else
 * the first that satisfies it; NULL if there is none. */
const struct rival_row *rival_for(const char *role, const struct problem *problem);

/* The row that every winner for such a problem is raced against. NULL where no library fuses the epilogue
 * (epilogue_in_cublaslt). */
const struct rival_row *rival_anchor(const struct problem *problem);

/* Version of cuBLAS, "13.1.0", and its file, without opening a device. E_ABSENT if there is none, with the
 * places that were searched. */
enum status rival_version(char version[16], char *path, size_t room);

#endif
