/* final_race.h — the finalists of one problem: which runs next, the times of their blocks, which may win and
 * with what evidence. race.h decides; this module keeps the samples and remembers which finalists the final
 * check refused.
 */
#ifndef GT_FINAL_RACE_H
#define GT_FINAL_RACE_H

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

struct final_race {
    struct finalist finalist[RACE_RUNNERS_MAX];
    int count;
    struct race *race;
    struct db_race_sample *samples;
    int sample_count, sample_room;
    int anchor_losses;
    int repeats; /* of the present block, because the GPU was throttled */
};

void final_race_add(struct final_race *final_race, size_t index, const struct config *config,
                    struct built *built);

/* Leave out those that could not be built, and start. Errors: E_MEMORY; E_ABSENT when nobody is left. */
enum status final_race_start(struct final_race *final_race, const struct race_plan *plan, uint64_t seed);

int final_race_next(const struct final_race *final_race); /* as race_next */

/* The present block's time; INFINITY when it failed. Errors: E_MEMORY. */
enum status final_race_tell(struct final_race *final_race, double time_us);

/* The winner among those not refused, -1 if there is none. */
int final_race_choice(const struct final_race *final_race, bool *tied);

/* Fill in what the race knows of a runner: configuration, times, ratio, rounds, registers. */
void final_race_evidence(const struct final_race *final_race, int runner, struct db_winner *winner);

void final_race_free(struct final_race *final_race); /* takes a zeroed struct */

#endif
