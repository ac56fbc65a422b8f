/* arguments.h — checks the structs of callers (sizes, reserved words) and converts a problem to our form. */
#ifndef GT_ARGUMENTS_H
#define GT_ARGUMENTS_H

#include "gemmtune.h"
#include "problem.h"

/* Sizes of the structs in their first version, the least that a caller may pass. */
enum { OPTIONS_FIRST = 96, PROBLEM_FIRST = 136, CALL_FIRST = 104, INFO_FIRST = 1704 };
enum { STRUCT_BYTES_MAX = 4096 };

/* A struct that begins with its size as the caller knows it, into ours: what the caller does not know is 0,
 * and what we do not know must be. Errors: E_INPUT. */
enum status arguments_read(const char *name, const void *from, size_t least, void *to, size_t known);

/* Reserved members. Errors: E_INPUT. */
enum status arguments_check_zero(const char *name, const void *words, size_t bytes);

/* A problem in our terms, by rows, from a copy of the caller's that has all members of ours; defaults are
 * filled in, and all of it is checked. Errors: E_INPUT. */
enum status arguments_problem(const struct gt_problem *asked, struct problem *problem);

/* Of a caller's type. */
static inline bool type_is_known(int32_t type)
{
    return type >= 0 && type < GEMM_TYPE_COUNT;
}

/* Bytes of an element of A and B, of a caller's type, known or not. */
static inline int element_bytes_of(int32_t type)
{
    return type_is_known(type) ? element_bytes(gemm_type_row((enum gemm_type)type)->a) : 4;
}

/* The same of C. */
static inline int element_bytes_of_c(int32_t type)
{
    return type_is_known(type) ? element_bytes(gemm_type_row((enum gemm_type)type)->c) : 4;
}

/* A call of another size, or with something set that we must look at. Errors: E_INPUT. */
enum status arguments_read_call(const struct gt_call *from, struct gt_call *to);

static inline bool arguments_are_usual(const struct gt_call *call)
{
    const uintptr_t reserved = (call->flags & ~(uint32_t)GT_AS_PLANNED) | (uintptr_t)call->reserved[0];
    return call->size == sizeof *call && !reserved;
}

enum status arguments_copy_problem_slowly(const struct gt_problem *from, struct gt_problem *to);

/* A copy of the caller's that has all members of ours. Errors: E_INPUT. */
static inline enum status arguments_copy_problem(const struct gt_problem *from, struct gt_problem *to)
{
    if (from->size != sizeof *to || (from->reserved[0] | from->reserved[1]))
        return arguments_copy_problem_slowly(from, to);
    *to = *from;
    return OK;
}

#endif
