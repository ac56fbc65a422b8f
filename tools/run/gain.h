/* gain.h — what the winners in the database bring to a program whose problems were recorded. */
#ifndef GT_GAIN_H
#define GT_GAIN_H

#include "status.h"

/* Says it on standard error, for this machine's GPU. Errors: those of the capture and of the database. */
enum status gain_tell(const char *capture);

#endif
