/* replay_space.h — spaces that were measured and recorded, as candidates with their times: what a search
 * strategy sees of a GPU, without one.
 *
 * A file of another tuner is one space, of a kernel that is known by its parameters alone: a value becomes
 * its number among those that occur. A file of our own trials (tune export --t4) is a space for each problem,
 * GPU and cache policy, with the configurations themselves and the model's order.
 */
#ifndef GT_REPLAY_SPACE_H
#define GT_REPLAY_SPACE_H

#include "config.h"
#include "gpu.h"
#include "problem.h"
#include "status.h"
#include "template.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_space {
    char name[160]; /* "Xgemm [4096,4096] on NVIDIA GeForce RTX 3090", or the problem and the GPU */
    struct config *config;
    size_t count;
    double *time_us;      /* INFINITY: it failed */
    double *predicted_us; /* the model's, ascending; NULL: there is no model's order */
    size_t failed;        /* of the candidates */
    double best_us;
    bool ours; /* then the problem and the GPU are known */
    struct problem problem;
    struct gpu gpu;
};

/* The kernel of another tuner: nothing but names of parameters. */
struct made_template {
    struct template template;
    struct param param[CONFIG_PARAMS_MAX];
    json_t *name[CONFIG_PARAMS_MAX];   /* whose texts the parameters use */
    json_t *values[CONFIG_PARAMS_MAX]; /* of each: the values that occur, in the order of their numbers */
};

/* All spaces of a file; each has a candidate with a time. */
struct replay_spaces {
    struct replay_space *space;
    size_t count;
    int64_t repeated; /* results for a configuration that had one: the last counts */
    int64_t
        left_out; /* entries that are no results or have no time, and failures of a space that has no time */
    bool cut;     /* the file ends in the middle */
    struct made_template *made;
};

/* Errors: E_IO, E_INPUT (no file of results, damaged, nothing in it has a time, too many parameters),
 * E_MEMORY.
 */
enum status replay_read(const char *path, struct replay_spaces *spaces);
void replay_free(struct replay_spaces *spaces); /* takes a zeroed struct */

/* Order of two values of a parameter of another tuner: nothing, false, true, numbers, texts. */
int replay_compare_values(const json_t *x, const json_t *y);

#endif
