/* forked.h — does independent pieces of work in processes of their own, one a core. Processes and not
 * threads, since compilers crash, and NVRTC ends its process in its own way when SIGINT comes.
 */
#ifndef GT_FORKED_H
#define GT_FORKED_H

/* Calls piece(self, i) for each i below count in some child, and waits for all of them. What a piece leaves
 * in memory is lost: it leaves files. If no process can be started, or one ends early, pieces are left out.
 */
void forked_for(int count, void (*piece)(void *self, int i), void *self);

#endif
