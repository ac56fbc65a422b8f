/* workspace.h — how much device memory a configuration may use besides its operands: for the parts of
 * split-K, and for packed operands. A template's own limit is more than a program should have to provide;
 * search and runtime keep to the user's limit, or to a default.
 */
#ifndef GT_WORKSPACE_H
#define GT_WORKSPACE_H

#include "config.h"
#include "problem.h"
#include "status.h"

#define WORKSPACE_DEFAULT  INT64_C(-1) /* a limit that nobody has set, which depends on the type */
#define WORKSPACE_VARIABLE "GEMMTUNE_WORKSPACE"

/* Bytes of workspace of a legal configuration for a problem. */
int64_t workspace_of(const struct config *config, const struct problem *problem);

/* A limit in bytes, as it holds for a problem. The default is 64 MiB for strict FP32, which is meant for
 * parts of sums, and 1 GiB for other types: kernels for tensor cores may need copies of their operands,
 * packed ones where TMA cannot read them (two of 4095 x 4097 in BF16 take 68 MB), or pieces, half as large
 * again. */
int64_t workspace_allowed(const struct problem *problem, int64_t most_bytes);

/* Why a legal configuration may not be used with this many bytes of workspace; NULL if it may. A constant
 * sentence. */
const char *workspace_refuses(const struct config *config, const struct problem *problem, int64_t most_bytes);

/* A number of bytes (number_size). source names the origin of the text in messages: "--workspace". Errors:
 * E_USAGE. */
enum status workspace_parse(const char *source, const char *text, int64_t *bytes);

/* The value of GEMMTUNE_WORKSPACE in bytes; WORKSPACE_DEFAULT where it is not set or not understood. */
int64_t workspace_from_environment(void);

#endif
