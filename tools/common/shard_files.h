/* shard_files.h — databases of shards (tune --shard) that are to be merged: which belong together, which are
 * unfinished, which are missing.
 */
#ifndef GT_SHARD_FILES_H
#define GT_SHARD_FILES_H

#include "db.h"

struct shard_file {
    const char *path;
    struct db_shard shard; /* of a file that could be read */
    enum status st; /* why it cannot be taken in: E_INPUT (another suite, division or version, or no shard),
                       those of db_open (E_ABSENT: not there) */
    bool other_version; /* then nothing else is wrong with it */
    char why[600];      /* the sentence for it, which names the file */
};

/* The shards of which suite, how many, by which program: what each file has to be. */
struct shard_kind {
    char suite[DB_SUITE_HASH_MAX]; /* "": that of the first file that is a shard */
    int count;
};

/* Reads what each file says of itself, and judges it. A file's place in the list says nothing. Completes
 * kind. Errors: E_MEMORY. */
enum status shard_files_read(struct shard_file *files, int count, struct shard_kind *kind);

#endif
