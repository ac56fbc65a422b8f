/* source_tokens.h — the tokens of CUDA C++, one after the other, without copying: names, numbers, literals
 * and punctuation. Comments and spliced lines are white space between them.
 *
 * Any bytes up to a NUL can be read. A name that is cut by a spliced line counts as two, and raw strings are
 * not supported: a caller that relies on the tokens must refuse them (token_is_raw_string).
 */
#ifndef GT_SOURCE_TOKENS_H
#define GT_SOURCE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_LITERAL, TOKEN_PUNCTUATION };

struct token {
    const char *begin;
    size_t length;
    enum token_kind kind;
    bool first_of_line; /* a line ends before it, or the text begins with it */
    bool after_blank;   /* white space or a comment precedes it */
};

/* The first token at or after `at`, which is the beginning of a text or the end of a token. */
struct token token_at(const char *at, bool begins);

static inline const char *token_end(const struct token *t)
{
    return t->begin + t->length;
}

bool token_is(const struct token *t, const char *text);
bool token_equal(const struct token *x, const struct token *y);

/* R"(...)" and the like: `name` directly precedes a literal. */
bool token_is_raw_string(const struct token *name);

#endif
