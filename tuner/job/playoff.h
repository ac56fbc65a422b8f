/* playoff.h — the finalists of one problem: which runs next, the times of their blocks, which may win and
 * with what evidence. race.h decides; this module keeps the samples and remembers which finalists the final
 * check refused.
 */
#ifndef GT_PLAYOFF_H
#define GT_PLAYOFF_H

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
    int losses, check_losses; /* times a worker died on its blocks; on its last check */
    bool refused;
};

struct playoff {
    struct finalist finalist[RACE_RUNNERS_MAX];
    int count;
    struct race *race;
    struct db_race_sample *samples;
    int sample_count, sample_room;
    int anchor_losses;
    int repeats; /* of the present block, because the GPU was throttled */
};

void playoff_add(struct playoff *playoff, size_t index, const struct config *config, struct built *built);

/* Leave out those that could not be built, and start. Errors: E_MEMORY; E_ABSENT when nobody is left. */
enum status playoff_start(struct playoff *playoff, const struct race_plan *plan, uint64_t seed);

int playoff_next(const struct playoff *playoff); /* as race_next */

/* The present block's time; INFINITY when it failed. Errors: E_MEMORY. */
enum status playoff_tell(struct playoff *playoff, double time_us);

/* The winner among those not refused, -1 if there is none. */
int playoff_choice(const struct playoff *playoff, bool *tied);

/* Fill in what the race knows of a runner: configuration, times, ratio, rounds, registers. */
void playoff_evidence(const struct playoff *playoff, int runner, struct db_winner *winner);

void playoff_free(struct playoff *playoff); /* takes a zeroed struct */

#endif
