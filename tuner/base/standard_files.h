/* standard_files.h — the descriptors 0, 1 and 2 belong to standard input, output and error, whatever the
 * process was started with.
 *
 * Where one of them is closed, the next file that is opened has its number: a database, and what is printed
 * would be written into it.
 */
#ifndef GT_STANDARD_FILES_H
#define GT_STANDARD_FILES_H

#include "status.h"

/* Opens those that are closed such that reading from or writing to them fails, as it did before. main calls
 * this before any file is opened. Errors: E_IO. */
enum status standard_files_keep(void);

#endif
