#include "standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum status standard_files_keep(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        if (fcntl(i, F_GETFD) >= 0) continue;
        /* The lowest number that is free, and the wrong way round. Children have it, too. */
        if (open("/dev/null", i == STDIN_FILENO ? O_WRONLY : O_RDONLY) != i)
            return fail(E_IO,
                        "descriptor %d is closed, and nothing can be opened in its place (/dev/null: %s): "
                        "start the program with standard input, output and error open",
                        i, strerror(errno));
    }
    return OK;
}
