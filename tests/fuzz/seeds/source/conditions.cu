#include "a.h"
#if ONE && !TWO
int f() { return 1; }
#elif defined(A) && (A + 2) * 3 > TWO << 1
int f() { return 2; }
#else
int f();
#endif
#if __FUTURE__
#define C
#endif
#ifdef C
struct x { int y; };
#endif
