#include "forked.h"

#include "cores.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void forked_for(int count, void (*piece)(void *self, int i), void *self)
{
    pid_t children[64], parent = getpid();
    const int cores = cores_allowed();
    int started = 0, wanted = count < 64 ? count : 64;
    if (wanted > cores) wanted = cores;
    for (; started < wanted; started++) {
        children[started] = fork();
        if (children[started] < 0) break;
        if (children[started] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would outlive a parent that a signal ends */
            for (int i = started; i < count && getppid() == parent; i += wanted) piece(self, i);
            _exit(0); /* what the parent has open is not for us to close */
        }
    }
    for (int i = 0; i < started; i++) waitpid(children[i], NULL, 0);
}
