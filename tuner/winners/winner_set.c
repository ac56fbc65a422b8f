#include "winner_store.h"

#include <stdlib.h>

#define CONFIGS_MAX (1 << 20)

/* Hashes only the values. This is cheaper than config_hash, which hashes the text form so that the result is
 * the same on every machine. */
static size_t hash_of(const struct config *config)
{
    uint64_t hash = (uintptr_t)config->template;
    for (int i = 0; i < CONFIG_PARAMS_MAX; i++)
        hash = (hash ^ (uint64_t)config->value[i]) * UINT64_C(0xff51afd7ed558ccd), hash ^= hash >> 32;
    return (size_t)hash;
}

static enum status grow_places(struct winner_set *set)
{
    size_t wanted = set->place_count ? 2 * set->place_count : 64;
    int *places = calloc(wanted, sizeof *places);
    if (!places) return fail(E_MEMORY, "out of memory while reading winners");
    for (int i = 0; i < set->config_count; i++) {
        size_t at = hash_of(&set->configs[i]) & (wanted - 1);
        while (places[at]) at = (at + 1) & (wanted - 1);
        places[at] = i + 1;
    }
    free(set->places);
    set->places = places;
    set->place_count = wanted;
    return OK;
}

enum status winner_set_config(struct winner_set *set, const struct config *config, int *index)
{
    enum status st = 2 * (size_t)set->config_count >= set->place_count ? grow_places(set) : OK;
    if (st) return st;
    size_t at = hash_of(config) & (set->place_count - 1);
    for (; set->places[at]; at = (at + 1) & (set->place_count - 1)) {
        *index = set->places[at] - 1;
        if (config_equal(&set->configs[*index], config)) return OK;
    }
    if (set->config_count == set->config_room) {
        int room = set->config_room ? 2 * set->config_room : 32;
        struct config *grown =
            room <= CONFIGS_MAX ? realloc(set->configs, (size_t)room * sizeof *grown) : NULL;
        if (!grown) return fail(E_MEMORY, "out of memory while reading winners");
        set->configs = grown;
        set->config_room = room;
    }
    *index = set->config_count++;
    set->configs[*index] = *config;
    set->places[at] = *index + 1;
    return OK;
}

enum status winner_set_add(struct winner_set *set, const struct stored_winner *winner)
{
    if (set->count == set->room) {
        size_t room = set->room ? 2 * set->room : 64;
        struct stored_winner *grown = realloc(set->winners, room * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory while reading winners");
        set->winners = grown;
        set->room = room;
    }
    set->winners[set->count++] = *winner;
    return OK;
}

void winner_set_free(struct winner_set *set)
{
    free(set->winners);
    free(set->configs);
    free(set->places);
    *set = (struct winner_set){.count = 0};
}
