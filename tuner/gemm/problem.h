/* problem.h — a GEMM problem in plain data, and its text form.
 *
 * Row-major C[M,N] = alpha * op(A) * op(B) + beta * C, batch times. op(A) is M x K and op(B) is K x N. With
 * trans_a = false A is stored M x K with lda >= K; with trans_a = true it is stored K x M with lda >= M. With
 * trans_b = false B is stored K x N with ldb >= N; with trans_b = true it is stored N x K with ldb >= K. C is
 * stored M x N with ldc >= N. Batch item i starts stride_x * i elements after item 0, or, with pointers,
 * wherever the i-th element of an array of addresses says: A, B and C have one each, in device memory. An
 * epilogue may add a bias, apply an activation, and store the result in another matrix (epilogue.h). A
 * prepared operand is a constant one that was brought into the form that kernels read before the calls
 * (template.h, prepare): what is timed leaves that out. An invariant problem wants rows of C whose bits do
 * not depend on M (invariant.h).
 *
 * Text form: [TYPE:][OP:]MxNxK[:batch=B][:pointers][:lda=..][:ldb=..][:ldc=..][:stride_a=..][:stride_b=..]
 * [:stride_c=..][:prepared=..][:invariant][:alpha=..][:beta=..][:epilogue=..][:stride_bias=..], TYPE of
 * gemm_type.h, OP in nn nt tn tt, prepared a or b, epilogue as in epilogue.h, for example
 * sgemm:nn:4096x4096x4096. Defaults: sgemm, nn, batch 1, leading dimensions equal to the row, strides equal
 * to the matrix, nothing prepared, not invariant, alpha 1, beta 0, no epilogue, one bias for all items of the
 * batch. With stride_a=0 or stride_b=0 all items share one matrix. With pointers there are no strides, no
 * epilogue and nothing prepared.
 */
#ifndef GT_PROBLEM_H
#define GT_PROBLEM_H

#include "epilogue.h"
#include "gemm_type.h"
#include "status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBLEM_DIM_MAX  2147418112 /* 2^31 - 2^16: the end of a tile beyond the edge still fits an int */
#define PROBLEM_TEXT_MAX 320

enum prepared_operand { PREPARED_NONE, PREPARED_A, PREPARED_B };
#define PREPARED_OPERANDS "a|b"
#define PREPARED_ABOUT    "problems with this operand prepared once, for calls that name it (gt_prepare)"
#define INVARIANT_ABOUT   "problems whose rows of C have the same bits for every M (docs/batch-invariant.md)"

struct problem {
    enum gemm_type type; /* what is needed */
    bool trans_a, trans_b;
    int64_t m, n, k;                      /* 0 .. PROBLEM_DIM_MAX */
    int64_t lda, ldb, ldc;                /* elements */
    int64_t batch;                        /* >= 1 */
    int64_t stride_a, stride_b, stride_c; /* elements; 0 (not of C): all items share the matrix. With pointers
                                             the defaults, which mean nothing */
    double alpha, beta;                   /* values during tuning; both exactly representable as float */
    int epilogue;                         /* a code of epilogue.h; 0: none */
    int64_t stride_bias;                  /* elements; 0: one bias for the whole batch */
    bool pointers;                        /* A, B and C are arrays of the addresses of their items */
    enum prepared_operand prepared;
    bool invariant; /* the bits of a row of C must not depend on M */
};

/* A problem with everything but the sizes at its default. */
struct problem problem_make(int64_t m, int64_t n, int64_t k);

/* Parses the text form, fills in defaults and checks everything. Errors: E_INPUT with one sentence that names
 * the text, the place and the limit. */
enum status problem_parse(const char *text, struct problem *problem);

/* The same; texts without a type get this one. */
enum status problem_parse_as(const char *text, enum gemm_type type, struct problem *problem);

/* Checks ranges, leading dimensions (at most 2^31), strides, and that no operand exceeds 2^62 bytes. Errors:
 * E_INPUT. */
enum status problem_check(const struct problem *problem);

/* "a" or "b". Returns false for anything else. */
bool problem_prepared_parse(const char *name, enum prepared_operand *prepared);

/* Makes the problem one with this operand prepared. Errors: E_INPUT, for one that has nothing to prepare, or
 * whose other operand is prepared. */
enum status problem_prepare(struct problem *problem, enum prepared_operand prepared);

/* Makes the problem an invariant one. Errors: E_INPUT, for a type without such kernels. */
enum status problem_make_invariant(struct problem *problem);

/* Makes the problem one of pointers: leading dimensions of 0 and its strides get their defaults. Errors:
 * E_INPUT, for sizes that their products could overflow. */
enum status problem_use_pointers(struct problem *problem);

/* Writes the canonical text form (every default left out except type and op; alpha and beta in the shortest
 * form that reads back); buffer of PROBLEM_TEXT_MAX bytes. problem_parse(problem_format(p)) == p. */
void problem_format(const struct problem *problem, char *text);

/* The key of a problem in the database: the text form, but alpha and beta with nine digits, so that the keys
 * of all versions are the same. Buffer of PROBLEM_TEXT_MAX bytes. */
void problem_key(const struct problem *problem, char *text);

bool problem_equal(const struct problem *x, const struct problem *y);

/* Winners of the one are winners of the other: they are equal but for the values of alpha and beta, which
 * cost no time. Only where alpha or beta is 0 less is computed, or read. problem_class is the one of them
 * with alpha and beta of 0 or 1. */
struct problem problem_class(const struct problem *problem);
bool problem_alike(const struct problem *x, const struct problem *y);

/* The same of problems that may also differ in M, and in what follows from it: A's lines, if it is
 * transposed, and batch strides. */
bool problem_alike_but_m(const struct problem *x, const struct problem *y);

/* Stored shape of an operand: rows x cols of row-major storage. */
int64_t problem_rows_a(const struct problem *p);
int64_t problem_cols_a(const struct problem *p);
int64_t problem_rows_b(const struct problem *p);
int64_t problem_cols_b(const struct problem *p);

/* How many matrices A and B are in memory: one if the items of the batch share it. */
int64_t problem_count_a(const struct problem *p);
int64_t problem_count_b(const struct problem *p);

/* Elements that an operand spans in memory, padding and batch included (0 for an empty operand). With
 * pointers: if the items lay one after the other. */
int64_t problem_span_a(const struct problem *p);
int64_t problem_span_b(const struct problem *p);
int64_t problem_span_c(const struct problem *p);

/* Elements of the bias of one item, 0 without one, and what the biases of the batch span. */
int64_t problem_bias_length(const struct problem *p);
int64_t problem_span_bias(const struct problem *p);

/* The widest vector access that is safe on an operand whose base is 16-byte aligned, in elements (of FP32 4,
 * 2 or 1): the stored row length, the leading dimension and the batch stride are all multiples of it. With
 * pointers 1, because the host does not see the addresses. */
int problem_align_a(const struct problem *p);
int problem_align_b(const struct problem *p);
int problem_align_c(const struct problem *p);

/* Floating-point operations (2 M N K batch), and the fewest bytes moved through device memory: a matrix that
 * items share once. */
double problem_flop(const struct problem *p);
double problem_bytes(const struct problem *p);
/* Bytes that the operands occupy, paddings and a C that is only read among them. */
double problem_memory_bytes(const struct problem *p);

/* "nn", "nt", "tn" or "tt". */
const char *problem_op_name(const struct problem *p);

#endif
