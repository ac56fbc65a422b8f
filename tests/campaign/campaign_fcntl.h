/* campaign_fcntl.h — fcntl in place of the system's; what it does is control(fd, command, argument) of the
 * file that includes this. */
#ifndef GT_CAMPAIGN_FCNTL_H
#define GT_CAMPAIGN_FCNTL_H

/* One word follows, a number or an address, or none. */
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
