/* export_header.h — writes winners as one C header: tables, the lookup and, with kernels, their launcher.
 *
 * From the database come only numbers, configurations that their templates have parsed and whose rules allow
 * them, and names, which are written as string literals whatever bytes they contain.
 */
#ifndef GT_EXPORT_HEADER_H
#define GT_EXPORT_HEADER_H

#include "export_kernels.h"
#include "export_picks.h"
#include <stdio.h>

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

#endif
