#include "cluster.h"

#include "db.h"
#include "file_seen.h"
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status places_absolute(const char *path, char whole[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (!*base || strlen(path) >= sizeof folder) return fail(E_INPUT, "%.100s is no name of a file", path);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 2, slash ? path : "./");
    if (realpath(path, whole)) return OK;
    if (!realpath(folder, whole)) return fail(E_IO, "cannot use the folder of %s: %s", path, strerror(errno));
    const size_t length = strlen(whole);
    if (length + strlen(base) + 2 > PATH_MAX) return fail(E_INPUT, "the path %.100s... is too long", path);
    snprintf(whole + length, PATH_MAX - length, "%s%s", length > 1 ? "/" : "", base);
    return OK;
}

static enum status make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return OK;
    return fail(E_IO, "cannot make the folder %s: %s", path, strerror(errno));
}

enum status places_judge_folder(const char *dir, struct cluster_plan *plan)
{
    char path[PATH_MAX];
    struct stat there;
    enum status st = OK;
    if (strlen(dir) >= sizeof path) return fail(E_INPUT, "the path %.100s... is too long", dir);
    snprintf(path, sizeof path, "%s", dir);
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    if (!realpath(path, plan->dir)) st = places_absolute(path, plan->dir);
    if (!st) st = cluster_plan_path(plan, path, "plan.json");
    if (!st) st = file_see(path, &there);
    if (st) return st;
    if (file_is_there(&there))
        return fail(E_INPUT, "%s has a plan already: --resume goes on with it, another --dir begins anew",
                    plan->dir);
    st = cluster_plan_path(plan, path, "shards");
    if (st) return st;
    DIR *shards = opendir(path);
    const struct dirent *entry = NULL;
    if (!shards && errno != ENOENT) return fail(E_IO, "cannot look into %s: %s", path, strerror(errno));
    while (shards && (entry = readdir(shards)) && entry->d_name[0] == '.') {
    }
    if (entry)
        st = fail(E_INPUT, "%s has shards of an earlier plan (%.100s): name another --dir", plan->dir,
                  entry->d_name);
    if (shards) closedir(shards);
    return st;
}

enum status places_make_folders(const struct cluster_plan *plan)
{
    static const char *const parts[] = {"shards", "state", "log"};
    char path[PATH_MAX];
    enum status st = make_folder(plan->dir);
    for (size_t i = 0; !st && i < sizeof parts / sizeof *parts; i++) {
        st = cluster_plan_path(plan, path, "%s", parts[i]);
        if (!st) st = make_folder(path);
    }
    return st;
}

/* What takes in the shards in the end, judged while somebody looks. */
static enum status judge_db(const char *path)
{
    char folder[PATH_MAX];
    struct db_shard is;
    struct db *db = NULL;
    enum status st = db_open(path, DB_READ, &db);
    if (!st && db_shard_get(db, &is) == OK)
        st = fail(E_INPUT, "%s is itself shard %d/%d of a suite: name the database that takes in all shards",
                  path, is.number, is.count);
    db_close(db);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path + 1), path);
    if ((st == OK || st == E_ABSENT) && access(folder, W_OK) != 0)
        return fail(E_IO, "cannot write in the folder of %s: %s", path, strerror(errno));
    /* Another tuner may have it now. */
    return st == E_ABSENT || st == E_BUSY ? OK : st;
}

enum status places_choose_db(const char *named, struct cluster_plan *plan, char db[PATH_MAX], size_t *made)
{
    enum status st = OK;
    *made = 0;
    if (named && strlen(named) >= PATH_MAX) return fail(E_INPUT, "the path %.100s... is too long", named);
    if (named) snprintf(db, PATH_MAX, "%s", named);
    else if (!(st = db_default_path(db, PATH_MAX))) {
        const int error = paths_make_folders(db, made);
        if (error) st = fail(E_IO, "cannot make the folder of %s: %s", db, strerror(error));
    }
    if (!st) st = places_absolute(db, plan->db);
    return st ? st : judge_db(plan->db);
}
