#include "kernel_key.h"

#include "template.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct kernel_key kernel_key_of(const struct config *config, const struct problem *problem, int arch)
{
    struct kernel_key key = {.config = *config,
                             .trans_a = problem->trans_a,
                             .trans_b = problem->trans_b,
                             .epilogue = problem->epilogue,
                             .pointers = problem->pointers,
                             .arch = arch};
    const struct template *t = config->template;
    template_type(t, problem->type, &key.type);
    for (int i = 0; i < t->param_count; i++)
        if (t->params[i].kind == PARAM_LAUNCH) key.config.value[i] = t->params[i].least;
    return key;
}

bool kernel_key_equal(const struct kernel_key *x, const struct kernel_key *y)
{
    return x->type == y->type && x->trans_a == y->trans_a && x->trans_b == y->trans_b &&
           x->epilogue == y->epilogue && x->pointers == y->pointers && x->arch == y->arch &&
           config_equal(&x->config, &y->config);
}

uint64_t kernel_key_hash(const struct kernel_key *key)
{
    const int rest[] = {(int)key->type, key->trans_a, key->trans_b, key->epilogue, key->pointers, key->arch};
    const uint64_t seed = XXH64(rest, sizeof rest, (uint64_t)(uintptr_t)key->config.template);
    return XXH64(key->config.value, sizeof key->config.value, seed);
}

const char *kernel_key_op(const struct kernel_key *key)
{
    return problem_op_name(&(struct problem){.trans_a = key->trans_a, .trans_b = key->trans_b});
}

const char *kernel_key_check(const struct kernel_key *key, const struct gpu *gpu)
{
    const struct template *t = key->config.template;
    int known = 0; /* number of compile-time parameters; launch-time parameters follow them */
    while (known < t->param_count && t->params[known].kind == PARAM_COMPILE) known++;
    return t->check_prefix ? t->check_prefix(&key->config, known, NULL, gpu)
                           : t->check(&key->config, NULL, gpu);
}

bool kernel_key_contracts(const struct kernel_key *key)
{
    return !key->config.template->invariant || !key->epilogue;
}

struct definitions {
    const char **options;
    int limit, count;
    char *text;
    size_t room, used;
    bool full;
};

static __attribute__((format(printf, 2, 3))) void define(struct definitions *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(d->text + d->used, d->room - d->used, format, arguments);
    va_end(arguments);
    d->full |= d->count == d->limit || length < 0 || (size_t)length >= d->room - d->used;
    if (d->full) return;
    d->options[d->count++] = d->text + d->used;
    d->used += (size_t)length + 1;
}

/* "-DTYPE_SGEMM=1" and the CUDA C++ types of its elements. What no identifier has is a '_' in the name. */
static void define_type(struct definitions *d, const struct gemm_type_row *row)
{
    char upper[64];
    size_t length = 0;
    for (; row->name[length] && length + 1 < sizeof upper; length++)
        upper[length] =
            isalnum((unsigned char)row->name[length]) ? (char)toupper((unsigned char)row->name[length]) : '_';
    upper[length] = '\0';
    define(d, "-DTYPE_%s=1", upper);
    define(d, "-DTYPE_A=%s", element_cuda_name(row->a));
    define(d, "-DTYPE_B=%s", element_cuda_name(row->b));
    define(d, "-DTYPE_C=%s", element_cuda_name(row->c));
    define(d, "-DTYPE_SUM=%s", element_cuda_name(row->sum));
}

int kernel_key_definitions(const struct kernel_key *key, const char **options, int limit, char *text,
                           size_t room)
{
    const struct template *t = key->config.template;
    struct definitions d = {.options = options, .limit = limit, .text = text, .room = room};
    if (t->own) define(&d, "-DGEMMTUNE=1");
    if (t->bare) return d.full ? 0 : d.count;
    for (int i = 0; i < t->param_count; i++)
        if (t->params[i].kind == PARAM_COMPILE)
            define(&d, "-D%s=%d", t->params[i].name, key->config.value[i]);
    define(&d, "-DTRANS_A=%d", key->trans_a);
    define(&d, "-DTRANS_B=%d", key->trans_b);
    if (t->macros & TEMPLATE_MACRO_TYPE) define_type(&d, gemm_type_row(key->type));
    if (t->macros & TEMPLATE_MACRO_EPILOGUE && key->epilogue) define(&d, "-DEPILOGUE=%d", key->epilogue);
    if (t->macros & TEMPLATE_MACRO_POINTERS && key->pointers) define(&d, "-DPOINTERS=1");
    return d.full ? 0 : d.count;
}
