/* json_pick.h — some members of a JSON object, read many times as fast as by reading all of it: for files of
 * many lines of which a program needs a part.
 */
#ifndef GT_JSON_PICK_H
#define GT_JSON_PICK_H

#include <jansson.h>
#include <stddef.h>

/* A new object with those members of the text's object that are wanted (NULL ends the list; NULL itself:
 * all), equal to what json_loadb with JSON_REJECT_DUPLICATES reads. NULL: the text is no object, or one that
 * only jansson reads (escapes, letters beyond ASCII, exponents), or memory is short: then ask json_loadb,
 * which says what is wrong. */
json_t *json_pick(const char *text, size_t length, const char *const *wanted);

#endif
