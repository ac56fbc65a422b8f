/* env.h — safe access to the environment; the only module that reads it. */
#ifndef GT_ENV_H
#define GT_ENV_H

#include <stdlib.h>

/* The value of a variable. NULL where it is not set, and always in a set-uid or set-gid program (AT_SECURE):
 * there the environment comes from a user with fewer rights, and our variables name libraries to load and
 * files to read. */
static inline const char *env_text(const char *name)
{
    return secure_getenv(name);
}

#endif
