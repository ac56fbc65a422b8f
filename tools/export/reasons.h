/* reasons.h — how many winners were left out for which reason: a line for each on the screen, not for each
 * winner.
 */
#ifndef GT_EXPORT_REASONS_H
#define GT_EXPORT_REASONS_H

#include "status.h"
#include <stdint.h>

struct reason {
    char *text;
    int64_t count;
};

struct reasons {
    struct reason *list;
    int count;
};

/* One more of this reason. Errors: E_MEMORY. */
enum status reasons_add(struct reasons *reasons, const char *text);

/* On standard error, the most frequent first; sorts them. */
void reasons_say(struct reasons *reasons);

void reasons_free(struct reasons *reasons); /* takes a zeroed struct */

#endif
