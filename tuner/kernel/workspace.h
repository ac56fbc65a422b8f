/* workspace.h — how much device memory a configuration may use besides its operands: for the parts of
 * split-K, and for packed operands. A template's own limit is more than a program should have to provide;
 * search and runtime keep to the user's limit, by default this one.
 */
#ifndef GT_WORKSPACE_H
#define GT_WORKSPACE_H

#include "config.h"
#include "problem.h"
#include "status.h"

#define WORKSPACE_DEFAULT_BYTES (INT64_C(64) << 20)
#define WORKSPACE_PIECES_BYTES  (INT64_C(1) << 30) /* instead of the default, for accuracy classes */
#define WORKSPACE_VARIABLE      "GEMMTUNE_WORKSPACE"

/* Bytes of workspace of a legal configuration for a problem. */
int64_t workspace_of(const struct config *config, const struct problem *problem);

/* A limit as it holds for a problem. Kernels for accuracy classes split their operands into pieces, half as
 * large again: the default limit, which is meant for parts of sums, is a larger one for them. Any other limit
 * holds as it is. */
int64_t workspace_allowed(const struct problem *problem, int64_t most_bytes);

/* Why a legal configuration may not be used with this many bytes of workspace; NULL if it may. A constant
 * sentence. */
const char *workspace_refuses(const struct config *config, const struct problem *problem, int64_t most_bytes);

/* A number of bytes (number_size). source names the origin of the text in messages: "--workspace". Errors:
 * E_USAGE. */
enum status workspace_parse(const char *source, const char *text, int64_t *bytes);

/* The value of GEMMTUNE_WORKSPACE; WORKSPACE_DEFAULT_BYTES where it is not set or not understood. */
int64_t workspace_from_environment(void);

#endif
