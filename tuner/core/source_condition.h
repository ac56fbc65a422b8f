/* source_condition.h — the macros that are defined at a point of a source, and whether the condition of an
 * #if holds there.
 *
 * A condition is a C integer expression, with macros that expand to expressions. Anything else in it (a macro
 * with arguments, a name that only the compiler knows, a division by 0) makes its value unknown.
 */
#ifndef GT_SOURCE_CONDITION_H
#define GT_SOURCE_CONDITION_H

#include "source_tokens.h"
#include <stdint.h>

#define MACROS_MAX 384

enum macro_kind {
    MACRO_UNDEFINED,
    MACRO_OBJECT,
    MACRO_FUNCTION,
    MACRO_OPEN /* defined or not, depending on a condition whose value is unknown */
};

struct macro {
    struct token name;
    enum macro_kind kind;
    const char *body;   /* MACRO_OBJECT: to the end of its line */
    uint64_t body_hash; /* of the last definition; 0: none */
    int given;          /* index of the key's definition; -1: defined by the source */
};

struct macros {
    struct macro macro[MACROS_MAX];
    int count;
    uint64_t asked; /* bit i: a condition tested the value of definition i of the key */
};

/* NULL if the name has not occurred. */
struct macro *macros_find(struct macros *macros, const struct token *name);

/* The same, but adds a missing name as undefined; NULL if there are too many. */
struct macro *macros_add(struct macros *macros, const struct token *name);

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_OPEN };

/* #ifdef: names that begin with two underscores belong to the compiler, and are open unless they are
 * known. */
enum answer condition_defined(struct macros *macros, const struct token *name);

/* The rest of the line of an #if or #elif. */
enum answer condition_holds(struct macros *macros, const char *at);

#endif
