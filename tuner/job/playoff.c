#include "playoff.h"

#include "template.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void playoff_add(struct playoff *playoff, size_t index, const struct config *config, struct built *built)
{
    struct finalist *f = &playoff->finalist[playoff->count++];
    *f = (struct finalist){.index = index, .config = *config, .built = built};
    f->smem_bytes = config->template->resources(config).smem_bytes;
    config_format(config, f->text);
}

enum status playoff_start(struct playoff *playoff, const struct race_plan *plan, uint64_t seed)
{
    int kept = 0;
    for (int i = 0; i < playoff->count; i++)
        if (playoff->finalist[i].built->ok) {
            if (i != kept) playoff->finalist[kept] = playoff->finalist[i];
            kept++;
        }
    playoff->count = kept;
    if (kept == 0) return fail(E_ABSENT, "none of the finalists can be built any more");

    struct race_runner runner[RACE_RUNNERS_MAX];
    for (int i = 0; i < kept; i++) {
        const struct finalist *f = &playoff->finalist[i];
        runner[i] = (struct race_runner){f->smem_bytes, f->built->facts.registers, f->text};
    }
    struct race_options options = race_defaults();
    options.min_rounds = plan->min_rounds;
    options.max_rounds = plan->max_rounds;
    options.seed = seed;
    return race_start(runner, kept, &options, &playoff->race);
}

int playoff_next(const struct playoff *playoff)
{
    return race_next(playoff->race);
}

enum status playoff_tell(struct playoff *playoff, double time_us)
{
    if (playoff->sample_count == playoff->sample_room) {
        int room = playoff->sample_room ? 2 * playoff->sample_room : 256;
        struct db_race_sample *grown = realloc(playoff->samples, (size_t)room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for the samples of a race");
        playoff->samples = grown;
        playoff->sample_room = room;
    }
    if (isfinite(time_us))
        playoff->samples[playoff->sample_count++] =
            (struct db_race_sample){race_next(playoff->race), race_rounds(playoff->race), time_us};
    race_tell(playoff->race, time_us);
    playoff->repeats = 0;
    return OK;
}

int playoff_choice(const struct playoff *playoff, bool *tied)
{
    int winner = race_winner(playoff->race, tied);
    if (winner < 0 || !playoff->finalist[winner].refused) return winner;
    /* The winner was refused: the next is the fastest of the rest, those that stayed in the race first. */
    int best = -1;
    *tied = false;
    for (int pass = 0; pass < 2 && best < 0; pass++)
        for (int i = 0; i < playoff->count; i++) {
            struct race_result r = race_result(playoff->race, i);
            if (r.failed || playoff->finalist[i].refused || r.dropped != (pass == 1)) continue;
            if (best < 0 || r.time_us < race_result(playoff->race, best).time_us) best = i;
        }
    return best;
}

void playoff_evidence(const struct playoff *playoff, int runner, struct db_winner *winner)
{
    const struct finalist *f = &playoff->finalist[runner];
    struct race_result r = race_result(playoff->race, runner);
    double anchor_us = race_anchor_us(playoff->race);
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

void playoff_free(struct playoff *playoff)
{
    race_free(playoff->race);
    free(playoff->samples);
    *playoff = (struct playoff){0};
}
