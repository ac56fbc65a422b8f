#include "cache.h"

#include "env.h"
#include "messages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define LIMIT_DEFAULT_BYTES (INT64_C(2) << 30)
#define KEY_LENGTH          (CACHE_KEY_TEXT - 1)
#define FILE_BYTES_MAX      (256 << 20)
#define JSON_BYTES_MAX      (1 << 20)
#define TEMPORARY_PREFIX    ".tmp-"
#define MARKERS             "checked" /* folder of empty files, see db/db_place.c */
#define MARKER_BYTES        512       /* its inode and its name */
#define MARKER_NAME_MAX     56
#define IN_USE_S            60   /* an entry used this recently is not evicted */
#define ABANDONED_S         3600 /* a temporary file this old has no writer */

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
    char path[CACHE_PATH_MAX];
    size_t length = strlen(folder);
    if (length == 0 || length + 64 > sizeof path)
        return fail(E_IO, "the cache folder's name has %zu characters; 1 to %zu are possible", length,
                    sizeof path - 64);
    memcpy(path, folder, length + 1);
    /* A cubin is code that will run: no other user may be able to put one here. */
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        if (mkdir(path, 0700) && errno != EEXIST && errno != EISDIR) return unwritable(folder, errno);
        *at = '/';
    }
    if (mkdir(path, 0700) && errno != EEXIST) return unwritable(folder, errno);
    return check_folder(folder);
}

/* False if the path is too long. */
static bool entry_path(const char *folder, const char *key, const char *suffix, char path[CACHE_PATH_MAX])
{
    int length = snprintf(path, CACHE_PATH_MAX, "%s/%s%s", folder, key, suffix);
    return length > 0 && length < CACHE_PATH_MAX;
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

/* Reads a file that only this user can have written, of at most `most` bytes; *bytes malloc'ed,
 * NUL-terminated. Its properties are read through the descriptor, and links are not followed, so that it
 * cannot be exchanged meanwhile. A FIFO does not block. */
static enum status read_own(const char *path, off_t most, char **bytes, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(E_IO, "cannot read the compiled kernel %s: %s", path,
                    errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    enum status st = OK;
    struct stat info;
    char *text = NULL;
    if (fstat(fd, &info) || !S_ISREG(info.st_mode) || info.st_size > most)
        st = fail(E_IO, "cannot read the compiled kernel %s: not a file of at most %lld bytes", path,
                  (long long)most);
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
    close(fd);
    if (st) {
        free(text);
        return st;
    }
    text[info.st_size] = '\0';
    *bytes = text;
    *length = (size_t)info.st_size;
    return OK;
}

enum status cache_read(const char *path, const char *checksum, char **bytes, size_t *length)
{
    char *read_bytes = NULL, found[CACHE_KEY_TEXT];
    size_t size = 0;
    enum status st = read_own(path, FILE_BYTES_MAX, &read_bytes, &size);
    if (st) return st;
    hash_text(read_bytes, size, found);
    if (strcmp(found, checksum) != 0) {
        free(read_bytes);
        return fail(E_INPUT, "the compiled kernel %s is damaged (checksum %s, expected %.32s): delete it",
                    path, found, checksum);
    }
    *bytes = read_bytes;
    *length = size;
    return OK;
}

static json_t *read_json(const char *path)
{
    char *text = NULL;
    size_t length = 0;
    if (read_own(path, JSON_BYTES_MAX, &text, &length)) return NULL;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    return json;
}

enum status cache_find(const char *folder, const char *key, struct cache_entry *entry)
{
    char json_path[CACHE_PATH_MAX];
    struct cache_entry found;
    if (!entry_path(folder, key, ".json", json_path) || !entry_path(folder, key, ".cubin", found.path))
        return fail(E_ABSENT, "the cache folder's name is too long");
    if (check_folder(folder)) return E_ABSENT;
    enum status st = fail(E_ABSENT, "no compiled kernel %s in %s", key, folder);
    json_t *json = read_json(json_path);
    const char *checksum = json_string_value(json_object_get(json, "checksum"));
    char *bytes = NULL;
    size_t length = 0;
    if (!checksum || strlen(checksum) != KEY_LENGTH) goto out;
    if (facts_from_json(json_object_get(json, "facts"), &found.facts)) goto out;
    if (cache_read(found.path, checksum, &bytes, &length) || (size_t)found.facts.cubin_bytes != length)
        goto out;
    snprintf(found.checksum, sizeof found.checksum, "%s", checksum);
    /* A failure only affects the order of eviction. */
    (void)!utimensat(AT_FDCWD, found.path, NULL, 0);
    *entry = found;
    st = OK;
out:
    free(bytes);
    json_decref(json);
    return st ? fail(E_ABSENT, "no usable compiled kernel %s in %s", key, folder) : OK;
}

/* Returns 0 or an errno. */
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

/* A file without a name, which vanishes with its writer, or, if the file system does not support that, with a
 * name. Returns -1 and errno on failure. */
static int open_temporary(const char *folder, char temporary[CACHE_PATH_MAX], bool *named)
{
    uint64_t number = (uint64_t)getpid(); /* may be equal on two machines that share the folder */
    (void)!getrandom(&number, sizeof number, 0);
    snprintf(temporary, CACHE_PATH_MAX, "%.950s/" TEMPORARY_PREFIX "%016" PRIx64, folder, number);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    *named = fd < 0;
    return fd >= 0 ? fd : open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

/* Makes path's new content appear at once and complete. */
static enum status publish(const char *folder, const char *path, const char *bytes, size_t length)
{
    char temporary[CACHE_PATH_MAX], link[64];
    bool named;
    int fd = open_temporary(folder, temporary, &named);
    if (fd < 0) return unwritable(folder, errno);
    int error = write_all(fd, bytes, length);
    if (!error && fsync(fd)) error = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (!error && !named && linkat(AT_FDCWD, link, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW)) error = errno;
    else named = true;
    if (close(fd) && !error) error = errno;
    if (!error && rename(temporary, path)) error = errno;
    if (!error) return OK;
    if (named) unlink(temporary);
    return unwritable(folder, error);
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

enum status cache_store(const char *folder, const char *key, const char *cubin, size_t length,
                        const struct kernel_facts *facts, struct cache_entry *entry)
{
    struct cache_entry fresh = {.facts = *facts};
    fresh.facts.cubin_bytes = (int)length;
    char json_path[CACHE_PATH_MAX];
    json_t *json = NULL;
    char *text = NULL;
    enum status st = cache_make_folder(folder);
    if (st) return st;
    if (length > FILE_BYTES_MAX)
        return fail(E_IO, "a compiled kernel of %zu bytes is too large for the cache", length);
    if (!entry_path(folder, key, ".json", json_path) || !entry_path(folder, key, ".cubin", fresh.path))
        return fail(E_IO, "the cache folder's name is too long: %s", folder);
    hash_text(cubin, length, fresh.checksum);

    json = json_pack("{s:s, s:o}", "checksum", fresh.checksum, "facts", facts_to_json(&fresh.facts));
    text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (!text) {
        st = fail(E_MEMORY, "out of memory while storing a compiled kernel");
        goto out;
    }
    st = publish(folder, fresh.path, cubin, length);
    if (!st) st = publish(folder, json_path, text, strlen(text));
    if (st) goto out;
    *entry = fresh;
    trim_now_and_then(folder, length + strlen(text));
out:
    free(text);
    json_decref(json);
    return st;
}

/* One entry in the folder. */
struct item {
    char name[MARKER_NAME_MAX]; /* key, or name of a marker */
    bool marker;
    struct timespec used;
    int64_t bytes;
};

struct inventory {
    struct item *items;
    size_t count, room;
    int64_t kernels, bytes; /* bytes: all our files, entries or not */
};

static bool is_ours(const char *name, const char *suffix)
{
    for (int i = 0; i < KEY_LENGTH; i++)
        if (!(name[i] >= '0' && name[i] <= '9') && !(name[i] >= 'a' && name[i] <= 'f')) return false;
    return strcmp(name + KEY_LENGTH, suffix) == 0;
}

/* Length of a file that belongs to an entry; 0 if it does not exist. */
static int64_t size_beside(int folder, const char *key, const char *suffix)
{
    char name[KEY_LENGTH + 16];
    struct stat info;
    snprintf(name, sizeof name, "%.32s%s", key, suffix);
    return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) ? 0 : (int64_t)info.st_size;
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
    inventory->kernels += !item->marker;
    inventory->bytes += item->bytes;
    return true;
}

/* Takes account of one file; `remove` allows to delete leftovers. False if out of memory. */
static bool take_file(struct inventory *inventory, int folder, const char *name, bool remove, time_t now)
{
    struct stat info;
    bool temporary = strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0;
    bool cubin = is_ours(name, ".cubin"), json = is_ours(name, ".json");
    if (!temporary && !cubin && !json) return true;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode)) return true;
    if (json && size_beside(folder, name, ".cubin") > 0) return true; /* counted with its cubin */
    if (cubin) {
        struct item item = {.used = info.st_mtim, .bytes = info.st_size + size_beside(folder, name, ".json")};
        memcpy(item.name, name, KEY_LENGTH);
        return add_item(inventory, &item);
    }
    if (remove && now - info.st_mtime > (temporary ? ABANDONED_S : IN_USE_S) && !unlinkat(folder, name, 0))
        return true;
    inventory->bytes += info.st_size;
    return true;
}

/* HASH-DEVICE-INODE in hexadecimal digits. */
static bool is_marker(const char *name)
{
    const size_t length = strlen(name);
    return length > 16 && length < MARKER_NAME_MAX && name[16] == '-' &&
           strspn(name, "0123456789abcdef-") == length;
}

static bool take_markers(struct inventory *inventory, int folder)
{
    int fd = openat(folder, MARKERS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool room = true;
    if (fd >= 0 && !dir) close(fd);
    for (struct dirent *entry; dir && room && (entry = readdir(dir));) {
        struct stat info;
        if (!is_marker(entry->d_name) || fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(info.st_mode))
            continue;
        struct item item = {.marker = true, .used = info.st_mtim, .bytes = MARKER_BYTES};
        memcpy(item.name, entry->d_name, strlen(entry->d_name) + 1);
        room = add_item(inventory, &item);
    }
    if (dir) closedir(dir);
    return room;
}

static enum status take_inventory(const char *folder, DIR *dir, bool remove, struct inventory *inventory)
{
    time_t now = time(NULL);
    bool room = take_markers(inventory, dirfd(dir));
    for (struct dirent *entry; room && (entry = readdir(dir));)
        room = take_file(inventory, dirfd(dir), entry->d_name, remove, now);
    return room ? OK : fail(E_MEMORY, "out of memory while reading the folder %s", folder);
}

static enum status open_folder(const char *folder, DIR **dir)
{
    *dir = opendir(folder);
    return *dir ? OK : fail(E_IO, "cannot read the cache folder %s: %s", folder, strerror(errno));
}

static int oldest_first(const void *x, const void *y)
{
    const struct timespec *a = &((const struct item *)x)->used, *b = &((const struct item *)y)->used;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static void evict(int folder, const struct item *item)
{
    char name[MARKER_NAME_MAX + 16];
    snprintf(name, sizeof name, item->marker ? MARKERS "/%s" : "%s.json", item->name);
    unlinkat(folder, name, 0); /* the JSON first: this ends the entry's existence */
    if (item->marker) return;
    snprintf(name, sizeof name, "%s.cubin", item->name);
    unlinkat(folder, name, 0);
}

enum status cache_trim(const char *folder, int64_t limit_bytes, int64_t *kept_bytes)
{
    struct inventory inventory = {0};
    DIR *dir;
    enum status st = open_folder(folder, &dir);
    if (st) return st;
    st = take_inventory(folder, dir, true, &inventory);
    if (st) goto out;
    if (inventory.bytes > limit_bytes && inventory.count > 0) {
        time_t now = time(NULL);
        qsort(inventory.items, inventory.count, sizeof *inventory.items, oldest_first);
        for (size_t i = 0; i < inventory.count && inventory.bytes > limit_bytes / 8 * 7; i++) {
            if (now - inventory.items[i].used.tv_sec <= IN_USE_S) break;
            evict(dirfd(dir), &inventory.items[i]);
            inventory.bytes -= inventory.items[i].bytes;
        }
    }
    *kept_bytes = inventory.bytes;
out:
    free(inventory.items);
    closedir(dir);
    return st;
}

enum status cache_usage(const char *folder, int64_t *entries, int64_t *bytes)
{
    struct inventory inventory = {0};
    DIR *dir;
    enum status st = open_folder(folder, &dir);
    if (st) return st;
    st = take_inventory(folder, dir, false, &inventory);
    *entries = inventory.kernels;
    *bytes = inventory.bytes;
    free(inventory.items);
    closedir(dir);
    return st;
}
