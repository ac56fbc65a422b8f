/* export_header.h — writes winners as one C header: tables, the lookup and, with kernels, their launcher.
 *
 * From the database come only numbers, configurations that their templates have parsed and whose rules allow
 * them, and names, which are written as string literals whatever bytes they contain.
 */
#ifndef GT_EXPORT_HEADER_H
#define GT_EXPORT_HEADER_H

#include "export_picks.h"
#include "kernel_key.h"
#include "status.h"
#include <stdio.h>

/* ---- export_text.c ---- */

/* The text forms that generated C needs. */

/* A C string literal of any bytes: what is not plain ASCII is written in octal, so that nothing ends it. */
void text_c_string(const char *text, FILE *stream);

/* Within a comment: on one line, and nothing that ends it or warns. */
void text_c_comment(const char *text, FILE *stream);

/* A float literal; what is not finite is 0. */
void text_c_float(double value, FILE *stream);

/* Now, or SOURCE_DATE_EPOCH (reproducible-builds.org), as 2026-11-20T12:00:00Z. Errors: E_INPUT. */
enum status text_date(char date[32]);

/* ---- export_types.c ---- */

/* The types in an exported header: a text with winner_types.h in it, with a list and tables
 * in its place.
 */

/* Refuses a header before this one in the same file that knows another number of types, then writes text. */
void types_write(const char *text, FILE *f);

/* ---- export_kernels.c ---- */

/* The compiled kernels of a header: each once, however many winners use it. */

struct export_kernel {
    struct kernel_key key;
    char *cubin, *ptx; /* malloc'ed; ptx is NULL if not wanted, or the kernel needs this one architecture */
    size_t cubin_bytes, ptx_bytes;
};

struct export_kernels {
    struct export_kernel *list;
    int count;
    bool with_ptx; /* beside the machine code */
};

/* Number of a kernel; it is added if it is not there. -1: out of memory. */
int kernels_number(struct export_kernels *kernels, const struct kernel_key *key);

/* What they are expected to cost, before they are compiled. */
struct kernels_cost {
    int to_compile;  /* that the cache has not; with PTX, all that have some: what it has of that is not known
                      */
    int64_t bytes;   /* of text in the header */
    double core_s;   /* of compiling them on one core */
    char archs[128]; /* "sm_90a", or several */
};
struct kernels_cost kernels_expect(const struct export_kernels *kernels);

/* Compile them all on all cores, or take them from the cache. Errors: E_COMPILER, E_IO, E_MEMORY; a kernel
 * that the compiler refuses is E_COMPILER too, since it once took it. */
enum status kernels_compile(struct export_kernels *kernels);

/* As arrays gt_NAME_cubin0, gt_NAME_ptx0, ..., and gt_NAME_kernels, which has them all. */
void kernels_write(const struct export_kernels *kernels, const char *name, FILE *stream);

void kernels_free(struct export_kernels *kernels); /* takes a zeroed struct */

struct header {
    char name[64], guard[72]; /* gt_NAME is the table's name */
    const char *generator;    /* version of this program */
    char date[32];
    const struct picks *picks;
    bool with_kernels;

    /* after header_prepare */
    struct export_kernels kernels;
    struct gt_winner *winners;  /* one for each pick; config and when are not set */
    int *kernel_of, plan_count; /* of each plan its number in kernels; winners have the numbers of plans */
};

/* Fill in name and guard: "dir/H200-winners.h" gives gt_h200_winners and GT_H200_WINNERS_H, "h200.h" gives
 * gt_h200_winners and GT_H200_H. Errors: E_USAGE (no letter or digit in it). */
enum status header_name(const char *path, struct header *header);

/* Work out what each winner fits, and which kernels there are. Errors: E_MEMORY. */
enum status header_prepare(struct header *header);

/* Everything, after the kernels have been compiled. Errors: E_MEMORY; those of the stream are the caller's.
 */
enum status header_write(const struct header *header, FILE *stream);

void header_free(struct header *header); /* takes a zeroed struct */

/* ---- export_tables.c ---- */

/* Writes the tables of a header: how winners are launched, their kernels, and for each
 * epilogue a set of the winners of each GPU.
 */

/* After header_prepare. Errors: E_MEMORY; those of the stream are the caller's. */
enum status tables_write(const struct header *header, FILE *stream);

#endif
