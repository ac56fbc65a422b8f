#include "no_stdin.h"

FILE *gt_no_stdin;
