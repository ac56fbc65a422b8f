#include "invariant.h"

int invariant_parts(int64_t n, int64_t k)
{
    const int64_t columns = (n + INVARIANT_COLUMNS - 1) / INVARIANT_COLUMNS;
    int parts = 1;
    while (parts < INVARIANT_PARTS_MAX && columns * parts < INVARIANT_BLOCKS &&
           k / (2 * parts) >= INVARIANT_PART_K_LEAST)
        parts *= 2;
    return parts;
}

int64_t invariant_part_k(int64_t n, int64_t k)
{
    const int64_t units = (k + INVARIANT_UNIT - 1) / INVARIANT_UNIT, parts = invariant_parts(n, k);
    return (units + parts - 1) / parts * INVARIANT_UNIT;
}
