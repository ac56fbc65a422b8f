#include "accuracy.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_within(double own, double rival, double limit, double roundoff)
{
    return limit == 0 || own <= limit * rival || own <= roundoff;
}

double accuracy_bound(int64_t k)
{
    return ldexp((double)k + 200, -24);
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

double accuracy_over(const struct accuracy *own, const struct accuracy *rival)
{
    const bool known = accuracy_is_known(own) && accuracy_is_known(rival) && rival->rms > 0;
    return known ? own->rms / rival->rms : (double)NAN;
}

/* ---- what the last check measured ---- */

const char *accuracy_checked_format(const struct accuracy_checked *c, char text[ACCURACY_TEXT_MAX])
{
    char others[48] = "";
    text[0] = '\0';
    if (c->kinds == 0) return text;
    if (c->bounded > 0) snprintf(others, sizeof others, ", within its bound on %d", c->bounded);
    snprintf(text, ACCURACY_TEXT_MAX, "error at most %.2f of FP32's on %d kinds of data%s, at %dx%dx%d",
             c->rms, c->kinds, others, c->m, c->n, c->k);
    return text;
}

json_t *accuracy_checked_to_json(const struct accuracy_checked *c)
{
    if (c->kinds == 0) return NULL;
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f}", "kinds", c->kinds, "bounded", c->bounded, "m", c->m,
                     "n", c->n, "k", c->k, "rms", bounded(c->rms));
}

static bool take_count(const json_t *json, const char *key, int least, int *count)
{
    const json_t *number = json_object_get(json, key);
    const json_int_t value = json_integer_value(number);
    if (!json_is_integer(number) || value < least || value > INT32_MAX) return false;
    *count = (int)value;
    return true;
}

bool accuracy_checked_from_json(const json_t *json, struct accuracy_checked *checked)
{
    struct accuracy_checked c = {.rms = json_number_value(json_object_get(json, "rms"))};
    *checked = (struct accuracy_checked){.kinds = 0};
    if (!json) return true;
    const bool good = take_count(json, "kinds", 1, &c.kinds) && take_count(json, "bounded", 0, &c.bounded) &&
                      take_count(json, "m", 1, &c.m) && take_count(json, "n", 1, &c.n) &&
                      take_count(json, "k", 1, &c.k);
    if (!good || !json_is_number(json_object_get(json, "rms")) || c.rms < 0) return false;
    *checked = c;
    return true;
}

struct accuracy_claim accuracy_claim_of(const struct accuracy *own, const struct accuracy *rival,
                                        const struct accuracy_checked *checked)
{
    const double rms = accuracy_over(own, rival);
    return (struct accuracy_claim){.rms = isnan(rms) ? 0 : rms, .checked = *checked};
}

const char *accuracy_claim_format(const struct accuracy_claim *claim, bool by_ffma,
                                  char text[ACCURACY_TEXT_MAX])
{
    char uniform[96] = "", checked[ACCURACY_TEXT_MAX];
    if (claim->rms > 0)
        snprintf(uniform, sizeof uniform, "root mean square error %.2f of cuBLAS's on uniform data",
                 claim->rms);
    const char *const parts[] = {by_ffma ? "computed by FFMA" : "", uniform,
                                 accuracy_checked_format(&claim->checked, checked)};
    text[0] = '\0';
    for (int i = 0; i < 3; i++) {
        const size_t used = strlen(text);
        if (parts[i][0]) snprintf(text + used, ACCURACY_TEXT_MAX - used, "%s%s", used ? "; " : "", parts[i]);
    }
    return text;
}
