/* shard.h — which problems of a list one of several machines tunes (--shard): the same on every machine, for
 * it depends on the list alone, neither on GPUs nor on what is known already.
 */
#ifndef GT_SHARD_H
#define GT_SHARD_H

#include "problem.h"
#include "status.h"
#include <stddef.h>
#include <stdint.h>

#define SHARDS_MAX     65536
#define SHARD_HASH_MAX 17

struct shard {
    int number, count; /* 0 <= number < count; count 0: the list is not divided */
};

/* "3/8", from 0/8 to 7/8, as the indices of job arrays count. Errors: E_USAGE (what it is not, or its range).
 */
enum status shard_parse(const char *option, const char *text, struct shard *shard);

/* The time that tuning a problem is expected to take, in milliseconds: that of a usual search at the rates of
 * a GPU that everybody assumes alike. Whole numbers, so that all machines get the same. */
uint64_t shard_expected_ms(const struct problem *problem);

/* Divides a list by expected time: the longest problem first, each to the shard with the least time so far,
 * of equal ones the first (Graham's LPT rule). No shard's time is above the mean by more than its last
 * problem's, and the longest is at most 4/3 of what the best division has. texts: of the problems, for equal
 * times, so that the order of the list does not matter; all differ. shard_of: out, of each problem. Errors:
 * E_MEMORY. */
enum status shard_divide(const uint64_t *ms, const char *const *texts, size_t count, int shards,
                         int *shard_of);

/* Divides a list of problems and leaves the shard's own, in their order. weights: as tune_options has them,
 * NULL: all alike; they are divided, too. hash: out, of the list's problems with their weights: 16
 * hexadecimal digits, whatever their order. Errors: E_MEMORY. */
enum status shard_take(const struct shard *shard, struct problem *problems, double *weights, size_t *count,
                       char hash[SHARD_HASH_MAX]);

#endif
