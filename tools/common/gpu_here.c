#include "gpu_here.h"

#include "children.h"
#include "command_line.h"
#include <stdio.h>
#include <string.h>

enum status gpu_here(const char *name, const char *cache, int *device)
{
    struct children_options all = {cache, 1, NULL, CHILDREN_ALL_DEVICES};
    struct children *children = NULL;
    char names[512] = "";
    size_t used = 0;
    *device = !name || strcmp(name, "this") == 0 ? 0 : command_gpu_number(name);
    if (*device >= 0) return OK;
    enum status st = children_open(&all, &children);
    if (st) return st;
    for (int i = 0; i < children_workers(children) && *device < 0; i++) {
        const struct worker_info *worker = children_worker(children, i);
        if (gpu_fits(&worker->gpu, name)) *device = worker->device;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%d is %s", used ? ", " : "",
                                     worker->device, worker->gpu.name);
    }
    children_close(children);
    return *device >= 0 ? OK : fail(E_GPU, "no GPU of this machine is '%.60s': %s", name, names);
}
