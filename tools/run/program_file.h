/* program_file.h — the file of a program that is to be run under the drop-in: where it is, and whether the
 * system's loader will load the drop-in into it.
 */
#ifndef GT_PROGRAM_FILE_H
#define GT_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Where execvp would find it. False: nowhere; then path is the name as it is. */
bool program_find(const char *name, char *path, size_t room);

enum program_fit {
    PROGRAM_FITS,
    PROGRAM_IGNORES, /* LD_PRELOAD has no effect on it, but on what it starts */
    PROGRAM_FAILS    /* with LD_PRELOAD it complains, or does not start at all */
};

/* Of a script, that of its interpreter. *why: if it does not fit, what it is: "set-uid". What cannot be read
 * fits. */
enum program_fit program_fit(const char *path, const char **why);

#endif
