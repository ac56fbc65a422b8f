/* exclude.h — problems that always go to cuBLAS: GEMMTUNE_EXCLUDE.
 *
 * Texts of problems (problem.h), separated by commas or newlines, or @FILE with such texts; '#' starts a
 * comment, so that a capture is a valid file. A text with *, ? or [ is a pattern for the whole of a problem's
 * full text (sgemm:nt:*).
 */
#ifndef GT_EXCLUDE_H
#define GT_EXCLUDE_H

#include <stdbool.h>

/* Once, before the other. say is called for each text that cannot be understood, and for a file that cannot
 * be read; the rest counts. */
void exclude_start(const char *value, void (*say)(const char *why));

/* From any thread. text: the full form. */
bool exclude_has(const char *text);

#endif
