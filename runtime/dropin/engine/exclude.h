/* exclude.h — problems that always go to cuBLAS: GEMMTUNE_EXCLUDE.
 *
 * Texts of problems (problem.h), separated by commas or newlines, or @FILE with such texts; '#' starts a
 * comment, so that a capture is a valid file. A text with *, ? or [ is a pattern for the whole of a problem's
 * full text (sgemm:nt:*).
 */
#ifndef GT_EXCLUDE_H
#define GT_EXCLUDE_H

#include <stdbool.h>

/* Call it once, before exclude_has. say is called for each invalid text, and for a file that cannot be read;
 * the other texts count. */
void exclude_start(const char *value, void (*say)(const char *why));

/* Thread-safe. text: the full form. */
bool exclude_has(const char *text);

#endif
