#include "cmd_run.h"

#include "capture.h"
#include "env.h"
#include "print.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "gemmtune-learn-" /* then the number of the process, and six characters */

/* A path may consist of quotes, each of which takes four characters. */
enum { QUOTED_MAX = 4 * PATH_MAX + 3 };

/* A path as a word of a shell's command line; returns text. */
static const char *quote(const char *path, char text[QUOTED_MAX])
{
    size_t used = 0;
    if (path[strcspn(path, " \t\n!\"#$&'()*;<=>?[\\]^`{|}~")] == '\0') return path;
    text[used++] = '\'';
    for (; *path && used < QUOTED_MAX - 6; path++) {
        if (*path == '\'') used += (size_t)snprintf(text + used, QUOTED_MAX - used, "'\\''");
        else text[used++] = *path;
    }
    text[used++] = '\'';
    text[used] = '\0';
    return text;
}

/* The user's, not empty, of a process that has ended. */
static bool is_left(int folder, const char *name)
{
    struct stat info;
    const long process =
        strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? strtol(name + strlen(PREFIX), NULL, 10) : 0;
    return process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH &&
           fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
           info.st_uid == getuid() && info.st_size > 0;
}

/* Of runs that were killed, or asked to end before they tuned. */
static void say_left(const char *path)
{
    char one[PATH_MAX + NAME_MAX + 2] = "", quoted[QUOTED_MAX];
    int count = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!is_left(dirfd(folder), entry->d_name)) continue;
        snprintf(one, sizeof one, "%s/%s", path, count++ ? PREFIX "..." : entry->d_name);
    }
    if (folder) closedir(folder);
    if (count)
        print_line(stderr,
                   "tune run: %d earlier run%s recorded problems that were not tuned: tune --from-capture %s "
                   "tunes %s, rm forgets %s",
                   count, PRINT_S(count), quote(one, quoted), count > 1 ? "one" : "them",
                   count > 1 ? "it" : "them");
}

static enum status create(char path[PATH_MAX])
{
    const char *chosen = env_text("TMPDIR"), *folder = chosen ? chosen : "/tmp";
    if (snprintf(path, PATH_MAX, "%s/" PREFIX "%ld-XXXXXX", folder, (long)getpid()) >= PATH_MAX)
        return fail(E_INPUT, "the path %.60s... of the capture is longer than %d characters", path,
                    PATH_MAX - 1);
    say_left(folder);
    const int file = mkstemp(path);
    if (file < 0) return fail(E_IO, "cannot create %s: %s", path, strerror(errno));
    close(file);
    return OK;
}

enum status recording_open(struct recording *recording, const char *chosen)
{
    *recording = (struct recording){.temporary = !chosen};
    char *path = recording->path;
    if (chosen && snprintf(path, PATH_MAX, "%s", chosen) >= PATH_MAX)
        return fail(E_INPUT, "the path %.60s... of the capture is longer than %d characters", path,
                    PATH_MAX - 1);
    const enum status st = chosen ? OK : create(path);
    if (st) return st;
    setenv("GEMMTUNE_CAPTURE", path, 1);
    if (stat(path, &recording->before) != 0) memset(&recording->before, 0, sizeof recording->before);
    recording->parts_before = capture_parts(path);
    return OK;
}

static bool is_changed(const struct recording *recording)
{
    struct stat now;
    const struct stat *before = &recording->before;
    return stat(recording->path, &now) == 0 &&
           (now.st_ino != before->st_ino || now.st_size != before->st_size ||
            now.st_mtim.tv_sec != before->st_mtim.tv_sec || now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

bool recording_end(const struct recording *recording)
{
    const struct capture nothing = {0};
    const int parts = capture_parts(recording->path);
    const bool grown = is_changed(recording) || parts > recording->parts_before;
    if (parts > recording->parts_before && capture_save(recording->path, &nothing))
        print_line(stderr, "tune run: %s", status_text());
    return grown;
}

bool recording_is_empty(const struct recording *recording)
{
    struct stat info;
    return stat(recording->path, &info) != 0 ? errno == ENOENT : info.st_size == 0;
}

void recording_tell(const struct recording *recording, const char *why, const char *budget)
{
    const char *db = env_text("GEMMTUNE_DB");
    char path[QUOTED_MAX], db_path[QUOTED_MAX];
    const bool quiet = print_is_quiet();
    print_quiet(false);
    print_line(stderr, "tune run: %s; to tune what was recorded: tune --from-capture %s --budget %s%s%s", why,
               quote(recording->path, path), budget, db ? " --db " : "", db ? quote(db, db_path) : "");
    print_quiet(quiet);
}

void recording_forget(const struct recording *recording)
{
    if (recording->temporary) unlink(recording->path);
}
