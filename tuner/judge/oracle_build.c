#include "oracle_build.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern const char text_oracle_cu[], text_oracle_args_h[], text_operand_h[];

enum { DEFINITIONS = 4 };
#define STACK_BYTES (8u << 20) /* the compiler recurses */

struct part {
    const struct oracle_build *build;
    char definition[DEFINITIONS][32];
    pthread_t thread;
    bool threaded;
    struct compiled built;
    enum status st;
    char why[1024]; /* the sentence of a failure, which belongs to the thread */
};

struct oracle_build {
    int arch;
    const char *cache;
    struct part part[ORACLE_PART_COUNT];
};

static void *compile(void *self)
{
    static const struct source_text sources[] = {
        {"oracle.cu", text_oracle_cu}, {"oracle_args.h", text_oracle_args_h}, {"operand.h", text_operand_h}};
    struct part *part = self;
    const char *definitions[DEFINITIONS];
    for (int i = 0; i < DEFINITIONS; i++) definitions[i] = part->definition[i];
    part->st = compile_sources(sources, sizeof sources / sizeof *sources, definitions, DEFINITIONS,
                               part->build->arch, part->build->cache, &part->built);
    if (!part->st && !part->built.built)
        part->st = fail(E_COMPILER, "the compiler refused the judge's own oracle.cu: %s", part->built.log);
    if (part->st) snprintf(part->why, sizeof part->why, "%s", status_text());
    return NULL;
}

struct oracle_build *oracle_build_start(int arch, const char *cache, enum gemm_type type)
{
    const struct gemm_type_row *row = gemm_type_row(type);
    const enum element elements[] = {row->a, row->b, row->c};
    struct oracle_build *build = calloc(1, sizeof *build);
    if (!build) return NULL;
    pthread_attr_t attributes;
    const bool roomy = pthread_attr_init(&attributes) == 0;
    if (roomy) pthread_attr_setstacksize(&attributes, STACK_BYTES);
    build->arch = arch;
    build->cache = cache;
    for (int i = 0; i < ORACLE_PART_COUNT; i++) {
        struct part *part = &build->part[i];
        part->build = build;
        for (int e = 0; e < 3; e++)
            snprintf(part->definition[e], sizeof part->definition[e], "-DORACLE_%c=%d", "ABC"[e],
                     (int)elements[e]);
        snprintf(part->definition[3], sizeof part->definition[3], "-DORACLE_PARTS=%d", 1 << i);
        part->threaded = pthread_create(&part->thread, roomy ? &attributes : NULL, compile, part) == 0;
    }
    if (roomy) pthread_attr_destroy(&attributes);
    return build;
}

enum status oracle_build_finish(struct oracle_build *build, struct compiled built[ORACLE_PART_COUNT])
{
    if (!build) return fail(E_MEMORY, "out of memory for the judge's kernels");
    enum status st = OK;
    for (int i = 0; i < ORACLE_PART_COUNT; i++) {
        struct part *part = &build->part[i];
        if (part->threaded) pthread_join(part->thread, NULL);
        else compile(part);
        built[i] = part->built;
        if (part->st && !st) st = fail(part->st, "%s", part->why);
    }
    free(build);
    return st;
}
