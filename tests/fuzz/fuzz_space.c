/* Space files: values that are read are possible ones, and what is enumerated of a small space is legal, each
 * once. */
#include "fuzz.h"
#include "fuzz_h200.h"
#include "space_values.h"
#include "template.h"

#include <stdlib.h>
#include <string.h>

#define COMBINATIONS_MAX 20000 /* that are walked */

const char *const fuzz_words[] = {"[simt]\n",
                                  "[simt large]\n",
                                  "[skinny]\n",
                                  "[ladder_naive]\n",
                                  "[",
                                  "]",
                                  " = ",
                                  " first",
                                  " ; ",
                                  ";",
                                  "#",
                                  "\n  ",
                                  "\n\t",
                                  "BM = ",
                                  "BN = 64 128\n",
                                  "SPLIT_K = 1 2 4\n",
                                  "GROUP = 1\n",
                                  "STAGES = 2",
                                  "VA = first 4 2 1\n",
                                  "\xef\xbb\xbf",
                                  " 64",
                                  " 1 1",
                                  "=\n",
                                  "\r\n",
                                  NULL};

static double combinations(const struct space *space)
{
    double sum = 0;
    for (int s = 0; s < space->section_count; s++) {
        const struct space_section *section = &space->section[s];
        double product = 1;
        for (int p = 0; p < section->template->param_count; p++) {
            const struct space_values *v = &section->values[p];
            const struct param *param = &section->template->params[p];
            PROMISE(v->count >= 1 && v->count <= SPACE_VALUES_MAX, "%s has %d values", param->name, v->count);
            for (int i = 0; i < v->count; i++) {
                PROMISE(v->value[i] >= param->least && v->value[i] <= param->most, "%s = %d", param->name,
                        v->value[i]);
                for (int j = 0; j < i; j++)
                    PROMISE(v->value[i] != v->value[j], "%s = %d twice", param->name, v->value[i]);
            }
            product *= v->count;
        }
        sum += product;
    }
    return sum;
}

static void check_candidates(const struct candidates *c, const struct problem *p, const struct gpu *gpu)
{
    PROMISE(c->count > 0 && (double)c->count <= c->raw_count, "%zu of %g", c->count, c->raw_count);
    for (size_t i = 0; i < c->count; i++) {
        char text[CONFIG_TEXT_MAX];
        config_format(&c->config[i], text);
        const char *why = c->config[i].template->check(&c->config[i], p, gpu);
        PROMISE(!why, "%s: %s", text, why);
        for (size_t j = 0; j < i; j++) PROMISE(!config_equal(&c->config[i], &c->config[j]), "%s twice", text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    const struct problem problem = problem_make(256, 384, 512);
    struct space *space = NULL;
    struct candidates candidates;
    enum status st = space_load(path, &space);
    if (st) {
        PROMISE(st == E_INPUT && strstr(status_text(), path), "%s", status_text());
        return 0;
    }
    fuzz_accept();
    if (combinations(space) <= COMBINATIONS_MAX) {
        st = space_enumerate(space, &problem, &fuzz_gpu, INT64_C(1) << 26, &candidates);
        PROMISE(!st || st == E_ABSENT, "%s", status_text());
        if (!st) check_candidates(&candidates, &problem, &fuzz_gpu);
        candidates_free(&candidates);
    }
    space_free(space);
    return 0;
}
