/* finalists.h — the finalists of one problem: who they are, which runs next, the times of their blocks, which
 * may win and with what evidence. race.h decides; this module keeps the samples and remembers which finalists
 * the last check refused.
 */
#ifndef GT_FINALISTS_H
#define GT_FINALISTS_H

#include "budget.h"
#include "builds.h"
#include "db.h"
#include "race.h"
#include <stdint.h>

struct finalist {
    size_t index; /* in the field */
    struct config config;
    struct built *built;
    char text[CONFIG_TEXT_MAX];
    int smem_bytes;
    int losses; /* times a worker died on its blocks or its last check */
    bool refused;
};

struct finalists {
    struct finalist finalist[RACE_RUNNERS_MAX];
    int count;
    struct race *race;
    struct db_race_sample *samples;
    int sample_count, sample_room;
    int anchor_losses;
    int repeats; /* of the present block, because the GPU was throttled */
};

/* The present block's time; INFINITY when it failed. Errors: E_MEMORY. */
enum status finalists_tell(struct finalists *finalists, double time_us);

/* The winner among those not refused, -1 if there is none. */
int finalists_choice(const struct finalists *finalists, bool *tied);

/* Fill in what the race knows of a runner: configuration, times, ratio, rounds, registers. */
void finalists_evidence(const struct finalists *finalists, int runner, struct db_winner *winner);

void finalists_free(struct finalists *finalists); /* takes a zeroed struct */

#endif
