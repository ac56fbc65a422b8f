/* tidy.h — put before each source by tidy.sh: what clang-tidy cannot see from one file alone, that fail()
 * answers the status that it was given. */
#include "../tuner/base/status.h"

#define fail(st, ...) ((void)(fail)((st), __VA_ARGS__), (st))
