/* campaign_fcntl.h — replaces the system's fcntl; control(fd, command, argument), in the file that includes
 * this, does the work. */
#ifndef GT_CAMPAIGN_FCNTL_H
#define GT_CAMPAIGN_FCNTL_H

/* Whether an argument follows: a word, which is a number or an address. */
#define ARGUMENT_OF(command)                                                                                 \
    va_list list;                                                                                            \
    va_start(list, command);                                                                                 \
    void *argument = va_arg(list, void *);                                                                   \
    va_end(list);

int fcntl(int fd, int command, ...)
{
    ARGUMENT_OF(command)
    return control(fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    ARGUMENT_OF(command)
    return control(fd, command, argument);
}

#endif
