/* exchange_json.h — reads and writes our own text forms: winners as JSON lines (docs/winners.md), and our
 * additions to a T4 result. The input is untrusted: every value is checked.
 */
#ifndef GT_EXCHANGE_JSON_H
#define GT_EXCHANGE_JSON_H

#include "db_exchange.h"
#include <jansson.h>

/* A winner that can be used as an object. figures: with what GPU descriptors would say of its GPU. New
 * reference; NULL only out of memory. */
json_t *winner_to_json(const struct db_winner *winner, bool figures);

/* The figures of a GPU that are not given are taken from the descriptor of that name in `descriptors` (a
 * folder). *decided_us: when. E_ABSENT: a winner that is right but of no use here (unknown or changed
 * template, refused by the rules), with the reason. Errors: E_INPUT. */
enum status winner_from_json(const json_t *json, const char *descriptors, struct db_winner *winner,
                             int64_t *decided_us);

/* Problem, configuration, versions and outcome of a trial. As above; gpus: an array of gpu_to_json
 * (messages.h), of which a trial names one by its number. */
json_t *trial_to_json(const struct db_full_trial *trial, int gpu);
enum status trial_from_json(const json_t *json, const json_t *gpus, struct db_full_trial *trial);

/* "2026-11-20T12:00:00Z" and the like (a blank for T, fractions, +hh:mm) as microseconds since 1970. Errors:
 * E_INPUT. */
enum status time_parse(const char *text, int64_t *us);

#endif
