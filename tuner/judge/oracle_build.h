/* oracle_build.h — compiles the judge's own kernels (oracle.cu) into the cache, its parts at the same time:
 * the first run on a machine can do nothing else until they are there. Needs no context of a GPU.
 */
#ifndef GT_ORACLE_BUILD_H
#define GT_ORACLE_BUILD_H

#include "compile.h"
#include "gemm_type.h"

/* Of oracle.cu. */
enum oracle_part { ORACLE_DATA, ORACLE_REFERENCE, ORACLE_VERDICT, ORACLE_PART_COUNT };

struct oracle_build;

/* For the element types of a type of GEMM. cache: folder of compiled kernels; must outlast the build. NULL if
 * out of memory. */
struct oracle_build *oracle_build_start(int arch, const char *cache, enum gemm_type type);

/* Waits for all parts and frees; takes NULL. Errors: those of compile_sources, E_COMPILER if one is refused,
 * E_MEMORY for NULL. */
enum status oracle_build_finish(struct oracle_build *build, struct compiled built[ORACLE_PART_COUNT]);

#endif
