/* cubin.h — what a compiled kernel says of itself, for those who have no driver to ask.
 */
#ifndef GT_CUBIN_H
#define GT_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most threads of a block that an entry was compiled for (__launch_bounds__); 0 if the cubin does not
 * say. Makes no assumptions about the bytes. */
int cubin_most_threads(const void *bytes, size_t size, const char *entry);

/* The symbol of the one kernel that the source calls `name`, "sgemm" or "ns::sgemm", whatever its parameters
 * and template arguments. Returns how many kernels have the name; the symbol is that of the first. Makes no
 * assumptions about the bytes. */
#define CUBIN_SYMBOL_MAX 1024
int cubin_find(const void *bytes, size_t size, const char *name, char symbol[CUBIN_SYMBOL_MAX]);

/* Are there variables in device memory (__device__), which outlive a launch? */
bool cubin_keeps_state(const void *bytes, size_t size);

/* The sizes of a kernel's parameters in bytes; returns how many there are, -1 if the cubin does not say. */
#define CUBIN_PARAMETERS_MAX 64
int cubin_parameters(const void *bytes, size_t size, const char *symbol,
                     uint16_t sizes[CUBIN_PARAMETERS_MAX]);

#endif
