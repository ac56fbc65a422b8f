/* db_code.h — machine code of kernels in one file, which ships beside the winners: what is in it needs no
 * compiler. The file is an SQLite database of its own form, written once, and read without locks.
 *
 * Machine code is run, so the file is trusted only if it and its folder belong to root or to this user, and
 * nobody else may write them (a group with the owner's number is the owner's own); a link is not followed. A
 * kernel's checksum covers its id, too, so that a damaged index leads to no other kernel.
 */
#ifndef GT_DB_CODE_H
#define GT_DB_CODE_H

#include "outcome.h"
#include "status.h"
#include <stddef.h>

#define DB_CODE_ID_TEXT 33 /* 32 hexadecimal digits: compile_id (tuner/gpu/compile.h) */

struct db_code {
    char id[DB_CODE_ID_TEXT];
    const char *kernel; /* for readers of the file: "sgemm nn simt BM=16 ..." */
    const char *code;   /* not compressed */
    size_t bytes;
    struct kernel_facts facts;
};

/* Writes a new file, which replaces the one at path as a whole. Errors: E_IO, E_DB, E_MEMORY. */
enum status db_code_write(const char *path, const struct db_code *kernels, int count);

/* The machine code of a kernel; *code malloc'ed. E_ABSENT: there is no such file, or it lacks the kernel.
 * Errors: E_IO (it cannot be read, or is not trusted), E_DB (damaged, or of another form), E_MEMORY, each
 * with what to do. */
enum status db_code_find(const char *path, const char *id, char **code, size_t *bytes);

#endif
