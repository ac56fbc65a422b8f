/* enumeration.h — the inside of the enumeration of a space, shared by enumerate.c (the walk), extent.c (how
 * much there is, and what a sample takes) and reach.c (single candidates). No other file includes it.
 */
#ifndef GT_ENUMERATION_H
#define GT_ENUMERATION_H

#include "space_values.h"

#include "template.h"
#include <stdatomic.h>

#define CHECKS_MAX  2e8 /* some tens of seconds: beyond this the file is wrong, not the machine slow */
#define REASONS_MAX 64

/* The bytes of a launch that can differ between candidates of one kernel: its grids, and then the argument.
 */
enum { GRIDS_BYTES = LAUNCH_KERNELS_MAX * 3 * sizeof(unsigned) };

/* Counts of all parts of a section that are walked at the same time: the limits are for all together. */
struct enumerated {
    atomic_size_t candidates;
    atomic_llong checks;
};

struct enumeration {
    const struct space_section *section;
    const struct problem *problem;
    const struct gpu *gpu;
    int64_t workspace_bytes;
    double below[CONFIG_PARAMS_MAX + 1]; /* combinations of the parameters from that one on */
    const struct config *wanted;         /* only candidates with its kernel; NULL: all */
    bool redundant_too;                  /* what template.h calls redundant is a candidate, too */
    double share[CONFIG_PARAMS_MAX];     /* of the values of each parameter that are taken; 1: all */
    struct config config;
    struct candidates *out;
    size_t room;
    bool full;               /* out has no more room */
    struct config kernel;    /* that of the last candidate */
    unsigned char *launches; /* of all its candidates so far, one after the other */
    size_t launch_bytes;     /* of one */
    size_t launch_count, launch_room;
    double checks, checks_most;
    struct enumerated *total; /* with the other parts; NULL: there are none */
    double checks_told;       /* of checks, to total */
    struct {
        const char *why; /* the rules give constant sentences: compared by address */
        double count;
    } reason[REASONS_MAX];
    int reason_count;
    struct parts *parts; /* where a walk leaves what begins with its first ENUMERATION_FIRST values; NULL: it
                            goes on */
};
enum { ENUMERATION_FIRST = 2 };

/* Before a section is walked. */
void enumeration_begin(struct enumeration *w, const struct space_section *section);

/* Why no legal candidate begins with the first p + 1 values; NULL: one may. */
const char *enumeration_refusal(struct enumeration *w, int p);

/* The first p + 1 values are legal, and left out because the section lists others that do as well. */
bool enumeration_is_redundant(const struct enumeration *w, int p);

/* The hash of a prefix from that of the one that is a value shorter (0: of none), and whether a share takes
 * it. */
uint64_t enumeration_hash(uint64_t hash, int32_t value);
bool enumeration_takes(uint64_t hash, double share);

/* The bytes that distinguish launches of a kernel: GRIDS_BYTES, and the bytes of the argument. */
void enumeration_launch(const struct launch_plan *plan, unsigned char *at);

/* How much there is of a section, about. */
struct extent {
    bool sampled;                    /* too much for a walk */
    double nodes[CONFIG_PARAMS_MAX]; /* legal prefixes of each length; the last: candidates */
};

/* Errors: E_MEMORY. */
enum status extent_measure(struct enumeration *w, const struct space_section *section, struct extent *extent);

/* After enumeration_begin: the shares of a sample. sampled: sections among which it is divided. Returns the
 * share of all candidates. */
double extent_shares(struct enumeration *w, const struct extent *extent, int sampled);

#endif
