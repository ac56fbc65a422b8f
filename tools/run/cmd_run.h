/* cmd_run.h — what the files of tune run share. */
#ifndef GT_CMD_RUN_H
#define GT_CMD_RUN_H

#include "status.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* ---- program_file.c ---- */

/* The file of a program that is to be run under the drop-in: where it is, and whether the
 * system's loader will load the drop-in into it.
 */

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

/* ---- recording.c ---- */

/* The file in which tune run has a program's problems recorded: where it is, whether the
 * program has added to it, and how to tune what it contains.
 */

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

/* ---- gain.c ---- */

/* What the winners in the database bring to a program whose problems were recorded. */

/* Says it on standard error, for this machine's GPU. Errors: those of the capture and of the database. */
enum status gain_tell(const char *capture);

/* ---- learn.c ---- */

/* Tune run --learn, --capture: a program under the drop-in with a capture; its problems are tuned
 * after it has ended, if that is wanted. This process waits meanwhile, and passes signals on.
 */

struct learn {
    char **words;                 /* the program and its arguments, up to NULL */
    const char *capture;          /* NULL: a temporary file */
    const char *budget;           /* NULL: record, and tune nothing */
    void (*become)(char **words); /* called in the child: turns into the program; returns if that fails */
};

/* *exit_code: the program's; if a signal ended it, the same signal ends this process, and 128 and its number
 * stand for one that cannot. After a signal that asked to end nothing is tuned, and the capture stays. If
 * this process is killed, the program gets SIGTERM. What comes after the program's end has no influence on
 * it: its trouble is one line on standard error. Errors: E_IO, E_CHILD before the program started. */
enum status learn(const struct learn *learn, int *exit_code);

#endif
