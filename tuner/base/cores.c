#include "cores.h"

#include "text_file.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MOST (1 << 16) /* the mask grows up to that: the kernel refuses one that is too small */

static int cores_of_affinity(void)
{
    int count = 0;
    for (int cpus = CPU_SETSIZE; !count && cpus <= CPUS_MOST; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (!set) break;
        const int error = sched_getaffinity(0, bytes, set) == 0 ? 0 : errno;
        if (!error) count = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (error && error != EINVAL) break;
    }
    return count > 0 ? count : 1;
}

/* Reads up to two words of a file; returns how many. */
static int read_words(const char *folder, const char *name, char words[2][32])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return 0;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    const int count = fscanf(file, "%31s %31s", words[0], words[1]);
    fclose(file);
    return count > 0 ? count : 0;
}

/* The quota of one group; 0: none. */
static int quota_here(const char *folder, bool version_2)
{
    char words[2][32], period_words[2][32];
    const char *period_text = words[1];
    if (version_2 ? read_words(folder, "cpu.max", words) < 2
                  : read_words(folder, "cpu.cfs_quota_us", words) < 1 ||
                        read_words(folder, "cpu.cfs_period_us", period_words) < 1)
        return 0;
    if (!version_2) period_text = period_words[0];
    const long long quota = strtoll(words[0], NULL, 10), period = strtoll(period_text, NULL, 10);
    if (quota <= 0 || period <= 0) return 0; /* "max", -1 */
    const long long cores = (quota - 1) / period + 1;
    return cores < INT_MAX ? (int)cores : 0;
}

/* The quotas from the group to the root, all that a container may see of its own. */
static int quota_upwards(const char *root, const char *group, bool version_2)
{
    char folder[PATH_MAX];
    int least = INT_MAX;
    if (snprintf(folder, sizeof folder, "%s%s", root, group) >= (int)sizeof folder) return least;
    for (char *end = folder + strlen(folder); end && end >= folder + strlen(root);
         end = strrchr(folder, '/')) {
        *end = '\0';
        const int cores = quota_here(folder, version_2);
        if (cores && cores < least) least = cores;
    }
    return least;
}

/* Is it one of the words that commas separate? */
static bool lists(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ',') && (at[length] == ',' || !at[length])) return true;
    return false;
}

int cores_of_quota(const char *groups, const char *mounts)
{
    char root[PATH_MAX], *line;
    int least = INT_MAX;
    FILE *file = fopen(groups, "re");
    if (!file) return least;
    struct text_file lines = text_file_start(file, "list of groups", groups);
    /* Lines are NUMBER:CONTROLLERS:/GROUP, for version 2 without controllers. */
    while ((line = text_file_line(&lines))) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        controllers++;
        const bool version_2 = !*controllers;
        if (!version_2 && !lists(controllers, "cpu")) continue;
        /* The folder of a controller of version 1 may have the name of one or of all that are mounted
         * together. */
        const char *const names[] = {controllers, "cpu"};
        for (int i = 0; i < (version_2 ? 1 : 2); i++) {
            if (snprintf(root, sizeof root, "%s%s%s", mounts, version_2 ? "" : "/", names[i]) >=
                (int)sizeof root)
                continue;
            const int cores = quota_upwards(root, group, version_2);
            if (cores < least) least = cores;
        }
    }
    text_file_end(&lines);
    fclose(file);
    return least;
}

int cores_allowed(void)
{
    const int allowed = cores_of_affinity(), paid = cores_of_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return paid < allowed ? paid : allowed;
}

enum { THREADS_MOST = 16 }; /* more would gain little on what takes some tenths of a second */

struct work {
    void (*piece)(void *self, size_t i);
    void *self;
    size_t count;
    atomic_size_t next;
};

static void *do_pieces(void *self)
{
    struct work *w = self;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count;) w->piece(w->self, i);
    return NULL;
}

void parallel_for(size_t count, void (*piece)(void *self, size_t i), void *self)
{
    struct work work = {.piece = piece, .self = self, .count = count};
    pthread_t thread[THREADS_MOST];
    size_t threads = 0;
    const size_t cores = (size_t)cores_allowed();
    size_t wanted = cores < count ? cores : count;
    if (wanted > THREADS_MOST) wanted = THREADS_MOST;
    while (threads + 1 < wanted && pthread_create(&thread[threads], NULL, do_pieces, &work) == 0) threads++;
    do_pieces(&work);
    for (size_t i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}
