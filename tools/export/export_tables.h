/* export_tables.h — writes the tables of a header: how winners are launched, their kernels, and for each
 * epilogue a set of the winners of each GPU.
 */
#ifndef GT_EXPORT_TABLES_H
#define GT_EXPORT_TABLES_H

#include "export_header.h"

/* After header_prepare. Errors: E_MEMORY; those of the stream are the caller's. */
enum status tables_write(const struct header *header, FILE *stream);

#endif
