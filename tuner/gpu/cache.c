#include "cache.h"

#include "env.h"
#include "messages.h"
#include "output_file.h"
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define LIMIT_DEFAULT_BYTES (INT64_C(2) << 30)
#define KEY_LENGTH          (CACHE_KEY_TEXT - 1)
#define FILE_BYTES_MAX      (256 << 20)
#define LINE_BYTES_MAX      (1 << 20)
#define MARKERS             "checked" /* folder of empty files, see db/db_place.c */
#define NAME_BYTES          512       /* what a file takes beside its content: its inode and its name */
#define IN_USE_S            60        /* a file used this recently is not evicted */
#define ABANDONED_S         3600      /* a temporary file this old has no writer */

static void hash_text(const void *bytes, size_t length, char text[CACHE_KEY_TEXT])
{
    XXH128_hash_t hash = XXH3_128bits(bytes, length);
    snprintf(text, CACHE_KEY_TEXT, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void cache_key(const char *const *parts, int count, char key[CACHE_KEY_TEXT])
{
    /* Hashing the hashes of the parts keeps their boundaries, and needs no streaming state. */
    XXH128_hash_t sum = {.low64 = (uint64_t)count};
    for (int i = 0; i < count; i++) {
        XXH128_hash_t pair[2] = {sum, XXH3_128bits(parts[i], strlen(parts[i]))};
        sum = XXH3_128bits(pair, sizeof pair);
    }
    hash_text(&sum, sizeof sum, key);
}

int64_t cache_limit(void)
{
    int64_t bytes = LIMIT_DEFAULT_BYTES;
    if (!env_bytes("GEMMTUNE_CACHE_SIZE", &bytes)) env_bytes("GEMMTUNE_CACHE_MIB", &bytes);
    return bytes;
}

static enum status unwritable(const char *folder, int error)
{
    const char *advice = error == ENOSPC || error == EDQUOT
                             ? "free some space, or set GEMMTUNE_CACHE to a folder on another disk"
                             : "set GEMMTUNE_CACHE to a folder you can write";
    return fail(E_IO, "cannot write the cache of compiled kernels %s: %s; %s", folder, strerror(error),
                advice);
}

static bool is_private(const struct stat *info)
{
    return info->st_uid == geteuid() && !(info->st_mode & (S_IWGRP | S_IWOTH));
}

static enum status check_folder(const char *folder)
{
    struct stat info;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return unwritable(folder, errno);
    int error = fstat(fd, &info) ? errno : 0;
    close(fd);
    if (error) return unwritable(folder, error);
    if (is_private(&info)) return OK;
    char advice[64] = ""; /* a sticky folder is shared by all users: /tmp */
    if (!(info.st_mode & S_ISVTX))
        snprintf(advice, sizeof advice, "chmod 700 it if it is yours (user %lu), or ",
                 (unsigned long)geteuid());
    return fail(
        E_IO,
        "the cache of compiled kernels %s belongs to user %lu and has mode %04o: others could put code "
        "there that you would run; %sset GEMMTUNE_CACHE to a folder of yours",
        folder, (unsigned long)info.st_uid, (unsigned)info.st_mode & 07777, advice);
}

enum status cache_make_folder(const char *folder)
{
    char inside[CACHE_PATH_MAX];
    size_t length = strlen(folder), made;
    if (length == 0 || length + 64 > sizeof inside)
        return fail(E_IO, "the cache folder's name has %zu characters; 1 to %zu are possible", length,
                    sizeof inside - 64);
    snprintf(inside, sizeof inside, "%s/", folder);
    /* A cubin is code that will run: no other user may be able to put one here. */
    const int error = paths_make_folders(inside, &made);
    return error ? unwritable(folder, error) : check_folder(folder);
}

static bool read_all(int fd, char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t got = read(fd, bytes, length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes += got;
        length -= (size_t)got;
    }
    return true;
}

/* Reads a file that only this user can have written; *bytes malloc'ed, NUL-terminated. Its properties are
 * read through the descriptor, and links are not followed, so that it cannot be exchanged meanwhile. A FIFO
 * does not block. */
static enum status read_own(const char *path, char **bytes, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    enum status st = OK;
    struct stat info;
    char *text = NULL;
    if (fd < 0)
        st = fail(E_IO, "cannot read the compiled kernel %s: %s", path,
                  errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    else if (fstat(fd, &info) || !S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
        st = fail(E_IO, "cannot read the compiled kernel %s: not a file of at most %d bytes", path,
                  FILE_BYTES_MAX);
    else if (!is_private(&info))
        st = fail(
            E_IO,
            "the compiled kernel %s belongs to user %lu and has mode %04o: others could have written it; "
            "delete it",
            path, (unsigned long)info.st_uid, (unsigned)info.st_mode & 07777);
    else if (!(text = malloc((size_t)info.st_size + 1)))
        st = fail(E_MEMORY, "out of memory while reading %s (%lld bytes)", path, (long long)info.st_size);
    else if (!read_all(fd, text, (size_t)info.st_size))
        st = fail(E_IO, "cannot read the compiled kernel %s to its end", path);
    if (fd >= 0) close(fd);
    if (st) {
        free(text);
        return st;
    }
    text[info.st_size] = '\0';
    *bytes = text;
    *length = (size_t)info.st_size;
    return OK;
}

/* The line behind the kernel; *length becomes that of the kernel alone. NULL: there is none. */
static const char *last_line(const char *bytes, size_t *length)
{
    const char *end = memrchr(bytes, '\n', *length);
    if (!end || bytes + *length - end > LINE_BYTES_MAX) return NULL;
    *length = (size_t)(end - bytes);
    return end + 1;
}

enum status cache_read(const char *path, const char *checksum, char **bytes, size_t *length)
{
    char found[CACHE_KEY_TEXT];
    enum status st = read_own(path, bytes, length);
    if (st) return st;
    (void)last_line(*bytes, length);
    (*bytes)[*length] = '\0'; /* PTX is a text */
    hash_text(*bytes, *length, found);
    if (strcmp(found, checksum) == 0) return OK;
    free(*bytes);
    *bytes = NULL;
    return fail(E_INPUT, "the compiled kernel %s is damaged (checksum %s, expected %.32s): delete it", path,
                found, checksum);
}

/* False if the path is too long. */
static bool entry_path(const char *folder, const char *key, char path[CACHE_PATH_MAX])
{
    return snprintf(path, CACHE_PATH_MAX, "%s/%s.cubin", folder, key) < CACHE_PATH_MAX;
}

/* code, length: NULL if the cubin itself is not wanted. */
static enum status find_in(const char *folder, const char *key, struct cache_entry *entry, char **code,
                           size_t *code_length)
{
    struct cache_entry found;
    char *bytes = NULL;
    size_t length = 0;
    bool good = entry_path(folder, key, found.path) && !check_folder(folder) &&
                !read_own(found.path, &bytes, &length);
    const char *line = good ? last_line(bytes, &length) : NULL;
    json_t *json = line ? json_loads(line, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const char *checksum = json_string_value(json_object_get(json, "checksum"));
    hash_text(bytes, length, found.checksum);
    good = checksum && strcmp(checksum, found.checksum) == 0 &&
           !facts_from_json(json_object_get(json, "facts"), &found.facts) &&
           (size_t)found.facts.cubin_bytes == length;
    json_decref(json);
    if (good && code) {
        bytes[length] = '\0'; /* PTX is a text */
        *code = bytes;
        *code_length = length;
    } else {
        free(bytes);
    }
    if (!good) return fail(E_ABSENT, "no usable compiled kernel %s in %s", key, folder);
    /* A failure only affects the order of eviction. */
    (void)!utimensat(AT_FDCWD, found.path, NULL, 0);
    *entry = found;
    return OK;
}

/* ---- the spare folder ---- */

static char spare[CACHE_PATH_MAX / 2];
static char spare_why[2 * CACHE_PATH_MAX];
static pid_t spare_owner;

void cache_spare(pid_t owner)
{
    const char *below = env_text("TMPDIR");
    if (!below || *below != '/' || strlen(below) + 64 > sizeof spare) below = "/tmp";
    spare_owner = owner;
    spare[0] = spare_why[0] = '\0';
    if (owner)
        snprintf(spare, sizeof spare, "%s/gemmtune-%lu-%ld", below, (unsigned long)geteuid(), (long)owner);
}

const char *cache_spare_why(void)
{
    return spare_why;
}

/* Anybody may put a link there. */
static bool spare_is_ours(void)
{
    struct stat info;
    mkdir(spare, 0700);
    return lstat(spare, &info) == 0 && S_ISDIR(info.st_mode) && is_private(&info);
}

enum status cache_find(const char *folder, const char *key, struct cache_entry *entry)
{
    return cache_load(folder, key, entry, NULL, NULL);
}

enum status cache_load(const char *folder, const char *key, struct cache_entry *entry, char **bytes,
                       size_t *length)
{
    enum status st = find_in(folder, key, entry, bytes, length);
    return st && spare_why[0] && spare_is_ours() ? find_in(spare, key, entry, bytes, length) : st;
}

/* Not through stdio, whose calls tests/campaign cannot make fail. Returns 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        bytes += put;
        length -= (size_t)put;
    }
    return 0;
}

/* What a file is made of. */
struct content {
    const char *bytes;
    size_t length;
    const char *line; /* behind the bytes; NULL: none */
    bool durable;     /* it must survive a power cut */
};

/* Makes path's new content appear at once and complete. Returns 0 or an errno. */
static int publish(const char *folder, const char *path, const struct content *content)
{
    char temporary[PATH_MAX] = "";
    int fd = outfile_unnamed(folder, 0600), error = 0;
    if (fd < 0 && outfile_name(folder, temporary))
        fd = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) error = errno;
    if (!error) error = write_all(fd, content->bytes, content->length);
    if (!error && content->line) error = write_all(fd, "\n", 1);
    if (!error && content->line) error = write_all(fd, content->line, strlen(content->line));
    if (!error && content->durable && fsync(fd)) error = errno;
    if (!error) error = outfile_publish(fd, temporary, path);
    if (fd >= 0) close(fd);
    if (error && temporary[0]) unlink(temporary);
    return error;
}

/* Bytes written since this process last scanned the folder; the start value makes the first store scan it. */
static _Atomic int64_t unaccounted_bytes = INT64_MAX / 2;

/* Scanning thousands of files at each store would cost as much as compiling. Each process scans when it has
 * added 1/256 of the limit: the room between 7/8 and the limit suffices for 32 processes that do not know of
 * each other. */
static void trim_now_and_then(const char *folder, size_t added)
{
    int64_t limit = cache_limit(), kept;
    if (atomic_fetch_add(&unaccounted_bytes, (int64_t)added) + (int64_t)added < limit / 256) return;
    atomic_store(&unaccounted_bytes, 0);
    (void)!cache_trim(folder, limit, &kept); /* the stored entry is valid even if nothing could be evicted */
}

static enum status store_in(const char *folder, const char *key, const char *cubin, size_t length,
                            const struct kernel_facts *facts, struct cache_entry *entry)
{
    struct cache_entry fresh = {.facts = *facts};
    fresh.facts.cubin_bytes = (int)length;
    enum status st = cache_make_folder(folder);
    if (st) return st;
    if (length > FILE_BYTES_MAX - LINE_BYTES_MAX)
        return fail(E_IO, "a compiled kernel of %zu bytes is too large for the cache", length);
    if (!entry_path(folder, key, fresh.path))
        return fail(E_IO, "the cache folder's name is too long: %s", folder);
    hash_text(cubin, length, fresh.checksum);
    json_t *json = json_pack("{s:s, s:o}", "checksum", fresh.checksum, "facts", facts_to_json(&fresh.facts));
    char *line = json ? json_dumps(json, JSON_COMPACT) : NULL;
    const struct content content = {cubin, length, line, .durable = true};
    const int error = line ? publish(folder, fresh.path, &content) : ENOMEM;
    free(line);
    json_decref(json);
    if (!line) return fail(E_MEMORY, "out of memory while storing a compiled kernel");
    if (error) return unwritable(folder, error);
    *entry = fresh;
    trim_now_and_then(folder, length);
    return OK;
}

enum status cache_store(const char *folder, const char *key, const char *cubin, size_t length,
                        const struct kernel_facts *facts, struct cache_entry *entry)
{
    char why[CACHE_PATH_MAX];
    enum status st = store_in(folder, key, cubin, length, facts, entry);
    if (st != E_IO || !spare[0]) return st;
    snprintf(why, sizeof why, "%s", status_text());
    if (!spare_is_ours() || store_in(spare, key, cubin, length, facts, entry)) return fail(E_IO, "%s", why);
    snprintf(spare_why, sizeof spare_why,
             "%.600s; until then kernels are kept in %s and compiled anew in each run", why, spare);
    return OK;
}

/* ---- names of kernels ---- */

static bool note_path(const char *folder, const char *name, char path[CACHE_PATH_MAX])
{
    return snprintf(path, CACHE_PATH_MAX, "%s/%s.newest", folder, name) < CACHE_PATH_MAX;
}

enum status cache_noted(const char *folder, const char *name, char key[CACHE_KEY_TEXT])
{
    char path[CACHE_PATH_MAX], *text = NULL;
    size_t length = 0;
    bool good = note_path(folder, name, path) && !check_folder(folder) && !read_own(path, &text, &length);
    good = good && length == KEY_LENGTH && strspn(text, "0123456789abcdef") == KEY_LENGTH;
    if (good) memcpy(key, text, CACHE_KEY_TEXT);
    free(text);
    if (!good) return fail(E_ABSENT, "no compiled kernel is known as %s in %s", name, folder);
    (void)!utimensat(AT_FDCWD, path, NULL, 0); /* as in find_in */
    return OK;
}

/* After a power cut it may be empty, and then counts as none. */
void cache_note(const char *folder, const char *name, const char *key)
{
    char path[CACHE_PATH_MAX];
    const struct content content = {.bytes = key, .length = KEY_LENGTH};
    if (note_path(folder, name, path) && !check_folder(folder)) (void)!publish(folder, path, &content);
}

/* ---- eviction ---- */

struct item {
    char name[80]; /* in the folder of the cache */
    struct timespec used;
    int64_t bytes;
};

struct inventory {
    int folder;
    struct item *items;
    size_t count, room;
    int64_t kernels, bytes;
};

/* An entry (of another version, perhaps), a temporary file, or HASH-DEVICE-INODE in hexadecimal digits. */
static bool is_ours(const char *name, bool marker)
{
    static const char digits[] = "0123456789abcdef-";
    const size_t hex = strspn(name, "0123456789abcdef");
    if (strlen(name) > 64) return false;
    if (marker) return hex == 16 && name[hex] == '-' && name[strspn(name, digits)] == '\0';
    return (hex == KEY_LENGTH && name[hex] == '.') || outfile_is_temporary(name);
}

static bool add_item(struct inventory *inventory, const struct item *item)
{
    if (inventory->count == inventory->room) {
        size_t room = inventory->room ? 2 * inventory->room : 1024;
        struct item *grown = realloc(inventory->items, room * sizeof *grown);
        if (!grown) return false;
        inventory->items = grown;
        inventory->room = room;
    }
    inventory->items[inventory->count++] = *item;
    inventory->bytes += item->bytes;
    return true;
}

/* Our files of the cache's folder ("."), or of one in it. False if out of memory. */
static bool take_files(struct inventory *inventory, const char *inside)
{
    const bool markers = strcmp(inside, MARKERS) == 0;
    int fd = openat(inventory->folder, inside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool room = true;
    if (fd >= 0 && !dir) close(fd);
    for (struct dirent *entry; dir && room && (entry = readdir(dir));) {
        struct stat info;
        struct item item;
        if (!is_ours(entry->d_name, markers) || fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(info.st_mode))
            continue;
        snprintf(item.name, sizeof item.name, "%s/%.64s", inside, entry->d_name);
        item.used = info.st_mtim;
        item.bytes = info.st_size + NAME_BYTES;
        inventory->kernels += strstr(item.name, ".cubin") != NULL;
        room = add_item(inventory, &item);
    }
    if (dir) closedir(dir);
    return room;
}

static enum status take_inventory(const char *folder, struct inventory *inventory)
{
    *inventory = (struct inventory){.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (inventory->folder < 0)
        return fail(E_IO, "cannot read the cache folder %s: %s", folder, strerror(errno));
    return take_files(inventory, ".") && take_files(inventory, MARKERS)
               ? OK
               : fail(E_MEMORY, "out of memory while reading the folder %s", folder);
}

static void drop_inventory(struct inventory *inventory)
{
    free(inventory->items);
    if (inventory->folder >= 0) close(inventory->folder);
}

static int oldest_first(const void *x, const void *y)
{
    const struct timespec *a = &((const struct item *)x)->used, *b = &((const struct item *)y)->used;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

enum status cache_trim(const char *folder, int64_t limit_bytes, int64_t *kept_bytes)
{
    struct inventory inventory;
    enum status st = take_inventory(folder, &inventory);
    const time_t now = time(NULL);
    const bool full = inventory.bytes > limit_bytes;
    if (!st && full) qsort(inventory.items, inventory.count, sizeof *inventory.items, oldest_first);
    for (size_t i = 0; !st && full && i < inventory.count && inventory.bytes > limit_bytes / 8 * 7; i++) {
        const struct item *item = &inventory.items[i];
        const int rest_s = outfile_is_temporary(item->name + 2) ? ABANDONED_S : IN_USE_S;
        if (now - item->used.tv_sec <= rest_s) continue;
        unlinkat(inventory.folder, item->name, 0);
        inventory.bytes -= item->bytes;
    }
    *kept_bytes = inventory.bytes;
    drop_inventory(&inventory);
    return st;
}

enum status cache_usage(const char *folder, int64_t *entries, int64_t *bytes)
{
    struct inventory inventory;
    enum status st = take_inventory(folder, &inventory);
    *entries = inventory.kernels;
    *bytes = inventory.bytes;
    drop_inventory(&inventory);
    return st;
}

void cache_spare_remove(void)
{
    struct inventory inventory;
    struct stat info;
    if (!spare[0] || spare_owner != getpid() || lstat(spare, &info) || !S_ISDIR(info.st_mode) ||
        !is_private(&info))
        return;
    if (!take_inventory(spare, &inventory))
        for (size_t i = 0; i < inventory.count; i++) unlinkat(inventory.folder, inventory.items[i].name, 0);
    drop_inventory(&inventory);
    rmdir(spare);
}
