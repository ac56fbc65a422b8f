#include "this_gpu.h"

#include "env.h"
#include "text_file.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text after "key:" without blanks around it, if line starts so and it fits. */
static void take(const char *line, const char *key, char *value, size_t room)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0) return;
    const char *start = line + length + strspn(line + length, " \t");
    size_t size = strlen(start);
    while (size > 0 && isspace((unsigned char)start[size - 1])) size--;
    if (size == 0 || size >= room) return;
    memcpy(value, start, size);
    value[size] = '\0';
}

static void read_information(const char *path, struct this_gpu *gpu)
{
    FILE *file = fopen(path, "r");
    if (!file) return;
    struct text_file lines = text_file_start(file, "description of a GPU", path);
    for (const char *line; (line = text_file_line(&lines));) {
        take(line, "Model:", gpu->name, sizeof gpu->name);
        take(line, "GPU UUID:", gpu->uuid, sizeof gpu->uuid);
    }
    text_file_end(&lines);
    fclose(file);
}

void this_gpus(struct this_gpu gpus[THIS_GPUS_MAX], int *count)
{
    const char *proc = env_text("GEMMTUNE_PROC");
    if (!proc) proc = "/proc";
    char path[PATH_MAX], driver[DRIVER_VERSION_MAX];
    *count = 0;
    driver_release(driver);
    if (snprintf(path, sizeof path, "%s/driver/nvidia/gpus", proc) >= (int)sizeof path) return;
    struct dirent **entries;
    int found = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        struct this_gpu gpu = {0};
        int length =
            snprintf(path, sizeof path, "%s/driver/nvidia/gpus/%s/information", proc, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length < (int)sizeof path) read_information(path, &gpu);
        memcpy(gpu.driver, driver, sizeof driver);
        if (gpu.name[0] && *count < THIS_GPUS_MAX) gpus[(*count)++] = gpu;
        free(entries[i]);
    }
    if (found >= 0) free(entries);
}
