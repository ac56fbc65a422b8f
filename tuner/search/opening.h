/* opening.h — what a search proposes before it knows anything: some candidates far apart, and then the
 * model's favourites of each family that may be the fastest, far from those before, so that no compiler waits
 * for the first result.
 */
#ifndef GT_OPENING_H
#define GT_OPENING_H

#include "config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OPENING_STARTS = 8,
    OPENING_FAVOURITES = 24,
    OPENING_FAMILIES = 16, /* more than there are */
};

struct opening {
    const struct config *candidates;
    size_t count;
    const double *predicted_us; /* NULL: none */
    size_t given[OPENING_STARTS + OPENING_FAVOURITES];
    size_t starts, start_at, favourites;
    struct opening_family {
        const struct template *template;
        size_t given, at, passed; /* looked at before `at`: so many of its candidates */
    } family[OPENING_FAMILIES];
    int families;
};

/* predicted_us: ascending, NULL if the order is no model's. *random: the state of a generator. */
void opening_choose(struct opening *opening, const struct config *candidates, size_t count,
                    const double *predicted_us, uint64_t *random);

/* The next start: one of those that are far apart, or of the favourites. False: there are no more. */
bool opening_start(struct opening *opening, size_t *index);
bool opening_favourite(struct opening *opening, size_t *index);

/* A random candidate of the first `depth`, of those that a model likes more often: their rank is a number in
 * [0, 1) to the third power, so that a tenth of them comes from the first thousandth. */
size_t opening_draw(const double *predicted_us, size_t depth, uint64_t *random);

#endif
