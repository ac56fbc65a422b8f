/* survey.h — which of NVIDIA's software and hardware this machine has, and what to do about missing parts.
 *
 * Each part is checked in a separate process, so that a driver or library that crashes or hangs becomes a
 * finding. The caller's process loads none of them.
 */
#ifndef GT_SURVEY_H
#define GT_SURVEY_H

#include "status.h"
#include <jansson.h>
#include <stdbool.h>

/* One line of the report; *findings is an array of such objects, see survey_finding. */
json_t *survey_finding(const char *item, bool found, const char *version, const char *detail,
                       const char *advice);

/* Findings in this order: "driver", "GPU 0", ... (none without a driver), "NVML", "NVRTC", "cuBLAS". found of
 * NVRTC means that it compiled a kernel. New reference. Errors: E_MEMORY, E_CHILD (no process could be
 * started). */
enum status survey_machine(json_t **findings);

#endif
