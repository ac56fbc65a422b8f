#include "final_race.h"

#include "template.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void final_race_add(struct final_race *final_race, size_t index, const struct config *config,
                    struct built *built)
{
    struct finalist *f = &final_race->finalist[final_race->count++];
    *f = (struct finalist){.index = index, .config = *config, .built = built};
    f->smem_bytes = config->template->resources(config).smem_bytes;
    config_format(config, f->text);
}

enum status final_race_start(struct final_race *final_race, const struct race_plan *plan, uint64_t seed)
{
    int kept = 0;
    for (int i = 0; i < final_race->count; i++)
        if (final_race->finalist[i].built->ok) {
            if (i != kept) final_race->finalist[kept] = final_race->finalist[i];
            kept++;
        }
    final_race->count = kept;
    if (kept == 0) return fail(E_ABSENT, "none of the finalists can be built any more");

    struct race_runner runner[RACE_RUNNERS_MAX];
    for (int i = 0; i < kept; i++) {
        const struct finalist *f = &final_race->finalist[i];
        runner[i] = (struct race_runner){f->smem_bytes, f->built->facts.registers, f->text};
    }
    struct race_options options = race_defaults();
    options.min_rounds = plan->min_rounds;
    options.max_rounds = plan->max_rounds;
    options.seed = seed;
    return race_start(runner, kept, &options, &final_race->race);
}

int final_race_next(const struct final_race *final_race)
{
    return race_next(final_race->race);
}

enum status final_race_tell(struct final_race *final_race, double time_us)
{
    if (final_race->sample_count == final_race->sample_room) {
        int room = final_race->sample_room ? 2 * final_race->sample_room : 256;
        struct db_race_sample *grown = realloc(final_race->samples, (size_t)room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for the samples of a race");
        final_race->samples = grown;
        final_race->sample_room = room;
    }
    if (isfinite(time_us))
        final_race->samples[final_race->sample_count++] =
            (struct db_race_sample){race_next(final_race->race), race_rounds(final_race->race), time_us};
    race_tell(final_race->race, time_us);
    final_race->repeats = 0;
    return OK;
}

int final_race_choice(const struct final_race *final_race, bool *tied)
{
    int winner = race_winner(final_race->race, tied);
    if (winner < 0 || !final_race->finalist[winner].refused) return winner;
    /* The winner was refused: the next is the fastest of the rest, those that stayed in the race first. */
    int best = -1;
    *tied = false;
    for (int pass = 0; pass < 2 && best < 0; pass++)
        for (int i = 0; i < final_race->count; i++) {
            struct race_result r = race_result(final_race->race, i);
            if (r.failed || final_race->finalist[i].refused || r.dropped != (pass == 1)) continue;
            if (best < 0 || r.time_us < race_result(final_race->race, best).time_us) best = i;
        }
    return best;
}

void final_race_evidence(const struct final_race *final_race, int runner, struct db_winner *winner)
{
    const struct finalist *f = &final_race->finalist[runner];
    struct race_result r = race_result(final_race->race, runner);
    double anchor_us = race_anchor_us(final_race->race);
    bool anchored = isfinite(anchor_us) && isfinite(r.ratio);
    winner->config = f->config;
    memcpy(winner->config_text, f->text, sizeof winner->config_text);
    if (isfinite(r.time_us)) winner->base.time_us = r.time_us; /* else what the search measured stands */
    winner->base.ratio = anchored ? r.ratio : 0;
    winner->base.ratio_low = anchored ? r.ratio_low : 0;
    winner->base.ratio_high = anchored ? r.ratio_high : 0;
    winner->base.anchor_us = anchored ? anchor_us : 0;
    winner->rounds = r.blocks;
    winner->registers = f->built->facts.registers;
    winner->smem_bytes = f->smem_bytes;
}

void final_race_free(struct final_race *final_race)
{
    race_free(final_race->race);
    free(final_race->samples);
    *final_race = (struct final_race){0};
}
