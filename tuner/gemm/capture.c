#include "capture.h"

#include "number.h"
#include "text_file.h"
#include "utf8.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The assumed speed of an unknown GPU, for problems whose time was not measured. */
#define ROUGH_FLOP_PER_US  30e6
#define ROUGH_BYTES_PER_US 2e6
#define ROUGH_LAUNCH_US    4.0

#define TIME_US_MAX 1e15 /* of a call; sums over any number of calls stay finite */

double capture_weight(const struct captured *captured)
{
    const struct problem *p = &captured->problem;
    double us = captured->time_us;
    if (!(us > 0))
        us = ROUGH_LAUNCH_US +
             fmax(problem_flop(p) / ROUGH_FLOP_PER_US, problem_bytes(p) / ROUGH_BYTES_PER_US);
    return us * (double)captured->count;
}

enum status capture_add(struct capture *capture, const struct problem *problem, uint64_t count,
                        double time_us)
{
    if (capture->count == capture->room) {
        size_t room = capture->room ? 2 * capture->room : 64;
        struct captured *grown = realloc(capture->at, room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for the captured problems");
        capture->at = grown;
        capture->room = room;
    }
    struct captured *c = &capture->at[capture->count++];
    *c = (struct captured){.problem = *problem, .count = count, .time_us = time_us};
    problem_format(problem, c->text);
    return OK;
}

static uint64_t sum(uint64_t x, uint64_t y)
{
    return y > UINT64_MAX - x ? UINT64_MAX : x + y;
}

void capture_leave_out(struct capture *capture, const char *why, uint64_t count)
{
    int i = 0;
    if (capture->reasons == CAPTURE_REASONS_MAX - 1) why = "other reasons";
    while (i < capture->reasons &&
           strncmp(capture->left_out[i].why, why, sizeof capture->left_out[i].why - 1) != 0)
        i++;
    if (i == CAPTURE_REASONS_MAX) i--;
    if (i == capture->reasons)
        snprintf(capture->left_out[capture->reasons++].why, sizeof capture->left_out->why, "%s", why);
    capture->left_out[i].count = sum(capture->left_out[i].count, count);
}

static enum status add_all(struct capture *capture, const struct capture *from)
{
    enum status st = OK;
    for (size_t i = 0; i < from->count && !st; i++)
        st = capture_add(capture, &from->at[i].problem, from->at[i].count, from->at[i].time_us);
    for (int i = 0; i < from->reasons; i++)
        capture_leave_out(capture, from->left_out[i].why, from->left_out[i].count);
    return st;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(((const struct captured *)x)->text, ((const struct captured *)y)->text);
}

static int by_weight(const void *x, const void *y)
{
    double a = capture_weight(x), b = capture_weight(y);
    return a != b ? (a < b) - (a > b) : by_text(x, y);
}

/* time_us is the mean over the calls whose time is known. */
static void join(struct captured *into, const struct captured *from)
{
    bool known = into->time_us > 0;
    double a = known ? (double)into->count : 0, b = from->time_us > 0 ? (double)from->count : 0;
    if (a + b > 0) into->time_us = (a * into->time_us + b * from->time_us) / (a + b);
    into->count = sum(into->count, from->count);
}

void capture_settle(struct capture *capture)
{
    size_t kept = 0;
    if (capture->count == 0) return;
    qsort(capture->at, capture->count, sizeof *capture->at, by_text);
    for (size_t i = 1; i < capture->count; i++) {
        if (strcmp(capture->at[kept].text, capture->at[i].text) == 0)
            join(&capture->at[kept], &capture->at[i]);
        else if (++kept != i) capture->at[kept] = capture->at[i];
    }
    capture->count = kept + 1;
    qsort(capture->at, capture->count, sizeof *capture->at, by_weight);
}

void capture_free(struct capture *capture)
{
    free(capture->at);
    *capture = (struct capture){0};
}

/* ---- reading ---- */

/* "count=120 time_us=31.4": either may be missing; nothing else is allowed. */
static enum status parse_fields(char *text, uint64_t *count, double *time_us)
{
    char *rest = NULL;
    *count = 1;
    *time_us = 0;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
        char *value = strchr(word, '='), *end = NULL;
        errno = 0;
        if (value) *value++ = '\0';
        if (value && strcmp(word, "count") == 0 && *value >= '0' && *value <= '9')
            *count = strtoull(value, &end, 10);
        else if (value && strcmp(word, "time_us") == 0 && *value >= '0' && *value <= '9')
            *time_us = number_double(value, &end);
        const bool good = end && !*end && !errno && *time_us <= TIME_US_MAX;
        if (value) value[-1] = '=';
        if (!good) return fail(E_INPUT, "'%.40s' is neither count=NUMBER nor time_us=NUMBER", word);
    }
    return OK;
}

#define LEFT_OUT " left out: count="

/* Parses the counts of a capture's comment. Others are a user's comments. */
static void read_left_out(char *text, struct capture *capture)
{
    char *end;
    const char *number = text + strlen(LEFT_OUT);
    if (strncmp(text, LEFT_OUT, strlen(LEFT_OUT)) != 0 || *number < '0' || *number > '9') return;
    const uint64_t count = strtoull(number, &end, 10);
    end[strcspn(end, "\r\n")] = '\0';
    if (end[0] == ' ' && end[1]) capture_leave_out(capture, end + 1, count);
}

static enum status read_line(char *line, struct capture *capture)
{
    struct problem problem;
    uint64_t count;
    double time_us;
    char *fields = strchr(line, '#');
    if (fields) *fields++ = '\0';
    char *text = line + strspn(line, " \t\r\n");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1])) text[--length] = '\0';
    if (length == 0 && fields) read_left_out(fields, capture);
    if (length == 0) return OK;
    enum status st = problem_parse(text, &problem);
    if (!st) st = parse_fields(fields ? fields : text + length, &count, &time_us);
    return st ? st : capture_add(capture, &problem, count, time_us);
}

static enum status read_lines(FILE *file, const char *path, struct capture *capture)
{
    char why[900];
    enum status st = OK;
    struct text_file lines = text_file_start(file, "capture", path);
    for (char *line; !st && (line = text_file_line(&lines));) {
        st = read_line(lines.number == 1 && strncmp(line, UTF8_MARK, 3) == 0 ? line + 3 : line, capture);
        if (st == E_INPUT) {
            snprintf(why, sizeof why, "%s", status_text());
            st = fail(E_INPUT, "%s:%d: %s", path, lines.number, why);
        }
    }
    const enum status end = text_file_end(&lines);
    if (!st) st = end;
    return st;
}

/* ---- writing ---- */

static bool write_all(FILE *file, const struct capture *capture)
{
    fputs(
        "# problems of a program: how often, and the GPU's time of one call. tune --from-capture reads it\n",
        file);
    for (int i = 0; i < capture->reasons; i++)
        fprintf(file, "#" LEFT_OUT "%" PRIu64 " %s\n", capture->left_out[i].count, capture->left_out[i].why);
    for (size_t i = 0; i < capture->count; i++) {
        const struct captured *c = &capture->at[i];
        fprintf(file, "%s  # count=%" PRIu64, c->text, c->count);
        char time_us[32];
        number_format(time_us, sizeof time_us, 6, c->time_us);
        if (c->time_us > 0) fprintf(file, " time_us=%s", time_us);
        fputc('\n', file);
    }
    return fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
}

/* A program that ends must not wait long for another one. */
#define LOCK_TRIES    150
#define LOCK_PAUSE_NS 2000000

#define ABANDONED_S 3600 /* a temporary file this old that is not locked has no writer */
#define PARTS_MAX   64   /* taken in by one save; others wait for the next */

typedef char file_name[NAME_MAX + 1];

/* A capture and what is beside it, by their names in an open folder: a second lookup by path might find
 * another file. */
struct target {
    const char *path; /* for messages */
    char copy[PATH_MAX];
    const char *name;
    int folder;
    int fd;    /* the capture, locked unless the file system has no locks; -1: not open */
    int fresh; /* the file that has replaced it, locked; -1: none */
    bool created, locked;
    struct stat info;
    file_name parts[PARTS_MAX];
    int part_count;
};

/* The lock is explicitly released, because a child that was forked meanwhile has the file open, too. */
static void let_go(int *fd)
{
    if (*fd < 0) return;
    flock(*fd, LOCK_UN);
    close(*fd);
    *fd = -1;
}

static void close_target(struct target *t)
{
    let_go(&t->fd);
    let_go(&t->fresh);
    if (t->folder >= 0) close(t->folder);
}

/* Close it in any case. */
static enum status open_target(const char *path, struct target *t)
{
    char folder[PATH_MAX];
    *t = (struct target){.path = path, .folder = -1, .fd = -1, .fresh = -1};
    if (strlen(path) >= sizeof folder) return fail(E_IO, "the name of the capture is too long");
    memcpy(folder, path, strlen(path) + 1);
    memcpy(t->copy, path, strlen(path) + 1);
    t->name = basename(t->copy);
    t->folder = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return t->folder < 0 ? fail(E_IO, "cannot write the capture %s: %s", path, strerror(errno)) : OK;
}

/* Only a regular file is read or replaced: a link may lead anywhere, and a device or a pipe must not be
 * removed. A new file is empty, which is a capture, too. The descriptor is -1 if another process was first:
 * then try again. */
static enum status open_file(struct target *t)
{
    enum { FLAGS = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
    const bool there = fstatat(t->folder, t->name, &t->info, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISLNK(t->info.st_mode))
        return fail(E_IO, "the capture %s is a symbolic link: name the file that it points to", t->path);
    if (there && !S_ISREG(t->info.st_mode))
        return fail(E_IO, "cannot write the capture %s: it is not a regular file", t->path);
    t->fd = openat(t->folder, t->name, there ? O_RDWR | FLAGS : O_RDWR | O_CREAT | O_EXCL | FLAGS, 0600);
    t->created = !there && t->fd >= 0;
    if (t->fd < 0 && errno == EACCES) t->fd = openat(t->folder, t->name, O_RDONLY | FLAGS);
    if (t->fd >= 0 ? fstat(t->fd, &t->info) == 0 : errno == EEXIST || errno == ENOENT) return OK;
    return fail(E_IO, "cannot write the capture %s: %s", t->path, strerror(errno));
}

/* Another process has put another file in its place meanwhile, or removed it. */
static bool is_replaced(const struct target *t)
{
    struct stat now;
    return fstatat(t->folder, t->name, &now, AT_SYMLINK_NOFOLLOW) != 0 || now.st_ino != t->info.st_ino ||
           now.st_dev != t->info.st_dev;
}

/* One process at a time. Whoever can read the file can hold its lock for ever. */
static enum status lock_target(struct target *t)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        enum status st = open_file(t);
        if (st) return st;
        t->locked = t->fd >= 0 && flock(t->fd, LOCK_EX | LOCK_NB) == 0;
        if (t->locked && !is_replaced(t)) return OK;
        if (t->fd >= 0 && !t->locked && errno != EWOULDBLOCK && errno != EINTR)
            return OK; /* a file system without locks: the last writer wins */
        let_go(&t->fd);
        nanosleep(&pause, NULL);
    }
    return fail(E_BUSY, "cannot write the capture %s: another process holds its lock", t->path);
}

static enum status read_target(const struct target *t, struct capture *capture)
{
    const int fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0) close(fd);
        return fail(E_IO, "cannot read the capture %s: %s", t->path, strerror(errno));
    }
    enum status st = read_lines(file, t->path, capture);
    fclose(file);
    return st;
}

/* ---- files beside it ---- */

#define TEMPORARY "."      /* .NAME.NUMBER: being written */
#define PART      ".part-" /* NAME.part-NUMBER: for the next save to take in */

/* True if a file's name is that of the capture with something before it, and something and a number of ours
 * after it. */
static bool is_beside(const char *file, const struct target *t, const char *before, const char *after)
{
    file_name start;
    const int length = snprintf(start, sizeof start, "%s%.200s%s", before, t->name, after);
    return strncmp(file, start, (size_t)length) == 0 && strlen(file + length) == 16 &&
           strspn(file + length, "0123456789abcdef") == 16;
}

/* A name that cannot be foreseen. */
static bool name_beside(const struct target *t, const char *before, const char *after, file_name name)
{
    uint64_t number;
    return getrandom(&number, sizeof number, 0) == sizeof number &&
           snprintf(name, sizeof(file_name), "%s%.200s%s%016" PRIx64, before, t->name, after, number) > 0;
}

/* A regular file that is this user's own or that of the capture's owner; -1: it is not, or is gone. */
static int open_ours(const struct target *t, const char *name, struct stat *info)
{
    const int fd = openat(t->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, info) == 0 && S_ISREG(info->st_mode) &&
        (info->st_uid == geteuid() || (t->fd >= 0 && info->st_uid == t->info.st_uid)))
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* A writer holds the lock of its temporary file, so one that can be locked has none. */
static void remove_abandoned(const struct target *t, const char *name)
{
    struct stat info;
    const int fd = open_ours(t, name, &info);
    if (fd < 0) return;
    if (time(NULL) - info.st_mtime > ABANDONED_S && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(t->folder, name, 0);
    close(fd);
}

/* Reads a part; a file that is no capture stays where it is. */
static enum status read_part(struct target *t, const char *name, struct capture *all)
{
    struct capture part = {0};
    struct stat info;
    const int fd = open_ours(t, name, &info);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0) close(fd);
        return OK;
    }
    const enum status st = read_lines(file, name, &part);
    fclose(file);
    if (!st) memcpy(t->parts[t->part_count++], name, strlen(name) + 1);
    const enum status joined = st ? OK : add_all(all, &part);
    capture_free(&part);
    return st == E_MEMORY ? st : joined;
}

/* Adds the parts to the capture. tidy: removes what dead writers have left. */
static enum status look_around(struct target *t, bool tidy, struct capture *all)
{
    const int fd = openat(t->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    enum status st = OK;
    for (struct dirent *entry; dir && !st && (entry = readdir(dir));) {
        if (tidy && is_beside(entry->d_name, t, TEMPORARY, ".")) remove_abandoned(t, entry->d_name);
        if (t->part_count < PARTS_MAX && is_beside(entry->d_name, t, "", PART))
            st = read_part(t, entry->d_name, all);
    }
    if (dir) closedir(dir);
    else if (fd >= 0) close(fd);
    return st;
}

/* ---- writing ---- */

/* Gives the new file the owner and mode of the file that is replaced, as far as allowed. */
static bool take_after(int fd, const struct target *t)
{
    if (t->fd < 0) return true;
    if (fchown(fd, t->info.st_uid, t->info.st_gid) != 0 && errno != EPERM) return false;
    return fchmod(fd, t->info.st_mode & 0777) == 0;
}

/* Returns the file's descriptor, locked; -1 and errno on failure. */
static int create_temporary(const struct target *t, file_name name)
{
    if (!name_beside(t, TEMPORARY, ".", name)) return -1;
    const int fd = openat(t->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

/* The file that has the name afterwards stays open and locked until the target is closed. */
static enum status publish(struct target *t, const char *name, const struct capture *capture)
{
    file_name temporary;
    const int fd = create_temporary(t, temporary);
    if (fd < 0) return fail(E_IO, "cannot write the capture %s: %s", t->path, strerror(errno));
    t->fresh = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = t->fresh < 0 ? NULL : fdopen(fd, "w");
    bool written = file && take_after(fd, t) && write_all(file, capture);
    int error = errno;
    if (file ? fclose(file) != 0 : close(fd) != 0) written = false, error = errno;
    if (written && renameat(t->folder, temporary, t->folder, name) != 0) written = false, error = errno;
    if (written) return OK;
    unlinkat(t->folder, temporary, 0);
    return fail(E_IO, "cannot write the capture %s: %s", t->path, strerror(error));
}

static enum status add_and_replace(struct target *t, const struct capture *capture)
{
    struct capture all = {0};
    enum status st = read_target(t, &all);
    if (!st) st = look_around(t, true, &all);
    if (!st) st = add_all(&all, capture);
    if (!st) {
        capture_settle(&all);
        st = publish(t, t->name, &all);
    }
    for (int i = 0; i < t->part_count && !st; i++) unlinkat(t->folder, t->parts[i], 0);
    if (st && t->created && t->locked) unlinkat(t->folder, t->name, 0);
    capture_free(&all);
    return st;
}

enum status capture_save(const char *path, const struct capture *capture)
{
    struct target target;
    enum status st = open_target(path, &target);
    if (!st) st = lock_target(&target);
    if (!st) st = add_and_replace(&target, capture);
    close_target(&target);
    return st;
}

enum status capture_save_beside(const char *path, const struct capture *capture, char file[PATH_MAX])
{
    struct capture all = {0};
    struct target target;
    file_name part;
    enum status st = open_target(path, &target);
    if (!st) st = add_all(&all, capture);
    if (!st && !name_beside(&target, "", PART, part))
        st = fail(E_IO, "cannot name a part of the capture %s", path);
    if (!st) {
        capture_settle(&all);
        st = publish(&target, part, &all);
    }
    if (!st) snprintf(file, PATH_MAX, "%.*s%s", (int)(strlen(path) - strlen(target.name)), path, part);
    close_target(&target);
    capture_free(&all);
    return st;
}

int capture_parts(const char *path)
{
    struct target target;
    int count = 0;
    DIR *dir = open_target(path, &target) ? NULL : fdopendir(target.folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += is_beside(entry->d_name, &target, "", PART);
    if (dir) closedir(dir); /* and with it the folder */
    else close_target(&target);
    return count;
}

enum status capture_read(const char *path, struct capture *capture)
{
    struct target target;
    /* The parts first: one that is taken in meanwhile is counted twice rather than not at all. */
    enum status st = open_target(path, &target) ? OK : look_around(&target, false, capture);
    const bool parts = target.part_count > 0;
    close_target(&target);
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT && !parts) return fail(E_ABSENT, "there is no capture %s", path);
    if (!file && errno != ENOENT) return fail(E_IO, "cannot read the capture %s: %s", path, strerror(errno));
    if (!st && file) st = read_lines(file, path, capture);
    if (file) fclose(file);
    if (!st) capture_settle(capture);
    return st;
}
