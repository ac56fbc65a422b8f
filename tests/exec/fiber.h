/* fiber.h — functions that can be left in the middle and entered again. One operating-system thread runs them
 * all.
 *
 * Tells the address sanitizer about every change of stack.
 */
#ifndef GT_FIBER_H
#define GT_FIBER_H

struct fiber;

/* A fiber with a stack of its own; never freed: they are used again. Ends the process when there is no
 * memory. */
struct fiber *fiber_build(void);

/* The next fiber_enter starts body(argument) afresh, whatever the fiber was doing. */
void fiber_reset(struct fiber *fiber, void (*body)(void *argument), void *argument);

/* Run the fiber until it leaves or its body returns. Not from inside a fiber. */
void fiber_enter(struct fiber *fiber);

/* Go back to where this fiber was entered; returns when it is entered again. */
void fiber_leave(void);

#endif
