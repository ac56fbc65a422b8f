#include "this_gpu.h"

#include "env.h"

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
    char line[512];
    while (fgets(line, sizeof line, file)) {
        take(line, "Model:", gpu->name, sizeof gpu->name);
        take(line, "GPU UUID:", gpu->uuid, sizeof gpu->uuid);
    }
    fclose(file);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ...": the first word that is a dotted
 * number. */
static void read_driver(const char *path, char *driver, size_t room)
{
    FILE *file = fopen(path, "r");
    char line[512];
    driver[0] = '\0';
    if (!file) return;
    if (fgets(line, sizeof line, file)) {
        char *rest = NULL;
        for (char *word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
            size_t length = strlen(word);
            if (!strchr(word, '.') || strspn(word, "0123456789.") != length || length >= room) continue;
            memcpy(driver, word, length + 1);
            break;
        }
    }
    fclose(file);
}

void this_gpus(struct this_gpu gpus[THIS_GPUS_MAX], int *count)
{
    const char *proc = env_text("GEMMTUNE_PROC");
    if (!proc) proc = "/proc";
    char path[PATH_MAX], driver[sizeof gpus->driver];
    *count = 0;
    snprintf(path, sizeof path, "%s/driver/nvidia/version", proc);
    read_driver(path, driver, sizeof driver);
    snprintf(path, sizeof path, "%s/driver/nvidia/gpus", proc);
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
