#include "result_json.h"

#include "output_file.h"
#include "print.h"

#include <errno.h>
#include <stdio.h>

enum status result_print(json_t *value, const char *what)
{
    if (!value) return fail(E_MEMORY, "out of memory for the %s", what);
    errno = 0;
    const int rc = json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENSURE_ASCII);
    print_end(stdout);
    json_decref(value);
    if (rc == 0 && fflush(stdout) == 0) return OK;
    return fail(E_IO, "the %s could not be written: %s", what, outfile_why(errno));
}
