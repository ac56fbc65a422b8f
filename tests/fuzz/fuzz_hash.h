/* fuzz_hash.h — HASH-OF-TEMPLATE in seeds: the hash of the plainest kernels of simt, with REDUCE=0 and
 * PACK=0, for sm_90. */
#ifndef GT_FUZZ_HASH_H
#define GT_FUZZ_HASH_H

#include "kernel_hash.h"
#include "template.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static inline void fuzz_put_hash(char *text)
{
    static char hash[17];
    if (!hash[0]) {
        const struct problem problem = problem_make(64, 64, 64);
        struct config plain = {.template = template_find("simt")};
        for (int i = 0; i < plain.template->param_count; i++)
            plain.value[i] = plain.template->params[i].least;
        snprintf(hash, sizeof hash, "%016" PRIx64, kernel_hash_of(&plain, &problem, 90));
    }
    for (char *at = text; (at = strstr(at, "HASH-OF-TEMPLATE"));) memcpy(at, hash, 16);
}

#endif
