/* utf8.h — converts texts of unknown origin (paths, messages of libraries, truncated texts) to valid UTF-8,
 * which JSON requires.
 */
#ifndef GT_UTF8_H
#define GT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define UTF8_MARK "\xef\xbb\xbf" /* that some editors put at the start of a file */

/* Bytes of the character at text (shortest form, no surrogates, at most U+10FFFF); 0 if it is none or the
 * end. */
size_t utf8_length(const char *text);

bool utf8_valid(const char *text);

/* Copy text into room bytes, cut between two characters if it is longer; each byte that is no part of one
 * becomes U+FFFD. */
void utf8_copy(char *valid, size_t room, const char *text);

#endif
