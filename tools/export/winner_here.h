/* SPDX-License-Identifier: MIT */
/* winner_here.h — the declarations and definitions of an exported header, for the program that writes them.
 */
#ifndef GT_WINNER_HERE_H
#define GT_WINNER_HERE_H

#define GT_WINNERS_STATIC
#include "shape_weights.h"
#include "winner_lookup.h"

#include "winner_epilogue.h"

#include "winner_lookup_code.h"

#include "winner_epilogue_code.h"

#endif
