/* SPDX-License-Identifier: MIT */
/* toy_rules.h — derived sizes of the toy kernel, and which configurations are correct. Read by the kernel and
 * by the host. */
#define LANES_N (BN / TN) /* threads side by side */
#define THREADS (BM * LANES_N)

#ifdef RULE
RULE(TN, BN % TN == 0, "BN must be a multiple of TN")
RULE(TN, THREADS <= 1024, "a block holds at most 1024 threads")
#endif
