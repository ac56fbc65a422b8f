#include "stack_room.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Enough to open the engine, ask the database and load a kernel: without NVIDIA's libraries that takes 43 KB.
 */
#define ENOUGH_BYTES ((size_t)256 << 10)
#define STACK_BYTES  ((size_t)1 << 20)  /* memory that is not touched costs nothing */
#define GUARD_BYTES  ((size_t)64 << 10) /* a page, of any size */

/* At the low end of a stack, above its guard. */
struct visit {
    ucontext_t here, there;
    void (*run)(void *argument);
    void *argument;
};

/* A thread that has needed another stack keeps it until it ends: it may call often. What jumps out of a visit
 * (siglongjmp from a handler) leaves it marked as in use. */
static __thread struct {
    char *stack;
    bool in_use;
} own;

static pthread_key_t at_end; /* of a thread: frees its stack */
static bool has_key;

static bool is_on(const char *stack)
{
    return (uintptr_t)__builtin_frame_address(0) - (uintptr_t)stack < STACK_BYTES;
}

/* A handler that ends its thread does so on the stack that it has interrupted. */
static void free_own(void *stack)
{
    own.stack = NULL;
    own.in_use = false;
    if (!is_on(stack)) munmap(stack, STACK_BYTES);
}

__attribute__((constructor)) static void create_key(void)
{
    has_key = pthread_key_create(&at_end, free_own) == 0;
}

static void find(struct stack_room *room)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    *room = (struct stack_room){0, UINTPTR_MAX, true}; /* if the system does not tell */
    if (pthread_getattr_np(pthread_self(), &attributes)) return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0 && bytes) {
        room->begin = (uintptr_t)low + ENOUGH_BYTES;
        room->bytes = bytes > ENOUGH_BYTES ? bytes - ENOUGH_BYTES : 0;
    }
    pthread_attr_destroy(&attributes);
}

static bool is_on_signal_stack(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
}

/* Whoever comes here while the thread's own stack is in use, and does not run on it, has left it by a jump,
 * or is a handler on a signal stack that may have interrupted a visit: the latter takes a stack for itself.
 */
static char *take_stack(void)
{
    if (own.stack && !(own.in_use && is_on_signal_stack())) return own.stack;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return NULL;
    mprotect(stack, GUARD_BYTES, PROT_NONE);
    if (!own.stack && has_key && pthread_setspecific(at_end, stack) == 0) own.stack = stack;
    return stack;
}

/* A context's function takes numbers of the size of an int. */
static void run_there(unsigned high, unsigned low)
{
    struct visit *visit = (struct visit *)((uintptr_t)high << 32 | low);
    visit->run(visit->argument);
}

static void run_on(char *stack, void (*run)(void *argument), void *argument)
{
    struct visit *visit = (struct visit *)(void *)(stack + GUARD_BYTES);
    visit->run = run;
    visit->argument = argument;
    getcontext(&visit->there);
    visit->there.uc_link = &visit->here;
    visit->there.uc_stack.ss_sp = visit + 1;
    visit->there.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES - sizeof *visit;
    makecontext(&visit->there, (void (*)(void))run_there, 2, (unsigned)((uintptr_t)visit >> 32),
                (unsigned)(uintptr_t)visit);
    swapcontext(&visit->here, &visit->there);
}

/* A cancellation unwinds this stack only, not the caller's frames, so it waits for the return. */
static void run_apart(char *stack, void (*run)(void *argument), void *argument)
{
    const bool is_own = stack == own.stack;
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    if (is_own) own.in_use = true;
    run_on(stack, run, argument);
    if (is_own) own.in_use = false;
    else munmap(stack, STACK_BYTES);
    pthread_setcancelstate(cancelling, NULL);
}

void stack_room_run(struct stack_room *room, void (*run)(void *argument), void *argument)
{
    if (!room->known) find(room);
    const bool here = stack_has_room(room) || (own.stack && is_on(own.stack));
    char *stack = here ? NULL : take_stack();
    if (stack) run_apart(stack, run, argument);
    else run(argument);
}
