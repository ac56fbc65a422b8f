#include "accuracy.h"

static bool is_within(double own, double rival, double limit, double roundoff)
{
    return limit == 0 || own <= limit * rival || own <= roundoff;
}

bool accuracy_answers(const struct gemm_type_row *row, const struct accuracy *own,
                      const struct accuracy *rival)
{
    return is_within(own->componentwise, rival->componentwise, row->componentwise_limit, row->c_roundoff) &&
           is_within(own->rms, rival->rms, row->rms_limit, row->c_roundoff) &&
           is_within(own->max, rival->max, row->max_limit, row->c_roundoff);
}
