/* json_pull.h — a pull parser for large JSON texts: only requested members become a json_t, and a truncated
 * text is valid up to its last complete value.
 *
 *     struct pull p = {text, text + length};
 *     if (pull_enter(&p, '{'))
 *         while (pull_key(&p, key, sizeof key))
 *             strcmp(key, "results") == 0 ? pull_skip(&p) : (value = pull_value(&p));
 *
 * After the first member that is missing or no JSON every function returns false: see cut and wrong.
 */
#ifndef GT_JSON_PULL_H
#define GT_JSON_PULL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct pull {
    const char *at, *end;
    bool inside;     /* a value ended: a comma comes before the next */
    bool lenient;    /* a key that comes twice in an object is no fault */
    bool cut, wrong; /* the text ended too early; it is not JSON */
    bool twice;      /* wrong because of a key that comes twice */
};

/* Step into an object ('{') or an array ('['). False if there is none here. */
bool pull_enter(struct pull *p, char open);

/* The next key of the object; false at its end, which is stepped over. A longer key is cut. */
bool pull_key(struct pull *p, char *key, size_t room);

/* True if the array has another element; its end is stepped over. */
bool pull_element(struct pull *p);

/* The value here; new reference, NULL if it is not complete or not JSON. */
json_t *pull_value(struct pull *p);

/* Step over the value here, whatever it is; its insides are not checked. */
bool pull_skip(struct pull *p);

/* What comes next, without stepping over it; '\0' at the end. */
char pull_peek(struct pull *p);

#endif
