/* extent.c — how much there is of a section, and what a sample takes of it.
 *
 * Of a section with too many legal candidates a sample is taken. A probe follows a thousand prefixes of each
 * length and estimates from them how many there are; then the walk takes such a share of each parameter's
 * values that no length has more prefixes than can be afforded. A hash of the values decides: what is taken
 * is the same each time, each candidate of the section is as likely to be taken as any other, and what is
 * dropped costs nothing below. The first parameters, the tile's, are thinned least.
 */
#include "enumeration.h"

#include <math.h>
#include <stdlib.h>

#define PROBE_RAW   1e9    /* smaller sections are walked as a whole at once */
#define PROBE_NODES 1000   /* prefixes of each length that the probe follows */
#define LOOK_AHEAD  300    /* times that the rules are asked whether a `first` value leads to a candidate */
#define WHOLE_MOST  5e5    /* of sections that are estimated to have more candidates a sample is taken, */
#define CHECKS_MOST 1e7    /* or if the rules must be asked more often to find them */
#define NODES_MOST  80000  /* prefixes of one length in the second walk: what the walk costs */
#define TAKEN_MOST  250000 /* candidates: many launches of the same kernels are cheap */

/* Some legal prefixes of one length, with their hashes. */
struct prefixes {
    struct config *config;
    uint64_t *hash;
    size_t count, room;
};

static bool add_prefix(struct prefixes *x, const struct config *config, uint64_t hash)
{
    if (x->count == x->room) {
        x->room = x->room ? 2 * x->room : 4 * PROBE_NODES;
        struct config *configs = realloc(x->config, x->room * sizeof *configs);
        if (configs) x->config = configs;
        uint64_t *hashes = configs ? realloc(x->hash, x->room * sizeof *hashes) : NULL;
        if (hashes) x->hash = hashes;
        if (!hashes) return false;
    }
    x->config[x->count] = *config;
    x->hash[x->count++] = hash;
    return true;
}

/* Has the prefix before parameter p a candidate? Yes, too, if that takes too long to find out. */
static bool leads_on(struct enumeration *w, int p, int *patience)
{
    if (p == w->section->template->param_count) return true;
    const struct space_values *values = &w->section->values[p];
    for (int i = 0; i < values->count; i++) {
        if (--*patience < 0) return true;
        w->config.value[p] = values->value[i];
        if (!enumeration_refusal(w, p) && leads_on(w, p + 1, patience)) return true;
    }
    return false;
}

/* Lengthens all prefixes by a value. Of a `first` parameter it takes the first value that leads to a
 * candidate. */
static bool lengthen(struct enumeration *w, const struct prefixes *from, int p, struct prefixes *to)
{
    const struct space_values *values = &w->section->values[p];
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        w->config = from->config[i];
        for (int v = 0; v < values->count; v++) {
            int patience = LOOK_AHEAD;
            w->config.value[p] = values->value[v];
            if (enumeration_refusal(w, p)) continue;
            if (enumeration_is_redundant(w, p)) {
                if (values->first) break;
                continue;
            }
            if (values->first && !leads_on(w, p + 1, &patience)) continue;
            if (!add_prefix(to, &w->config, enumeration_hash(from->hash[i], values->value[v]))) return false;
            if (values->first) break;
        }
    }
    return true;
}

/* Leave about PROBE_NODES of them; returns the share. */
static double thin(struct prefixes *x)
{
    const double share = fmin(1, PROBE_NODES / fmax((double)x->count, 1));
    size_t kept = 0;
    for (size_t i = 0; i < x->count; i++) {
        if (!enumeration_takes(x->hash[i], share)) continue;
        x->config[kept] = x->config[i];
        x->hash[kept++] = x->hash[i];
    }
    x->count = kept;
    return share;
}

/* How many legal prefixes there are of each length, about; [param_count - 1]: candidates. */
static enum status estimate(struct enumeration *w, double nodes[CONFIG_PARAMS_MAX])
{
    struct prefixes known = {0}, longer = {0};
    double stands_for = 1;
    bool good = add_prefix(&known, &w->config, 0);
    for (int p = 0; p < w->section->template->param_count && good; p++) {
        good = lengthen(w, &known, p, &longer);
        nodes[p] = stands_for * (double)longer.count;
        stands_for /= thin(&longer);
        const struct prefixes other = known;
        known = longer;
        longer = other;
    }
    free(known.config);
    free(known.hash);
    free(longer.config);
    free(longer.hash);
    return good ? OK : fail(E_MEMORY, "out of memory while a space is sampled");
}

enum status extent_measure(struct enumeration *w, const struct space_section *section, struct extent *extent)
{
    const int params = section->template->param_count;
    double checks = 0;
    enumeration_begin(w, section);
    if (w->below[0] <= PROBE_RAW) return OK;
    enum status st = estimate(w, extent->nodes);
    w->out->checks += w->checks;
    for (int p = 1; p < params; p++) checks += extent->nodes[p - 1] * section->values[p].count;
    extent->sampled = extent->nodes[params - 1] > WHOLE_MOST || checks > CHECKS_MOST;
    return st;
}

/* Shares that leave no more prefixes of any length than can be afforded. Of `first` values all are needed,
 * since which one is taken depends on them. Returns their product. */
double extent_shares(struct enumeration *w, const struct extent *extent, int sampled)
{
    const struct template *t = w->section->template;
    double whole = 1;
    for (int p = 0; p < t->param_count; p++) {
        const double most = (t->params[p].kind == PARAM_LAUNCH ? TAKEN_MOST : NODES_MOST) / sampled;
        if (w->section->values[p].first) continue;
        w->share[p] = fmin(1, most / fmax(whole * extent->nodes[p], 1));
        whole *= w->share[p];
    }
    return whole;
}
