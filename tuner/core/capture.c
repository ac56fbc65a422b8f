#include "capture.h"

#include "number.h"
#include "utf8.h"
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
    into->count = from->count > UINT64_MAX - into->count ? UINT64_MAX : into->count + from->count;
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
    if (length == 0) return OK;
    enum status st = problem_parse(text, &problem);
    if (!st) st = parse_fields(fields ? fields : text + length, &count, &time_us);
    return st ? st : capture_add(capture, &problem, count, time_us);
}

static enum status read_lines(FILE *file, const char *path, struct capture *capture)
{
    char *line = NULL, why[900];
    size_t room = 0;
    ssize_t got;
    int number = 0;
    enum status st = OK;
    errno = 0;
    while (!st && (got = getline(&line, &room, file)) >= 0) {
        number++;
        char *text = number == 1 && strncmp(line, UTF8_MARK, 3) == 0 ? line + 3 : line;
        st = strlen(line) == (size_t)got ? read_line(text, capture) : fail(E_INPUT, "it holds a NUL byte");
        if (st == E_INPUT) {
            snprintf(why, sizeof why, "%s", status_text());
            st = fail(E_INPUT, "%s:%d: %s", path, number, why);
        }
    }
    if (!st && ferror(file)) st = fail(E_IO, "cannot read the capture %s: %s", path, strerror(errno));
    free(line);
    if (!st) capture_settle(capture);
    return st;
}

enum status capture_read(const char *path, struct capture *capture)
{
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT) return fail(E_ABSENT, "there is no capture %s", path);
    if (!file) return fail(E_IO, "cannot read the capture %s: %s", path, strerror(errno));
    enum status st = read_lines(file, path, capture);
    fclose(file);
    return st;
}

/* ---- writing ---- */

static bool write_all(FILE *file, const struct capture *capture)
{
    fputs(
        "# problems of a program: how often, and the GPU's time of one call. tune --from-capture reads it\n",
        file);
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

#define LOCK_TRIES    3000 /* half a minute */
#define LOCK_PAUSE_NS 10000000

/* The file that is written, by its name in an open folder: a second lookup by path might find another
 * file. */
struct target {
    const char *path; /* for messages */
    char copy[PATH_MAX];
    const char *name;
    int folder; /* locked */
    bool exists;
    struct stat info;
};

/* One process at a time. The lock is on the folder, so that no lock file is left. Another process may hold a
 * folder's lock for ever, and a program that ends must not wait for that. */
static enum status lock_folder(const struct target *t)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    for (int i = 0; flock(t->folder, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            break; /* a file system without locks: the last writer wins */
        if (i == LOCK_TRIES)
            return fail(E_IO, "cannot write the capture %s: another process holds the lock of its folder",
                        t->path);
        nanosleep(&pause, NULL);
    }
    return OK;
}

static void close_target(struct target *t)
{
    if (t->folder < 0) return;
    flock(t->folder, LOCK_UN); /* a child forked meanwhile also has the folder open */
    close(t->folder);
}

static enum status open_target(const char *path, struct target *t)
{
    char folder[PATH_MAX];
    *t = (struct target){.path = path, .folder = -1};
    if (strlen(path) >= sizeof folder) return fail(E_IO, "the name of the capture is too long");
    memcpy(folder, path, strlen(path) + 1);
    memcpy(t->copy, path, strlen(path) + 1);
    t->name = basename(t->copy);
    t->folder = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->folder < 0) return fail(E_IO, "cannot write the capture %s: %s", path, strerror(errno));
    return lock_folder(t);
}

/* Reads the file, if it exists. Only a regular file is read or replaced: a link may lead anywhere, and a
 * device or a pipe must not be removed. */
static enum status read_target(struct target *t, struct capture *capture)
{
    int fd = openat(t->folder, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return OK;
    if (fd < 0 && errno == ELOOP)
        return fail(E_IO, "the capture %s is a symbolic link: name the file that it points to", t->path);
    if (fd < 0) return fail(E_IO, "cannot read the capture %s: %s", t->path, strerror(errno));
    FILE *file = fstat(fd, &t->info) == 0 && S_ISREG(t->info.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file) {
        close(fd);
        return fail(E_IO, "cannot write the capture %s: it is not a regular file", t->path);
    }
    t->exists = true;
    enum status st = read_lines(file, t->path, capture);
    fclose(file);
    return st;
}

/* Creates a file with an unpredictable name beside the target. */
static int create_beside(const struct target *t, char fresh[NAME_MAX + 1])
{
    int fd = -1;
    for (int tries = 0; tries < 16 && fd < 0; tries++) {
        uint64_t number;
        if (getrandom(&number, sizeof number, 0) != sizeof number) return -1;
        if (snprintf(fresh, NAME_MAX + 1, ".%.200s.%016" PRIx64, t->name, number) < 0) return -1;
        fd = openat(t->folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    return fd;
}

/* Gives the new file the owner and mode of the file that is replaced, as far as allowed. */
static bool take_after(int fd, const struct target *t)
{
    if (!t->exists) return true;
    if (fchown(fd, t->info.st_uid, t->info.st_gid) != 0 && errno != EPERM) return false;
    return fchmod(fd, t->info.st_mode & 0777) == 0;
}

static enum status replace(const struct target *t, const struct capture *capture)
{
    char fresh[NAME_MAX + 1];
    int fd = create_beside(t, fresh), error = errno;
    if (fd < 0) return fail(E_IO, "cannot write the capture %s: %s", t->path, strerror(error));
    FILE *file = fdopen(fd, "w");
    bool written = file && take_after(fd, t) && write_all(file, capture);
    error = errno;
    if (file ? fclose(file) != 0 : close(fd) != 0) written = false, error = errno;
    if (written && renameat(t->folder, fresh, t->folder, t->name) != 0) written = false, error = errno;
    if (written) return OK;
    unlinkat(t->folder, fresh, 0);
    return fail(E_IO, "cannot write the capture %s: %s", t->path, strerror(error));
}

enum status capture_save(const char *path, const struct capture *capture)
{
    struct capture all = {0};
    struct target target;
    enum status st = open_target(path, &target);
    if (!st) st = read_target(&target, &all);
    for (size_t i = 0; i < capture->count && !st; i++)
        st = capture_add(&all, &capture->at[i].problem, capture->at[i].count, capture->at[i].time_us);
    if (!st) {
        capture_settle(&all);
        st = replace(&target, &all);
    }
    close_target(&target);
    capture_free(&all);
    return st;
}
