/* fake_rivals.h — cuBLAS and cublasLt made of host memory for the rivals of tune bench: column-major products
 * by the definition, with as many algorithms as a test sets, each right or wrong and taking its time.
 */
#ifndef GT_FAKE_RIVALS_H
#define GT_FAKE_RIVALS_H

#include <stddef.h>

#define FAKE_ANSWERS_MAX 32

struct fake_answer {
    double us; /* a call takes; 0: the launch fails */
    int wrong; /* one element is off */
    int state; /* as the heuristic says: 0 is usable */
    size_t workspace_bytes;
};

struct fake_rivals {
    struct fake_answer answer[FAKE_ANSWERS_MAX];
    int answers;
    void (*spend)(double us);     /* winds the clock */
    int autotune_calls, open;     /* open: what was created and not destroyed */
    unsigned alignment_a;         /* bytes, as the program promised */
    int products;                 /* so many calls, of at most 65535 items */
    int compute, math, emulation; /* as the last product, handle and strategy asked for */
    int no_emulation;             /* this cuBLAS does not know it on this GPU */
};

/* The name of the one that the library has; for dlsym. */
extern struct fake_rivals fake_rivals;

#endif
