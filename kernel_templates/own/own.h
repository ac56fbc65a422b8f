/* own.h — kernels that no family of the program has: a source and its description become a template
 * (template.h), which joins the table while the program runs.
 *
 * A kernel's text is everything that it consists of, in one string: the source, the files beside it that this
 * includes, the description. It is what child processes are given and databases store; own_read.h makes it of
 * files. The template's name is NAME@HASH, and HASH is of the text without comments, white space and the
 * values of parameters: another text is another kernel. What was added stays until the process ends.
 */
#ifndef GT_OWN_H
#define GT_OWN_H

#include "describe.h"
#include "template.h"

#define OWN_TEXT_MAX  (4 << 20) /* bytes, NUL included */
#define OWN_FILES_MAX 24
#define OWN_NAME_MAX  48 /* the name of a space's section has 49 */

/* Adds the kernel of a text to the table; one that is there stays as it is. *added: its template. Errors:
 * E_INPUT (no such text, or its description is wrong: file, line, column and what was expected), E_MEMORY,
 * E_BUSY (the table is full). Thread-safe. */
enum status own_add(const char *text, const struct template **added);

/* A template that joins no table, and its end (takes NULL). Errors: as own_add, but for E_BUSY. */
enum status own_make(const char *text, struct template **made);
void own_free(struct template *made);

/* own_add for whoever has no use for the template. */
enum status own_take(const char *text);

/* NULL: it is no kernel of that kind. Its text is the template's member `own`. */
const struct description *own_description(const struct template *t);

/* Its values worth trying, in the form of a space file (tuner/search/space.h); malloc'ed, NULL out of memory.
 * fixed: NULL, or values of parameters that are the only ones; below 0: not this one. */
char *own_space(const struct template *t, const int32_t *fixed);

#endif
