#include "process_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_KIB      8192 /* the usual default of systems */
#define STACK_LEAST    1024
#define FILES_OWN      40 /* the database, the event loop, files open while a child starts */
#define FILES_A_CHILD  4
#define THREAD_MINIMUM ((size_t)STACK_LEAST << 10)

/* Returns the soft limit, raised to `wanted` or as far as allowed. */
static rlim_t raise_to(int resource, rlim_t wanted)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) return wanted;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wanted) {
        struct rlimit raised = limit;
        raised.rlim_cur =
            limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted ? wanted : limit.rlim_max;
        if (setrlimit(resource, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > wanted ? wanted : limit.rlim_cur;
}

enum status limits_stack(void)
{
    pthread_attr_t attributes;
    size_t thread = 0;
    const rlim_t room = raise_to(RLIMIT_STACK, (rlim_t)STACK_KIB << 10);
    if (room < (rlim_t)STACK_LEAST << 10)
        return fail(E_MEMORY, "the stack limit is %lu KiB, and %d KiB are needed: ulimit -s %d",
                    (unsigned long)(room >> 10), STACK_LEAST, STACK_KIB);
    /* The threads' stack size is the limit at the start of the process. */
    if (pthread_getattr_default_np(&attributes) != 0) return OK;
    if (pthread_attr_getstacksize(&attributes, &thread) == 0 && thread < THREAD_MINIMUM &&
        pthread_attr_setstacksize(&attributes, (size_t)room) == 0)
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
    return OK;
}

enum status limits_files(int children)
{
    const rlim_t needed = (rlim_t)FILES_OWN + (rlim_t)children * FILES_A_CHILD;
    const rlim_t room = raise_to(RLIMIT_NOFILE, needed);
    if (room >= needed) return OK;
    return fail(E_IO,
                "the limit of open files is %lu, and a tuner with %d child process%s needs %lu: "
                "ulimit -n 1024, or fewer compilers (--jobs)",
                (unsigned long)room, children, children == 1 ? "" : "es", (unsigned long)needed);
}

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
