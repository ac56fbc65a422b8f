/* import_ours.h — imports into a database what tune export wrote, perhaps on another machine. */
#ifndef GT_IMPORT_OURS_H
#define GT_IMPORT_OURS_H

#include "db_exchange.h"
#include <jansson.h>

struct imported {
    int64_t read;    /* winners or trials that the file holds */
    int64_t added;   /* that were not known */
    int64_t stand;   /* winners that nothing better stood against */
    int64_t useless; /* of a kernel that this program has not, or has in another version */
    int64_t broken;  /* what is no winner or trial at all */
    char first_useless[240], first_broken[240];
};

#define IMPORT_BYTES_MAX ((size_t)1 << 30) /* of a file, uncompressed */

/* Read a file, compressed by gzip or not; *bytes malloc'ed. Errors: E_IO, E_INPUT (larger than
 * IMPORT_BYTES_MAX, or no text), E_MEMORY. */
enum status import_read(const char *path, char **bytes, size_t *length);

/* True if the text is winners as JSON lines (or one array of them). */
bool winners_here(const char *bytes, size_t length);

/* Between db_import_start and db_import_end. Sums are added to *imported. descriptors: folder of GPU
 * descriptors. Errors: those of the database, E_MEMORY; what is wrong with a line is counted. */
enum status import_winners(struct db *db, const char *bytes, size_t length, const char *descriptors,
                           struct imported *imported);

/* *here: whether the text is a T4 file; path is for messages. *gpus: what tune export tells of the GPUs, a
 * new reference; NULL: another program wrote it. Errors: E_INPUT (T4, but broken). */
enum status trials_here(const char *path, const char *bytes, size_t length, bool *here, json_t **gpus);

/* The results of a T4 file that tune export wrote, which may be truncated. As import_winners. Errors also:
 * E_INPUT (no JSON). */
enum status import_trials(struct db *db, const char *path, const char *bytes, size_t length,
                          const json_t *gpus, struct imported *imported);

#endif
