/* cmd_tune.h — the main job as a command: `tune` with problems. Its argv as those of commands.h. */
#ifndef GT_CMD_TUNE_H
#define GT_CMD_TUNE_H

#include "status.h"
#include <stdbool.h>

struct session;

enum status cmd_tune(int argc, char **argv);

/* What --report calls (session.h). Set once, by main: pages are another command's. */
extern enum status (*cmd_tune_page)(const struct session *session, bool live);

#endif
