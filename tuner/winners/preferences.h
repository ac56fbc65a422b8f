/* preferences.h — the pins and exclusions that the user's database holds for one GPU, in memory: a lookup
 * asks for them again and again, and there are few.
 */
#ifndef GT_PREFERENCES_H
#define GT_PREFERENCES_H

#include "config.h"
#include "db.h"

struct preference {
    struct problem problem;
    bool pin; /* this configuration is used; else never this one */
    struct config config;
};

struct preferences {
    struct preference *list;
    size_t count;
};

/* Reads all of this GPU, in place of those that were read before; without configurations whose template does
 * not exist any more. On an error there are none. Errors: E_BUSY, E_DB (one cannot be read), E_IO, E_MEMORY.
 */
enum status preferences_read(struct preferences *preferences, struct db *db, const struct gpu *gpu);

/* The configuration that is pinned for the problem, or else for one that is as good (problem_alike); NULL:
 * none. Valid until the next preferences_read. */
const struct config *preferences_pin(const struct preferences *preferences, const struct problem *problem);

/* True if the configuration may not be used for the problem, or for one that is as good. */
bool preferences_exclude(const struct preferences *preferences, const struct problem *problem,
                         const struct config *config);

void preferences_free(struct preferences *preferences); /* takes a zeroed struct */

#endif
