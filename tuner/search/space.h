/* space.h — the legal candidates for a problem on a GPU: values worth trying (configs/spaces) filtered by the
 * rules.
 *
 * A space file is INI: sections `[TEMPLATE]` or `[TEMPLATE some words]`, one line per parameter, `NAME = v v
 * v ; reason`; an indented line continues the one above. Each section spans the product of its lines, and the
 * space is the union of its sections, because few rows need other tiles than many. A line that a later
 * section omits is taken from the template's first section, which must list every parameter, except those
 * that are optional (template.h). `NAME = first 4 2 1` takes, for each combination of the parameters listed
 * before it, the first value with which a legal configuration is left (the widest legal vector). The file is
 * about what is worth trying; the template says what is correct.
 *
 * A space may have far more legal candidates than can be listed in a second. Then a sample is listed, in
 * which each candidate of a section is as likely to be as any other, and which is the same each time. The
 * neighbours of a candidate are mostly not in the sample, and without them no search could descend:
 * space_reach finds them one by one, and a search asks for those of what is fast (neighbours.h). Thinning
 * only the parameters that matter least would leave whole neighbourhoods of the others, but which these are
 * nobody knows of a new kernel; and keeping what a model likes best would make the search as blind as the
 * model.
 */
#ifndef GT_SPACE_H
#define GT_SPACE_H

#include "config.h"
#include "gpu.h"
#include "problem.h"
#include "status.h"
#include <stdbool.h>

#define SPACE_VALUES_MAX     64      /* values a parameter */
#define SPACE_CANDIDATES_MAX 1000000 /* about 100 MiB: a bound on memory, far above what a search can try */

struct space; /* what a file said */

/* Candidates of one problem: config[0..count), and how many combinations the file spans. */
struct candidates {
    struct config *config;
    size_t count;
    double raw_count; /* combinations before the rules; a double, since products overflow */
    double checks;    /* times that the rules were asked: what the walk costs, on whatever machine */
    double legal;     /* those that there are; about, if this is a sample */
    bool sampled;     /* config holds a sample of them */
};

/* Errors: E_IO, E_INPUT with file:line and reason (unknown template or parameter, value out of range, missing
 * line), E_MEMORY. */
enum status space_load(const char *path, struct space **space);

/* The union of the space files of all families (struct template: space) in the order of the table. A file
 * that is not in the folder is looked for in the folders of families from outside of the tree; what has none
 * anywhere is not searched. Errors: as of space_load; E_IO, too, if no family has one. */
enum status space_load_all(const char *folder, struct space **space);

/* Sections of a text in the form of a space file, called `name` in messages, behind those of *space, or, if
 * that is NULL, alone. Errors: as of space_load; *space stays. */
enum status space_add(const char *name, const char *text, struct space **space);
void space_free(struct space *space); /* takes NULL */

/* Enumerate in a fixed order: sections as in the file, values as in their lines, the template's last
 * parameter fastest. No duplicates: of one section's candidates with the same kernel whose launches are
 * alike, too (a SPLIT_K beyond what K allows), only the first is kept. None takes more than workspace_bytes
 * (workspace.h). Of a section with too many a sample. Errors: E_MEMORY; E_INPUT when many sections together
 * have more than SPACE_CANDIDATES_MAX, or cannot be enumerated in time; E_ABSENT when nothing is legal (with
 * the commonest reason of the rules). The caller frees with candidates_free. */
enum status space_enumerate(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                            int64_t workspace_bytes, struct candidates *candidates);
void candidates_free(struct candidates *candidates); /* takes a zeroed struct too */

/* The candidate, be it in a sample or not, that has these values, except that `first` parameters follow from
 * the others, and that of launch-time values that give the same launch it has those before in the lines.
 * false: there is none. redundant_too: one that is not listed because it is redundant (template.h) counts. */
bool space_reach(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                 int64_t workspace_bytes, bool redundant_too, struct config *config);

/* All candidates with these compile-time values, `first` ones again as they follow, and redundant ones: the
 * launches of a kernel.
 * Errors: E_MEMORY. None is no error. The caller frees with candidates_free. */
enum status space_launches(const struct space *space, const struct problem *problem, const struct gpu *gpu,
                           int64_t workspace_bytes, const struct config *config,
                           struct candidates *candidates);

#endif
