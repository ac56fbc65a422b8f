/* campaign_plant.c — defects that the campaign must find, preloaded (LD_PRELOAD) under the unchanged program.
 * Functions of the libraries that it uses are replaced by wrong ones:
 *
 *   CAMPAIGN_PLANT=lost-trial    every 7th COMMIT is a ROLLBACK, but reports success
 *   CAMPAIGN_PLANT=unchecked     rows are not compared with their hashes
 *   CAMPAIGN_PLANT=lost-rows     a merge skips every 7th trial
 *   CAMPAIGN_PLANT=two-writers   every lock is granted
 *   CAMPAIGN_PLANT=orphan        a child starts a process that outlives all others (by a minute)
 *   CAMPAIGN_PLANT=litter        no file is ever removed
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <sqlite3.h>

#define REAL(name)                                                                                           \
    static __typeof__(&(name)) real_##name;                                                                  \
    if (!real_##name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name)

static bool planted(const char *defect)
{
    const char *plant = getenv("CAMPAIGN_PLANT");
    return plant && strcmp(plant, defect) == 0;
}

int sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *self,
                 char **error)
{
    static int commits;
    REAL(sqlite3_exec);
    if (strcmp(sql, "COMMIT") == 0 && planted("lost-trial") && ++commits % 7 == 0) sql = "ROLLBACK";
    return real_sqlite3_exec(db, sql, row, self, error);
}

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int length, unsigned flags, sqlite3_stmt **stmt,
                       const char **tail)
{
    REAL(sqlite3_prepare_v3);
    char fewer[4096];
    const char *at = strstr(sql, "FROM trials WHERE id > ?1 ORDER BY id");
    if (at && planted("lost-rows")) {
        snprintf(fewer, sizeof fewer, "%.*sFROM trials WHERE id > ?1 AND id %% 7 ORDER BY id",
                 (int)(at - sql), sql);
        sql = fewer, length = -1;
    }
    if (strstr(sql, "hash <> content_hash") && planted("unchecked")) sql = "SELECT NULL", length = -1;
    return real_sqlite3_prepare_v3(db, sql, length, flags, stmt, tail);
}

int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int length, sqlite3_stmt **stmt, const char **tail)
{
    return sqlite3_prepare_v3(db, sql, length, 0, stmt, tail);
}

static int control(int fd, int command, void *argument)
{
    REAL(fcntl);
    const bool lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;
    if (lock && planted("two-writers")) return 0;
    return real_fcntl(fd, command, argument);
}

#include "campaign_fcntl.h"

int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long),
                  c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    REAL(prctl);
    if (option == PR_SET_PDEATHSIG && planted("orphan") && fork() == 0) {
        for (int fd = 0; fd < 64; fd++) close(fd);
        setsid();
        sleep(60);
        _exit(0);
    }
    return real_prctl(option, a, b, c, d);
}

int unlink(const char *path)
{
    REAL(unlink);
    return planted("litter") ? 0 : real_unlink(path);
}
