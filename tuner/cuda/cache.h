/* cache.h — compiled kernels on disk under the hash of everything they depend on. Any number of processes
 * share it; knows no compiler and no GPU.
 *
 * An entry is KEY.cubin and KEY.json (facts, size and checksum of the cubin). Both are written under a
 * temporary name, synced and renamed, the JSON last: an entry exists when its JSON does. There is no lock:
 * two writers of one key write the same bytes, and a reader that finds a half-evicted or damaged entry
 * compiles again.
 *
 * A cubin is code that will run, so the cache trusts only this user: a folder or an entry that belongs to
 * somebody else or is writable by others is refused, links are not followed, and only regular files are
 * opened.
 *
 * The size limit is GEMMTUNE_CACHE_MIB (default 2048). When it is exceeded, the least recently used entries
 * are removed until 7/8 are left. Entries used within the last minute stay, because a process may be about to
 * load them.
 */
#ifndef GT_CACHE_H
#define GT_CACHE_H

#include "outcome.h"
#include "status.h"
#include <stddef.h>
#include <stdint.h>

#define CACHE_KEY_TEXT 33 /* 32 hexadecimal digits */
#define CACHE_PATH_MAX 1024

struct cache_entry {
    char path[CACHE_PATH_MAX]; /* of the cubin */
    char checksum[40];         /* XXH128 of the cubin, hexadecimal */
    struct kernel_facts facts;
};

/* XXH128 over the texts and their lengths: two lists of texts that differ in any way have different keys. */
void cache_key(const char *const *parts, int count, char key[CACHE_KEY_TEXT]);

/* E_ABSENT: not there, or damaged (then the next cache_store replaces it). A hit is marked as used now. */
enum status cache_find(const char *folder, const char *key, struct cache_entry *entry);

/* Keep a cubin; makes the folder. Evicts when the size limit is passed. Errors: E_IO (folder not writable,
 * disk full; nothing half written is left), E_MEMORY. */
enum status cache_store(const char *folder, const char *key, const char *cubin, size_t length,
                        const struct kernel_facts *facts, struct cache_entry *entry);

/* If the folder holds more than limit_bytes, evict down to 7/8 of it, least recently used first; remove what
 * dead writers left behind. Touches only files that carry our names. *kept_bytes: what is there afterwards.
 * Errors: E_IO, E_MEMORY. */
enum status cache_trim(const char *folder, int64_t limit_bytes, int64_t *kept_bytes);

/* Entries and bytes in the folder. Errors: E_IO. */
enum status cache_usage(const char *folder, int64_t *entries, int64_t *bytes);

/* The limit in bytes: GEMMTUNE_CACHE_MIB, or the default where that is unset or not a number of 1 and more.
 */
int64_t cache_limit(void);

/* Make the folder and its parents (private to the user). Errors: E_IO (it cannot be made, or is somebody
 * else's, or open to others). */
enum status cache_make_folder(const char *folder);

/* Read a file whose XXH128 is known; *bytes malloc'ed. Errors: E_IO (somebody else's, too), E_INPUT (the
 * checksum differs), E_MEMORY. */
enum status cache_read(const char *path, const char *checksum, char **bytes, size_t *length);

#endif
