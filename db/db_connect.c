/* A connection of SQLite to a file that nobody vouches for. */
#include "db_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define BUSY_MS    5000
#define LENGTH_MAX (4 << 20) /* largest text, blob or row */

/* Settings that make an untrusted file harmless. */
enum status db_connect(const char *path, int flags, sqlite3 **handle)
{
    *handle = NULL;
    int rc = sqlite3_open_v2(path, handle, flags | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, NULL);
    static const struct {
        int option, value;
    } options[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                   {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                   {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0}};
    for (size_t i = 0; !rc && i < sizeof options / sizeof *options; i++)
        rc = sqlite3_db_config(*handle, options[i].option, options[i].value, NULL);
    if (!rc) sqlite3_limit(*handle, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    if (!rc) sqlite3_limit(*handle, SQLITE_LIMIT_ATTACHED, 0);
    if (!rc) rc = sqlite3_busy_timeout(*handle, BUSY_MS);
    if (!rc) rc = db_register_functions(*handle);
    if (!rc) /* none of these reads the file; the caller finds out whether it is readable */
        rc = sqlite3_exec(*handle, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
    if (!rc) return OK;
    enum status st = db_error(*handle, path, rc, "open it");
    sqlite3_close(*handle);
    *handle = NULL;
    return st;
}

/* "file:PATH?immutable=1", with the special characters of a URI escaped. */
static void immutable_uri(const char *path, char *uri, size_t room)
{
    size_t used = (size_t)snprintf(uri, room, "file:");
    for (; *path && used + 32 < room; path++) {
        if (strchr("%?#", *path))
            used += (size_t)snprintf(uri + used, room - used, "%%%02x", (unsigned)(unsigned char)*path);
        else uri[used++] = *path;
    }
    snprintf(uri + used, room - used, "?immutable=1");
}

enum status db_connect_immutable(const char *path, sqlite3 **handle)
{
    char uri[3 * PATH_MAX + 64];
    immutable_uri(path, uri, sizeof uri);
    return db_connect(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, handle);
}

int db_copy_content(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (!backup) return sqlite3_errcode(to);
    sqlite3_backup_step(backup, -1);
    const int rc = sqlite3_backup_finish(backup);
    /* WAL mode is copied with the content; this leaves one plain file. */
    return rc ? rc : sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
}
