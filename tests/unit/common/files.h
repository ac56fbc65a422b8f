/* files.h — whole files as text, and how many a folder holds. */
#ifndef GT_TEST_FILES_H
#define GT_TEST_FILES_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Until the next call. */
static inline const char *file_text(const char *path)
{
    static char text[1 << 18];
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("there is no %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* All of a file; malloc'ed. */
static inline char *file_read_bytes(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("there is no %s", path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *length, file), *length);
    fclose(file);
    return bytes;
}

static inline void file_write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (!file) fail_msg("%s cannot be written", path);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline void file_write(const char *path, const char *text)
{
    file_write_bytes(path, text, strlen(text));
}

static inline int files_in(const char *folder)
{
    int count = 0;
    char command[256];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%d", &count), 1);
    pclose(list);
    return count;
}

#endif
