/* problem_texts.h — problems by their text. */
#ifndef GT_PROBLEM_TEXTS_H
#define GT_PROBLEM_TEXTS_H

#include "problem.h"
#include "unit.h"

static inline struct problem problem_of(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    return p;
}

#endif
