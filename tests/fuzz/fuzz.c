#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fuzz_broken(const char *file, int line, const char *promise, const char *format, ...)
{
    va_list arguments; /* a target may have sent the stream elsewhere */
    dprintf(STDERR_FILENO, "%s:%d: the promise '%s' is broken: ", file, line, promise);
    va_start(arguments, format);
    vdprintf(STDERR_FILENO, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "\n");
    abort();
}

static uint64_t accepted;

void fuzz_accept(void)
{
    accepted++;
}

uint64_t fuzz_accepted(void)
{
    return accepted;
}

static void need(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "cannot go on: %s: %s\n", what, strerror(errno));
    _exit(2);
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    /* Exactly as large as the input: a step beyond its end is then seen. */
    static char *text;
    free(text);
    text = malloc(size + 1);
    need(text, "memory for the input");
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static char folder[200];

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
    if (folder[0]) return folder;
    const char *wanted = getenv("TMPDIR");
    if (!wanted) wanted = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%.150s/gemmtune-fuzz-XXXXXX", wanted);
    need(mkdtemp(folder), "a folder for the input");
    atexit(remove_folder);
    return folder;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/input", fuzz_folder());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(fd >= 0, path);
    for (size_t put = 0; put < size;) {
        ssize_t n = write(fd, data + put, size - put);
        need(n > 0 || errno == EINTR, path);
        if (n > 0) put += (size_t)n;
    }
    close(fd);
    return path;
}
