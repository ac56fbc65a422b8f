/* fake_rivals.h — cuBLAS and cublasLt in host memory, for testing the rivals of tune bench: column-major
 * products by the definition, with the algorithms that a test defines, each right or wrong and with a given
 * duration. */
#ifndef GT_FAKE_RIVALS_H
#define GT_FAKE_RIVALS_H

#include <stddef.h>

#define FAKE_ANSWERS_MAX 32

struct fake_answer {
    double us; /* duration of a call; 0: the launch fails */
    int wrong; /* one element is off */
    int state; /* state in the heuristic's result: 0 is usable */
    size_t workspace_bytes;
};

struct fake_rivals {
    struct fake_answer answer[FAKE_ANSWERS_MAX];
    int answers;
    void (*spend)(double us);     /* winds the clock */
    int autotune_calls, open;     /* open: objects created and not destroyed */
    unsigned alignment_a;         /* bytes, as promised by the program */
    unsigned sums;                /* reduction schemes that the program allows; 0: it did not say */
    int products;                 /* number of calls, each with at most 65535 items */
    int pointer_products;         /* calls of cublasSgemmBatched among them */
    int compute, math, emulation; /* requested by the last product, handle and strategy */
    int element;                  /* cudaDataType_t of the last product that was not FP32 */
    int no_emulation;             /* this cuBLAS has no emulation on this GPU */
    int out_of_place;             /* the last product of cublasLt was */
};

/* The library's instance; tests find it by dlsym. */
extern struct fake_rivals fake_rivals;

#endif
