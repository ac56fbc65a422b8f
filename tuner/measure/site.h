/* site.h — everything needed to test candidates on one GPU for one problem: operands, reference results,
 * timer.
 *
 * Prepared once per problem; all its trials, race blocks and verifications use it.
 */
#ifndef GT_SITE_H
#define GT_SITE_H

#include "measure.h"
#include "oracle.h"

struct site {
    struct device *device;
    const char *cache; /* the caller's */
    struct oracle_kernels kernels;
    struct stopwatch watch;
    bool ready; /* a problem is prepared: what follows is valid */
    struct problem problem;
    bool cold; /* cache policy asked for */
    uint64_t seed;
    struct workload work;
    struct oracle oracle;
};

/* Load the judge's kernels and the clock. site must stay where it is from then on. cache: folder of compiled
 * kernels; it must stay, too. */
enum status site_open(struct device *device, const char *cache, struct site *site);
void site_close(struct site *site); /* takes a zeroed struct too */

/* Free what the former problem held, then fill operands and compute references. Errors: E_GPU, with the sizes
 * when memory does not suffice. */
enum status site_prepare(struct site *site, const struct problem *problem, bool cold, uint64_t seed);
void site_clear(struct site *site); /* forget the problem */

#endif
