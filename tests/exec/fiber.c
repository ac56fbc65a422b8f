#include "fiber.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(keep, bottom, size)  ((void)(keep), (void)(bottom), (void)(size))
#define __sanitizer_finish_switch_fiber(keep, bottom, size) ((void)(keep), (void)(bottom), (void)(size))
#endif

enum {
    STACK_BYTES = 256 * 1024, /* only the used part is touched; sanitizers need large frames */
    GUARD_BYTES = 64 * 1024   /* the lowest bytes of them */
};

struct fiber {
    void *stack; /* lowest address */
    void *at;    /* saved stack pointer while the fiber is not running */
    void *shadow;
    void (*body)(void *argument);
    void *argument;
};

static struct fiber *current;
static void *outside; /* saved stack pointer of who entered it */
static void *outside_shadow;
static const void *outside_stack;
static size_t outside_bytes;

/* Saves the callee-saved registers on this stack and its pointer in *from, and continues where `to` was
 * saved. */
void fiber_switch(void **from, void *to);

#if defined __x86_64__
enum { SAVED = 6 };
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_switch, .-fiber_switch\n");
#else
#error "fiber_switch: write the few lines for this processor"
#endif

static void fiber_start(void)
{
    __sanitizer_finish_switch_fiber(NULL, &outside_stack, &outside_bytes);
    struct fiber *f = current;
    f->body(f->argument);
    __sanitizer_start_switch_fiber(NULL, outside_stack,
                                   outside_bytes); /* NULL: this stack is not needed any more */
    fiber_switch(&f->at, outside);
    abort(); /* a fiber that has returned must be reset before it is entered */
}

struct fiber *fiber_build(void)
{
    struct fiber *f = calloc(1, sizeof *f);
    void *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* A stack overflow hits an inaccessible page instead of the next stack. */
    if (!f || stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE)) {
        perror("fiber_build");
        exit(1);
    }
    f->stack = stack;
    return f;
}

void fiber_reset(struct fiber *fiber, void (*body)(void *argument), void *argument)
{
    fiber->body = body;
    fiber->argument = argument;
    /* The stack as if fiber_start had called fiber_switch: the return address, above it the word that keeps
     * the stack pointer at 16 n + 8 on entry, below it the saved registers. */
    uintptr_t *top = (uintptr_t *)(void *)((char *)fiber->stack + STACK_BYTES);
    top[-1] = 0;
    top[-2] = (uintptr_t)fiber_start;
    memset(&top[-2 - SAVED], 0, SAVED * sizeof *top);
    fiber->at = &top[-2 - SAVED];
}

void fiber_enter(struct fiber *fiber)
{
    current = fiber;
    __sanitizer_start_switch_fiber(&outside_shadow, fiber->stack, STACK_BYTES);
    fiber_switch(&outside, fiber->at);
    __sanitizer_finish_switch_fiber(outside_shadow, NULL, NULL);
}

void fiber_leave(void)
{
    struct fiber *f = current;
    __sanitizer_start_switch_fiber(&f->shadow, outside_stack, outside_bytes);
    fiber_switch(&f->at, outside);
    __sanitizer_finish_switch_fiber(f->shadow, &outside_stack, &outside_bytes);
}
