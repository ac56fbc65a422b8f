#include "entries.h"

#include <inttypes.h>
#include <string.h>

enum passed { ADDRESS, SCALAR, INTEGER };

static enum passed passed_at(const struct launch_plan *plan, unsigned at)
{
    const struct launch_slots *const s = &plan->slots;
    for (int i = 0; i < OPERANDS; i++)
        if (at == s->at[i]) return ADDRESS;
    if (at == s->workspace) return ADDRESS;
    return at == s->alpha || at == s->beta ? SCALAR : INTEGER;
}

/* Integers lie there in 8 bytes: the first 4 are the same number, if it fits. */
static enum status compare(const struct launch_plan *plan, const struct kernel_launch *k, int number,
                           int bytes)
{
    const unsigned at = k->own.at[number];
    int64_t value = 0;
    switch (passed_at(plan, at)) {
    case ADDRESS:
        if (bytes == 8) return OK;
        return fail(E_ABSENT, "parameter %d of the kernel %.80s has %d bytes, and an address of 8 is passed",
                    number + 1, k->entry, bytes);
    case SCALAR:
        if (bytes == 4) return OK;
        return fail(E_ABSENT, "parameter %d of the kernel %.80s has %d bytes, and a float is passed",
                    number + 1, k->entry, bytes);
    case INTEGER:
        break;
    }
    memcpy(&value, plan->argument + at, sizeof value);
    if (bytes == 8 || (bytes == 4 && value >= INT32_MIN && value <= INT32_MAX)) return OK;
    if (bytes == 4)
        return fail(E_ABSENT,
                    "parameter %d of the kernel %.80s has 4 bytes, into which %" PRId64 " does not fit",
                    number + 1, k->entry, value);
    return fail(E_ABSENT, "parameter %d of the kernel %.80s has %d bytes, and an integer of 4 or 8 is passed",
                number + 1, k->entry, bytes);
}

enum status entries_find(const void *cubin, size_t bytes, struct launch_plan *plan, struct entries *entries)
{
    enum status st = OK;
    for (int i = 0; i < plan->kernels && !st; i++) {
        struct kernel_launch *const k = &plan->kernel[i];
        uint16_t sizes[CUBIN_PARAMETERS_MAX];
        if (k->own.count == 0) continue;
        const int found = cubin_find(cubin, bytes, k->entry, entries->symbol[i]);
        if (found != 1)
            return fail(E_ABSENT, "the compiled file has %d kernels called %.80s", found, k->entry);
        const int count = cubin_parameters(cubin, bytes, entries->symbol[i], sizes);
        if (count != k->own.count)
            return fail(E_ABSENT, "the kernel %.80s takes %d parameters, and %d are passed", k->entry, count,
                        k->own.count);
        for (int j = 0; j < count && !st; j++) st = compare(plan, k, j, sizes[j]);
        k->entry = entries->symbol[i];
    }
    return st;
}
