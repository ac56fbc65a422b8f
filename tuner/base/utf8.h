/* utf8.h — converts texts of unknown origin (paths, messages of libraries, truncated texts) to valid UTF-8,
 * which JSON requires.
 */
#ifndef GT_UTF8_H
#define GT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define UTF8_MARK "\xef\xbb\xbf" /* byte order mark, which some editors put at the start of a file */

/* Number of bytes of the character at text (shortest form, no surrogates, at most U+10FFFF); 0 at the end, or
 * if it is invalid. */
size_t utf8_length(const char *text);

bool utf8_valid(const char *text);

/* Copies text into `room` bytes. Longer text is cut between two characters; each byte that is not part of a
 * character becomes U+FFFD. */
void utf8_copy(char *valid, size_t room, const char *text);

#endif
