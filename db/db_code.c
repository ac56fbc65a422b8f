#include "db_code.h"

#include "db_internal.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#define APPLICATION_ID 1735224675 /* "gmmc" */
#define VERSION        1
#define CODE_BYTES_MAX (64 << 20)
#define CHECKSUM_TEXT  33
#define ADVICE         "install gemmtune again, or remove the file"

static void checksum_of(const char *id, const char *code, size_t bytes, char text[CHECKSUM_TEXT])
{
    const XXH128_hash_t parts[2] = {XXH3_128bits(id, strlen(id)), XXH3_128bits(code, bytes)};
    const XXH128_hash_t sum = XXH3_128bits(parts, sizeof parts);
    snprintf(text, CHECKSUM_TEXT, "%016llx%016llx", (unsigned long long)sum.high64,
             (unsigned long long)sum.low64);
}

/* ---- reading ---- */

/* Where a user's umask is 002, what pip installs is writable by the user's own group, which has the user's
 * number: nobody else is in it. */
static bool is_trusted(const struct stat *info)
{
    const bool group = info->st_mode & S_IWGRP && info->st_gid != info->st_uid;
    return (info->st_uid == 0 || info->st_uid == geteuid()) && !group && !(info->st_mode & S_IWOTH);
}

static enum status distrust(const char *path, const struct stat *info)
{
    return fail(E_IO,
                "the machine code %s is not used, because it or its folder belongs to user %lu and has mode "
                "%04o: others could have written it; let it belong to root or to you, and chmod go-w it",
                path, (unsigned long)info->st_uid, (unsigned)info->st_mode & 07777);
}

static enum status check_trust(const char *path)
{
    char folder[PATH_MAX];
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return fail(E_ABSENT, "there is no %s", path);
    if (fd < 0)
        return fail(E_IO, "cannot read the machine code %s: %s", path,
                    errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    close(fd);
    if (!regular) return fail(E_IO, "cannot read the machine code %s: it is no file", path);
    if (!is_trusted(&info)) return distrust(path, &info);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    if (stat(slash ? folder : ".", &info))
        return fail(E_IO, "cannot read the folder of %s: %s", path, strerror(errno));
    return is_trusted(&info) ? OK : distrust(path, &info);
}

static enum status damaged(const char *path, const char *why)
{
    return fail(E_DB, "the machine code %s is damaged (%s): " ADVICE, path, why);
}

static enum status check_form(sqlite3 *handle, const char *path)
{
    int64_t application = 0, version = 0;
    int rc = db_ask(handle, "PRAGMA application_id", &application);
    if (!rc) rc = db_ask(handle, "PRAGMA user_version", &version);
    if (rc) return damaged(path, sqlite3_errmsg(handle));
    if (application == APPLICATION_ID && version == VERSION) return OK;
    return fail(E_DB,
                "the machine code %s is of form %lld, version %lld; this program reads form %d, version "
                "%d: " ADVICE,
                path, (long long)application, (long long)version, APPLICATION_ID, VERSION);
}

/* The row's kernel, unpacked and compared with its checksum. */
static enum status unpack(sqlite3_stmt *row, const char *path, const char *id, char **code, size_t *bytes)
{
    const int64_t length = sqlite3_column_int64(row, 0);
    const char *checksum = (const char *)sqlite3_column_text(row, 1);
    const void *packed = sqlite3_column_blob(row, 2);
    const int packed_bytes = sqlite3_column_bytes(row, 2);
    uLongf got = (uLongf)length;
    char found[CHECKSUM_TEXT];
    if (length < 1 || length > CODE_BYTES_MAX || !checksum || !packed) return damaged(path, "a row");
    char *text = malloc((size_t)length + 1);
    if (!text) return fail(E_MEMORY, "out of memory for a kernel of %lld bytes", (long long)length);
    const int z = uncompress((Bytef *)text, &got, packed, (uLong)packed_bytes);
    text[length] = '\0';
    if (z == Z_OK && got == (uLongf)length) {
        checksum_of(id, text, (size_t)length, found);
        if (strcmp(found, checksum) == 0) {
            *code = text;
            *bytes = (size_t)length;
            return OK;
        }
    }
    free(text);
    return z == Z_MEM_ERROR ? fail(E_MEMORY, "out of memory for a kernel of %lld bytes", (long long)length)
                            : damaged(path, "a checksum differs");
}

static enum status find(sqlite3 *handle, const char *path, const char *id, char **code, size_t *bytes)
{
    sqlite3_stmt *row = NULL;
    enum status st = check_form(handle, path);
    if (st) return st;
    int rc =
        sqlite3_prepare_v2(handle, "SELECT bytes, checksum, code FROM code WHERE id = ?1", -1, &row, NULL);
    if (!rc) rc = sqlite3_bind_text(row, 1, id, -1, SQLITE_STATIC);
    if (!rc) rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) st = unpack(row, path, id, code, bytes);
    else if (rc == SQLITE_DONE) st = fail(E_ABSENT, "%s has no kernel %s", path, id);
    else st = damaged(path, sqlite3_errmsg(handle));
    sqlite3_finalize(row);
    return st;
}

enum status db_code_find(const char *path, const char *id, char **code, size_t *bytes)
{
    sqlite3 *handle = NULL;
    enum status st = check_trust(path);
    if (st) return st;
    if (db_connect_immutable(path, &handle))
        return fail(E_IO, "cannot read the machine code %s: %s", path, strerror(errno));
    st = find(handle, path, id, code, bytes);
    sqlite3_close(handle);
    return st;
}

/* ---- writing ---- */

static int add(sqlite3_stmt *insert, const struct db_code *k, const char *facts)
{
    char checksum[CHECKSUM_TEXT];
    uLongf packed_bytes = compressBound((uLong)k->bytes);
    Bytef *packed = malloc(packed_bytes);
    if (!packed || !facts ||
        compress2(packed, &packed_bytes, (const Bytef *)k->code, (uLong)k->bytes, Z_BEST_COMPRESSION) !=
            Z_OK) {
        free(packed);
        return SQLITE_NOMEM;
    }
    checksum_of(k->id, k->code, k->bytes, checksum);
    sqlite3_reset(insert);
    int rc = sqlite3_bind_text(insert, 1, k->id, -1, SQLITE_STATIC);
    if (!rc) rc = sqlite3_bind_text(insert, 2, k->kernel, -1, SQLITE_STATIC);
    if (!rc) rc = sqlite3_bind_text(insert, 3, facts, -1, SQLITE_STATIC);
    if (!rc) rc = sqlite3_bind_int64(insert, 4, (sqlite3_int64)k->bytes);
    if (!rc) rc = sqlite3_bind_text(insert, 5, checksum, -1, SQLITE_TRANSIENT);
    if (!rc) rc = sqlite3_bind_blob(insert, 6, packed, (int)packed_bytes, SQLITE_TRANSIENT);
    free(packed);
    if (!rc) rc = sqlite3_step(insert);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int fill(sqlite3 *handle, const struct db_code *kernels, int count)
{
    sqlite3_stmt *insert = NULL;
    int rc =
        sqlite3_exec(handle,
                     "PRAGMA journal_mode = MEMORY; PRAGMA application_id = 1735224675;"
                     "PRAGMA user_version = 1; BEGIN;"
                     "CREATE TABLE code (id TEXT PRIMARY KEY NOT NULL, kernel TEXT NOT NULL, facts TEXT NOT "
                     "NULL, bytes INTEGER NOT NULL, checksum TEXT NOT NULL, code BLOB NOT NULL) STRICT",
                     NULL, NULL, NULL);
    if (!rc)
        rc =
            sqlite3_prepare_v2(handle, "INSERT INTO code VALUES (?1, ?2, ?3, ?4, ?5, ?6)", -1, &insert, NULL);
    for (int i = 0; i < count && !rc; i++) {
        json_t *json = facts_to_json(&kernels[i].facts);
        char *facts = json ? json_dumps(json, JSON_COMPACT) : NULL;
        rc = add(insert, &kernels[i], facts);
        free(facts);
        json_decref(json);
    }
    sqlite3_finalize(insert);
    return rc ? rc : sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
}

enum status db_code_write(const char *path, const struct db_code *kernels, int count)
{
    char fresh[PATH_MAX];
    sqlite3 *handle = NULL;
    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh)
        return fail(E_IO, "the name %s is too long", path);
    unlink(fresh);
    enum status st = db_connect(fresh, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &handle);
    if (st) return st;
    const int rc = fill(handle, kernels, count);
    if (rc) st = db_error(handle, fresh, rc, "store machine code");
    sqlite3_close(handle);
    if (!st && (chmod(fresh, 0644) || rename(fresh, path)))
        st = fail(E_IO, "cannot write %s: %s", path, strerror(errno));
    if (st) unlink(fresh);
    return st;
}
