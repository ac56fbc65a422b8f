/* What the kernel driver's files in /proc say of a machine's GPUs. The input is one GPU's file, after a line
 * "---" that of the driver's version. */
#include "fuzz.h"
#include "this_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const fuzz_words[] = {"Model: ", "GPU UUID: ", "NVIDIA H200",  "GPU-", "580.95.05", " .", "\t",
                                  "\n---\n", "\n",         "NVRM version", "\r",   ":",         "..", NULL};

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[600], information[300], version[300];
    struct this_gpu gpus[THIS_GPUS_MAX];
    int count = -1;
    if (!information[0]) {
        static const char *const below[] = {"/driver", "/nvidia", "/gpus", "/0000:01:00.0"};
        snprintf(folder, sizeof folder, "%s", fuzz_folder());
        setenv("GEMMTUNE_PROC", folder, 1);
        for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
            strcat(folder, below[i]);
            if (mkdir(folder, 0700)) abort();
        }
        snprintf(information, sizeof information, "%s/driver/nvidia/gpus/0000:01:00.0/information",
                 fuzz_folder());
        snprintf(version, sizeof version, "%s/driver/nvidia/version", fuzz_folder());
    }
    const char *text = fuzz_text(data, size), *line = strstr(text, "\n---\n");
    const size_t first = line ? (size_t)(line - text) : size;
    write_file(information, text, first);
    write_file(version, line ? line + 5 : "", line ? size - first - 5 : 0);
    this_gpus(gpus, &count);
    PROMISE(count == 0 || count == 1, "%d GPUs", count);
    if (count == 0) return 0;
    fuzz_accept();
    const struct this_gpu *g = gpus;
    PROMISE(g->name[0] && memchr(g->name, 0, sizeof g->name), "a GPU without a name");
    PROMISE(memchr(g->uuid, 0, sizeof g->uuid) && memchr(g->driver, 0, sizeof g->driver),
            "a text does not end");
    PROMISE(!strchr(g->name, '\n') && !strchr(g->uuid, '\n'), "a text of two lines");
    PROMISE(strspn(g->driver, "0123456789.") == strlen(g->driver), "driver '%s'", g->driver);
    return 0;
}
