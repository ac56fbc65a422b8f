/* cmd_tune.h — the main job as a command: `tune` with problems. Its argv as those of commands.h. */
#ifndef GT_CMD_TUNE_H
#define GT_CMD_TUNE_H

#include "status.h"

enum status cmd_tune(int argc, char **argv);

#endif
