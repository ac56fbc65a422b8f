/* env.h — the environment: the only module that reads it, and the table of our variables (env.c). An empty
 * variable counts as unset. One that is not understood is replaced by what the table says, and reported.
 */
#ifndef GT_ENV_H
#define GT_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a variable. NULL where it is not set or empty, and always in a set-uid or set-gid program
 * (AT_SECURE): there the environment comes from a user with fewer rights, and our variables name libraries to
 * load and files to read. */
const char *env_text(const char *name);

/* Neither empty nor 0: for variables of NVIDIA's libraries. */
bool env_is_nonzero(const char *name);

/* ---- ours: each of a name in the table ---- */

bool env_is_on(const char *name);

/* The number of a choice in the table. */
int env_choice(const char *name);
enum { ENV_DROPIN_EXACT, ENV_DROPIN_NEAREST, ENV_DROPIN_OFF }; /* GEMMTUNE_DROPIN */
enum { ENV_STRICT, ENV_ACCURATE, ENV_NORMWISE, ENV_TF32 };     /* GEMMTUNE_ACCURACY */
enum { ENV_DB_SAFE_AUTO, ENV_DB_SAFE_OFF, ENV_DB_SAFE_ON };    /* GEMMTUNE_DB_SAFE */

/* Bytes of a size, or of a number of MiB. False: unset or not understood, and *bytes is unchanged. */
bool env_bytes(const char *name, int64_t *bytes);

/* As env_bytes. */
bool env_seconds(const char *name, double *seconds);

/* ---- what was understood ---- */

#define ENV_SAID_MAX 256

/* A variable that is set: how it is understood, or why it is not and what is used instead; the value is
 * quoted. */
struct env_finding {
    char name[64];
    bool understood;
    char said[ENV_SAID_MAX];
};

/* The n-th variable that is set: those of the table, then others whose names begin with GEMMTUNE_. False:
 * there are fewer. */
bool env_finding(size_t n, struct env_finding *finding);

/* The finding of one variable; false: it is not set. */
bool env_find(const char *name, struct env_finding *finding);

/* Says once in a process which variables of the table are not understood or not used. */
void env_report(void (*say)(const char *line));

#endif
