/* files.h — whole files as text, and how many a folder holds. */
#ifndef GT_TEST_FILES_H
#define GT_TEST_FILES_H

#include "unit.h"

#include <stdio.h>
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
