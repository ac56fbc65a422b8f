#include "driver_version.h"

#include "env.h"
#include "text_file.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define CUDA "CUDA "

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ...", or that number alone: the first word
 * of the first line that is a dotted number. */
static void read_release(const char *path, char version[DRIVER_VERSION_MAX])
{
    FILE *file = fopen(path, "re");
    if (!file) return;
    struct text_file lines = text_file_start(file, "version of the driver", path);
    char *line = text_file_line(&lines), *rest = NULL;
    for (char *word = line ? strtok_r(line, " \t\r\n", &rest) : NULL; word;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        const size_t length = strlen(word);
        if (!strchr(word, '.') || strspn(word, "0123456789.") != length || length >= DRIVER_VERSION_MAX)
            continue;
        memcpy(version, word, length + 1);
        break;
    }
    text_file_end(&lines);
    fclose(file);
}

void driver_release(char version[DRIVER_VERSION_MAX])
{
    const char *proc = env_text("GEMMTUNE_PROC");
    char path[PATH_MAX];
    version[0] = '\0';
    if (snprintf(path, sizeof path, "%s/driver/nvidia/version", proc ? proc : "/proc") < (int)sizeof path)
        read_release(path, version);
    if (!version[0] && !proc) read_release("/sys/module/nvidia/version", version);
}

void driver_version(const char *nvml, int cuda, char version[DRIVER_VERSION_MAX])
{
    if (*nvml) snprintf(version, DRIVER_VERSION_MAX, "%s", nvml);
    else driver_release(version);
    if (!version[0]) snprintf(version, DRIVER_VERSION_MAX, CUDA "%d.%d", cuda / 1000, cuda % 1000 / 10);
}

static bool is_release(const char *version)
{
    return strncmp(version, CUDA, strlen(CUDA)) != 0;
}

bool driver_differs(const char *x, const char *y)
{
    return x[0] && y[0] && is_release(x) == is_release(y) && strcmp(x, y) != 0;
}
