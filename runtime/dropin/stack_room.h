/* stack_room.h — room on the stack of a thread of the program. Its stack may be small (16 KiB), and so may
 * that of a signal handler or a coroutine. What needs more then runs on another stack, in the same thread,
 * whose variables and current CUDA context it needs.
 */
#ifndef GT_STACK_ROOM_H
#define GT_STACK_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Of a thread: where a stack pointer has enough room below it. Zeroed: not known yet. */
struct stack_room {
    uintptr_t begin, bytes;
    bool known;
};

static inline bool stack_has_room(const struct stack_room *room)
{
    return (uintptr_t)__builtin_frame_address(0) - room->begin < room->bytes;
}

/* Calls run(argument), on another stack if this one has no room (or, where memory is short, here). room: of
 * this thread; it is found out at first. On another stack run() is no place of cancellation: it waits. */
void stack_room_run(struct stack_room *room, void (*run)(void *argument), void *argument);

#endif
