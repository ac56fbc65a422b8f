#include "db_internal.h"
#include "env.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>

enum status db_default_path(char *path, size_t room)
{
    return paths_user("GEMMTUNE_DB", "XDG_DATA_HOME", ".local/share", "gemmtune.db", path, room);
}

enum status db_system_path(char *path, size_t room)
{
    const char *chosen = env_text("GEMMTUNE_SYSTEM_DB");
    const int length = snprintf(path, room, "%s", chosen ? chosen : "/etc/gemmtune/gemmtune.db");
    if (length < 0 || (size_t)length >= room)
        return fail(E_INPUT, "the path of the system's database is too long");
    const bool off = strcmp(path, "off") == 0;
    if (!off && access(path, F_OK) == 0) return OK;
    if (!off && errno == EACCES)
        return fail(E_IO,
                    "cannot read the system's database %s: permission denied; who made it lets others into "
                    "its folder (chmod a+rx)",
                    path);
    return fail(E_ABSENT, "there is no system's database at %s", path);
}

void db_remove_files(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (snprintf(name, sizeof name, "%s%s", path, suffixes[i]) < (int)sizeof name) unlink(name);
}

enum status db_check_path(const char *path)
{
    /* SQLite needs room for the name of its journal. */
    const size_t most = (size_t)sqlite3_vfs_find(NULL)->mxPathname - strlen("-journal");
    if (strlen(path) <= most) return OK;
    return fail(E_INPUT,
                "the path %.60s... has %zu characters, and a database's may have %zu: choose a "
                "shorter one%s",
                path, strlen(path), most, db_choose);
}

enum status db_resolve(const char *path, char resolved[PATH_MAX])
{
    char whole[PATH_MAX], folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 2, slash ? path : "./");
    if (realpath(path, whole)) base = "";
    else if (errno == ENOENT && readlink(path, whole, sizeof whole) > 0)
        return fail(E_IO,
                    "%s is a symbolic link to a file that is not there; make that file, or remove the link",
                    path);
    else if (errno != ENOENT || !realpath(folder, whole))
        return fail(E_IO, "cannot use %s: %s", path, strerror(errno));
    if (snprintf(resolved, PATH_MAX, "%s%s%s", whole, *base && whole[1] ? "/" : "", base) >= PATH_MAX)
        return fail(E_INPUT, "the path %.100s... is too long", path);
    return db_check_path(resolved);
}

bool db_same_file(const char *a, const char *b)
{
    struct stat first, second;
    char one[PATH_MAX], other[PATH_MAX];
    if (stat(a, &first) == 0 && stat(b, &second) == 0)
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
    return !db_resolve(a, one) && !db_resolve(b, other) && strcmp(one, other) == 0;
}

/* --- network file systems --- */

const char *db_network_name(int64_t magic)
{
    static const struct {
        uint32_t magic;
        const char *name;
    } network[] = {
        {0x6969, "NFS"},        {0x517b, "SMB"},          {0xff534d42, "CIFS"},       {0xfe534d42, "SMB 2"},
        {0x65735546, "FUSE"}, /* may be anything (sshfs, gcsfuse) */
        {0x01021997, "9P"},     {0x00c36400, "Ceph"},     {0x0bd00bd0, "Lustre"},     {0x47504653, "GPFS"},
        {0x19830326, "BeeGFS"}, {0x5346414f, "AFS"},      {0x73757245, "Coda"},       {0x01161970, "GFS2"},
        {0x7461636f, "OCFS2"},  {0x20030528, "OrangeFS"}, {0x786f4256, "VirtualBox"}, {0xaad7aaea, "PanFS"},
    };
    for (size_t i = 0; i < sizeof network / sizeof *network; i++)
        if ((uint32_t)magic == network[i].magic) return network[i].name;
    return NULL;
}

const char *db_on_network(const char *path)
{
    const int forced = env_choice("GEMMTUNE_DB_SAFE");
    if (forced == ENV_DB_SAFE_ON) return "GEMMTUNE_DB_SAFE";
    if (forced == ENV_DB_SAFE_OFF) return NULL;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    struct statfs info;
    return statfs(slash ? folder : ".", &info) == 0 ? db_network_name((int64_t)info.f_type) : NULL;
}

/* --- which files were checked --- */

/* An empty file in the folder of compiled kernels, which evicts it with them (tuner/gpu/cache.h), named
 * after path, device and inode: nothing inside a database file can claim that it was checked. */
static bool marker(const char *path, char name[PATH_MAX])
{
    struct stat info;
    if (stat(path, &info) != 0) return false;
    uint64_t hash = XXH64(path, strlen(path), 0);
    char rest[96];
    snprintf(rest, sizeof rest, "checked/%016" PRIx64 "-%" PRIx64 "-%" PRIx64, hash, (uint64_t)info.st_dev,
             (uint64_t)info.st_ino);
    char folder[PATH_MAX];
    return !paths_user("GEMMTUNE_CACHE", "XDG_CACHE_HOME", ".cache", "", folder, sizeof folder) &&
           snprintf(name, PATH_MAX, "%s/%s", folder, rest) < PATH_MAX;
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
    if (!marker(path, name) || paths_make_folders(name, &made)) return; /* the check is repeated next time */
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0) close(fd);
}
