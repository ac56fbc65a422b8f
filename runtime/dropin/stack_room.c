#include "stack_room.h"

#include <pthread.h>
#include <stdatomic.h>
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

/* Stacks that nobody uses: threads of little room may call often. */
static _Atomic(char *) spare[8];

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

static char *take_stack(void)
{
    for (size_t i = 0; i < sizeof spare / sizeof *spare; i++) {
        char *stack = atomic_exchange(&spare[i], NULL);
        if (stack) return stack;
    }
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return NULL;
    mprotect(stack, GUARD_BYTES, PROT_NONE);
    return stack;
}

static void give_back(char *stack)
{
    for (size_t i = 0; i < sizeof spare / sizeof *spare; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&spare[i], &none, stack)) return;
    }
    munmap(stack, STACK_BYTES);
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

void stack_room_run(struct stack_room *room, void (*run)(void *argument), void *argument)
{
    if (!room->known) find(room);
    char *stack = stack_has_room(room) ? NULL : take_stack();
    if (!stack) {
        run(argument);
        return;
    }
    run_on(stack, run, argument);
    give_back(stack);
}
