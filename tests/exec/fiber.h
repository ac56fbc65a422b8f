/* fiber.h — functions that can be left in the middle and entered again. One operating-system thread runs them
 * all.
 *
 * Tells the address sanitizer about every change of stack.
 */
#ifndef GT_FIBER_H
#define GT_FIBER_H

struct fiber;

/* Returns a fiber with its own stack. Fibers are never freed, but reused. Ends the process if there is no
 * memory. */
struct fiber *fiber_build(void);

/* The next fiber_enter starts body(argument) from its beginning, whatever the fiber was doing. */
void fiber_reset(struct fiber *fiber, void (*body)(void *argument), void *argument);

/* Runs the fiber until it leaves or its body returns. Not to be called inside a fiber. */
void fiber_enter(struct fiber *fiber);

/* Returns to where this fiber was entered; the call returns when the fiber is entered again. */
void fiber_leave(void);

#endif
