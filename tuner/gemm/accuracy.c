#include "accuracy.h"

#include <float.h>
#include <math.h>

static bool is_within(double own, double rival, double limit, double roundoff)
{
    return limit == 0 || own <= limit * rival || own <= roundoff;
}

double accuracy_bound(int64_t k)
{
    return ldexp((double)k + 160, -24);
}

bool accuracy_answers(const struct gemm_type_row *row, const struct accuracy *own,
                      const struct accuracy *rival)
{
    return is_within(own->componentwise, rival->componentwise, row->componentwise_limit, row->c_roundoff) &&
           is_within(own->rms, rival->rms, row->rms_limit, row->c_roundoff) &&
           is_within(own->max, rival->max, row->max_limit, row->c_roundoff);
}

struct accuracy accuracy_unknown(void)
{
    return (struct accuracy){NAN, NAN, NAN};
}

bool accuracy_is_known(const struct accuracy *accuracy)
{
    return !isnan(accuracy->componentwise) && !isnan(accuracy->rms) && !isnan(accuracy->max);
}

/* JSON has no infinity. */
static double bounded(double x)
{
    return isfinite(x) ? x : DBL_MAX;
}

json_t *accuracy_to_json(const struct accuracy *accuracy)
{
    if (!accuracy_is_known(accuracy)) return NULL;
    return json_pack("{s:f, s:f, s:f}", "componentwise", bounded(accuracy->componentwise), "rms",
                     bounded(accuracy->rms), "max", bounded(accuracy->max));
}

bool accuracy_from_json(const json_t *json, struct accuracy *accuracy)
{
    *accuracy = accuracy_unknown();
    if (!json) return true;
    const struct accuracy x = {json_number_value(json_object_get(json, "componentwise")),
                               json_number_value(json_object_get(json, "rms")),
                               json_number_value(json_object_get(json, "max"))};
    const bool numbers = json_is_number(json_object_get(json, "componentwise")) &&
                         json_is_number(json_object_get(json, "rms")) &&
                         json_is_number(json_object_get(json, "max"));
    if (!numbers || x.componentwise < 0 || x.rms < 0 || x.max < 0) return false;
    *accuracy = x;
    return true;
}
