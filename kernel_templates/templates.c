/* templates.c — the table of all kernel templates. */
#include "template.h"

extern const struct template template_simt, template_skinny, template_resident, template_tall;
extern const struct template template_ladder_naive, template_ladder_coalesced, template_ladder_shared,
    template_ladder_blocktile_1d, template_ladder_blocktile_2d, template_ladder_vectorized,
    template_ladder_double_buffered, template_ladder_warptiled;

const struct template *const templates[] = {
    &template_simt,
    &template_skinny,
    &template_resident,
    &template_tall,
    &template_ladder_naive,
    &template_ladder_coalesced,
    &template_ladder_shared,
    &template_ladder_blocktile_1d,
    &template_ladder_blocktile_2d,
    &template_ladder_vectorized,
    &template_ladder_double_buffered,
    &template_ladder_warptiled,
};
const size_t template_count = sizeof templates / sizeof *templates;
_Static_assert(sizeof templates / sizeof *templates <= TEMPLATES_MAX, "TEMPLATES_MAX is too small");
