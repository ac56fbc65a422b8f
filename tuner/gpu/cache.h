/* cache.h — compiled kernels on disk under the hash of everything they depend on. Any number of processes
 * share it; knows no compiler and no GPU.
 *
 * An entry is KEY.cubin: the compiled kernel, and behind it a line of JSON with its checksum and facts. It is
 * written under a temporary name, synced and renamed. There is no lock: two writers of one key write the same
 * bytes, and a reader that finds a damaged entry compiles again.
 *
 * A cubin is code that will run, so the cache trusts only this user: a folder or an entry that belongs to
 * somebody else or is writable by others is refused, links are not followed, and only regular files are
 * opened.
 *
 * NAME.newest, 32 hexadecimal digits too, says under which key the kernel of that name was stored last: a key
 * depends on the compiler's version, which a reader without a compiler does not know.
 *
 * In the folder checked/ are empty files: databases that were checked (db/db_place.c).
 *
 * The size limit is GEMMTUNE_CACHE_SIZE, else GEMMTUNE_CACHE_MIB, else 2 GiB; each file counts 512 bytes more
 * than its length. When it is exceeded, the least recently used files with names of ours are removed until
 * 7/8 are left, what dead writers and other versions left among them. Those used within the last minute stay,
 * because a process may be about to load them.
 */
#ifndef GT_CACHE_H
#define GT_CACHE_H

#include "outcome.h"
#include "status.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CACHE_KEY_TEXT 33 /* 32 hexadecimal digits */
#define CACHE_PATH_MAX 1024

struct cache_entry {
    char path[CACHE_PATH_MAX]; /* of the cubin */
    char checksum[40];         /* XXH128 of the cubin, hexadecimal */
    struct kernel_facts facts;
};

/* XXH128 over the texts and their lengths: lists of texts that differ in any way have different keys. */
void cache_key(const char *const *parts, int count, char key[CACHE_KEY_TEXT]);

/* E_ABSENT: missing or damaged (then the next cache_store replaces it). A hit updates the time of last
 * use. */
enum status cache_find(const char *folder, const char *key, struct cache_entry *entry);
/* The same, with the cubin: *bytes malloc'ed and followed by a NUL. */
enum status cache_load(const char *folder, const char *key, struct cache_entry *entry, char **bytes,
                       size_t *length);

/* Stores a cubin; creates the folder. Evicts entries when the size limit is exceeded. Errors: E_IO (folder
 * not writable, disk full; nothing incomplete is left), E_MEMORY. */
enum status cache_store(const char *folder, const char *key, const char *cubin, size_t length,
                        const struct kernel_facts *facts, struct cache_entry *entry);

/* Notes that the kernel of this name, of the form of a key, is to be had under the key. A failure is no
 * error: then it is not found by its name. */
void cache_note(const char *folder, const char *name, const char *key);

/* The key that was noted last. E_ABSENT: none is known. */
enum status cache_noted(const char *folder, const char *name, char key[CACHE_KEY_TEXT]);

/* If the folder holds more than limit_bytes, evicts the least recently used files down to 7/8 of it.
 * *kept_bytes: size afterwards. Errors: E_IO, E_MEMORY. */
enum status cache_trim(const char *folder, int64_t limit_bytes, int64_t *kept_bytes);

/* Number of compiled kernels, and bytes in the folder. Errors: E_IO. */
enum status cache_usage(const char *folder, int64_t *entries, int64_t *bytes);

/* The limit in bytes, at least 1 MiB. */
int64_t cache_limit(void);

/* The spare folder: where the cache cannot be written, cache_store keeps a kernel in a private folder of the
 * process `owner`, below $TMPDIR or /tmp, in which cache_find looks, too, so that a run goes on. Its owner
 * removes it when it ends. 0: there is none, as in the library, which goes on without a cache. */
void cache_spare(pid_t owner);
void cache_spare_remove(void);
/* Why it was used, and what it is: a sentence; "" if it was not. */
const char *cache_spare_why(void);

/* Creates the folder and its parents (private to the user). Errors: E_IO (cannot be created, belongs to
 * another user, or is open to others). */
enum status cache_make_folder(const char *folder);

/* Reads an entry whose checksum is known; *bytes malloc'ed and followed by a NUL. Errors: E_IO (also if it
 * belongs to another user), E_INPUT (the checksum differs), E_MEMORY. */
enum status cache_read(const char *path, const char *checksum, char **bytes, size_t *length);

#endif
