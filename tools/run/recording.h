/* recording.h — the file in which tune run has a program's problems recorded: where it is, whether the
 * program has added to it, and how to tune what it contains.
 */
#ifndef GT_RECORDING_H
#define GT_RECORDING_H

#include "status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct recording {
    char path[PATH_MAX];
    bool temporary;
    struct stat before; /* the file, before the program started */
    int parts_before;   /* beside it */
};

/* Tells the program's drop-in of it (GEMMTUNE_CAPTURE). chosen NULL: a temporary file, in TMPDIR; what
 * earlier runs have left there is said in a line. Errors: E_INPUT, E_IO. */
enum status recording_open(struct recording *recording, const char *chosen);

/* After the program's end: takes in what its processes have left beside the file. True: the program has added
 * to it. */
bool recording_end(const struct recording *recording);
bool recording_is_empty(const struct recording *recording);

/* One line: the command that tunes it. Also where print is quiet: nothing else names the file. */
void recording_tell(const struct recording *recording, const char *why, const char *budget);

/* Removes it if it is temporary. */
void recording_forget(const struct recording *recording);

#endif
