/* cluster_child.h — a program of Slurm: it is started, and waited for only so long.
 *
 * It leads a process group of its own, so that all that it has started ends with it: sbatch and squeue may be
 * a site's scripts. Ctrl-C and its like go to that group, too.
 */
#ifndef GT_CLUSTER_CHILD_H
#define GT_CLUSTER_CHILD_H

#include "status.h"

#include <stddef.h>

struct printed {
    char *text; /* owned: free it; standard output and error together, NUL-terminated; NULL: nothing */
    size_t length;
    int code; /* exit code; -1: a signal ended it */
};

/* Runs a program that is in PATH without standard input. limit_s: GEMMTUNE_SLURM_S counts more, and 0 means
 * for ever. Errors: E_ABSENT (there is no such program), E_CHILD (it has not ended in time, and its group was
 * killed), E_IO, E_MEMORY. */
enum status child_run(char *const argv[], double limit_s, struct printed *printed);

/* All lines that it printed, for a sentence: "line | line"; of more than fits the start and the end. */
#define CHILD_LINES_MAX 700
void child_lines(const struct printed *printed, char lines[CHILD_LINES_MAX]);

#endif
