#include "db_internal.h"
#include "env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>

/* $NAME/gemmtune/REST, else ~/HOME_PART/gemmtune/REST. As the XDG specification says, a relative $NAME is
 * ignored. */
static enum status user_path(const char *name, const char *home_part, const char *rest, char *path,
                             size_t room)
{
    const char *base = env_text(name), *home = env_text("HOME");
    int length;
    if (base && base[0] == '/') {
        length = snprintf(path, room, "%s/gemmtune/%s", base, rest);
    } else {
        const struct passwd *user = home ? NULL : getpwuid(geteuid());
        if (user) home = user->pw_dir;
        if (!home || home[0] != '/') return fail(E_IO, "there is no home folder; set %s or HOME", name);
        length = snprintf(path, room, "%s/%s/gemmtune/%s", home, home_part, rest);
    }
    return length >= 0 && (size_t)length < room ? OK
                                                : fail(E_INPUT, "the path in %s or HOME is too long", name);
}

enum status db_default_path(char *path, size_t room)
{
    const char *chosen = env_text("GEMMTUNE_DB");
    if (!chosen) return user_path("XDG_DATA_HOME", ".local/share", "gemmtune.db", path, room);
    if (strlen(chosen) >= room)
        return fail(E_INPUT, "the path in GEMMTUNE_DB is longer than %zu bytes", room - 1);
    memcpy(path, chosen, strlen(chosen) + 1);
    return OK;
}

/* Length of the path after it is resolved. */
static size_t full_length(const char *path)
{
    char there[PATH_MAX], whole[PATH_MAX];
    snprintf(there, sizeof there, "%s%s", path[0] == '/' ? "" : "./", path);
    const size_t length = strlen(there);
    size_t end = length;
    while (!realpath(there, whole)) { /* find the part that exists */
        while (end > 0 && there[end - 1] != '/') end--;
        while (end > 1 && there[end - 1] == '/') end--;
        there[end] = '\0';
        if (end <= 1) break;
    }
    return strlen(end > 1 ? whole : there) + length - end;
}

enum status db_check_path(const char *path)
{
    /* SQLite needs room for the name of its journal. */
    const size_t most = (size_t)sqlite3_vfs_find(NULL)->mxPathname - strlen("-journal");
    size_t length = strlen(path);
    if (length <= most) length = full_length(path);
    if (length <= most) return OK;
    return fail(E_INPUT,
                "the path %.60s... has %zu characters, and a database's may have %zu: choose a "
                "shorter one with --db",
                path, length, most);
}

void db_remove_folders(const char *path, size_t made)
{
    char folder[PATH_MAX];
    if (made == 0 || strlen(path) >= sizeof folder) return;
    memcpy(folder, path, strlen(path) + 1);
    for (char *slash; (slash = strrchr(folder, '/')) && (size_t)(slash - folder) >= made;) {
        *slash = '\0';
        if (rmdir(folder) != 0 && errno != ENOENT && errno != ENAMETOOLONG) return;
    }
}

void db_remove_files(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (snprintf(name, sizeof name, "%s%s", path, suffixes[i]) < (int)sizeof name) unlink(name);
}

enum status db_make_folders(const char *path, size_t *made)
{
    char folder[PATH_MAX];
    *made = 0;
    if (strlen(path) >= sizeof folder) return fail(E_INPUT, "the path %.100s... is too long", path);
    memcpy(folder, path, strlen(path) + 1);
    for (char *at = folder + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        if (mkdir(folder, 0700) == 0) {
            if (!*made) *made = (size_t)(at - folder);
        } else if (errno != EEXIST) {
            enum status st = fail(E_IO, "cannot create the folder %s: %s", folder, strerror(errno));
            db_remove_folders(path, *made);
            return st;
        }
        *at = '/';
    }
    return OK;
}

enum status db_resolve(const char *path, char resolved[PATH_MAX])
{
    if (realpath(path, resolved)) return OK;
    if (errno != ENOENT) return fail(E_IO, "cannot use %s: %s", path, strerror(errno));
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    int length =
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 2, slash ? path : "./");
    char whole[PATH_MAX];
    if (length < 0 || length >= PATH_MAX || !realpath(folder, whole))
        return fail(E_IO, "cannot use %s: %s", path, strerror(errno));
    length = snprintf(resolved, PATH_MAX, "%s/%s", strcmp(whole, "/") == 0 ? "" : whole, base);
    return length < PATH_MAX ? OK : fail(E_INPUT, "the path %.100s... is too long", path);
}

/* --- network file systems --- */

bool db_network_magic(int64_t magic)
{
    static const uint32_t network[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB 2 */
        0x65735546, /* FUSE: may be anything (sshfs, gcsfuse) */
        0x01021997, /* 9P */
        0x00c36400, /* Ceph */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x19830326, /* BeeGFS */
        0x5346414f, /* AFS */
        0x73757245, /* Coda */
        0x01161970, /* GFS2 */
        0x7461636f, /* OCFS2 */
        0x20030528, /* OrangeFS */
        0x786f4256, /* VirtualBox shared folders */
        0xaad7aaea, /* PanFS */
    };
    for (size_t i = 0; i < sizeof network / sizeof *network; i++)
        if ((uint32_t)magic == network[i]) return true;
    return false;
}

bool db_on_network(const char *path)
{
    const int forced = env_choice("GEMMTUNE_DB_SAFE");
    if (forced != ENV_DB_SAFE_AUTO) return forced == ENV_DB_SAFE_ON;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    struct statfs info;
    return statfs(slash ? folder : ".", &info) == 0 && db_network_magic((int64_t)info.f_type);
}

/* --- which files were checked --- */

/* An empty file in the folder of compiled kernels, which evicts it with them (tuner/cuda/cache.h), named
 * after path, device and inode: nothing inside a database file can claim that it was checked. */
static bool marker(const char *path, char name[PATH_MAX])
{
    struct stat info;
    if (stat(path, &info) != 0) return false;
    uint64_t hash = XXH64(path, strlen(path), 0);
    char rest[96];
    snprintf(rest, sizeof rest, "checked/%016" PRIx64 "-%" PRIx64 "-%" PRIx64, hash, (uint64_t)info.st_dev,
             (uint64_t)info.st_ino);
    const char *chosen = env_text("GEMMTUNE_CACHE");
    if (chosen && chosen[0]) return snprintf(name, PATH_MAX, "%s/%s", chosen, rest) < PATH_MAX;
    return user_path("XDG_CACHE_HOME", ".cache", rest, name, PATH_MAX) == OK;
}

bool db_checked(const char *path)
{
    char name[PATH_MAX];
    struct stat info;
    if (!marker(path, name) || lstat(name, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid())
        return false;
    (void)!utimensat(AT_FDCWD, name, NULL, AT_SYMLINK_NOFOLLOW); /* only affects the order of eviction */
    return true;
}

void db_remember_checked(const char *path)
{
    char name[PATH_MAX];
    size_t made;
    if (!marker(path, name) || db_make_folders(name, &made)) return; /* the check is repeated next time */
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) close(fd);
}
