/* frame.h — how supervisor and children communicate: JSON objects in frames with length and checksum over a
 * socket.
 *
 * Frame: "GTF1", uint32 length (little endian, at most FRAME_BYTES_MAX), uint64 XXH64 of the payload, payload
 * (compact JSON text of one object). Anything else ends the connection.
 */
#ifndef GT_FRAME_H
#define GT_FRAME_H

#include "status.h"
#include <jansson.h>
#include <stddef.h>

#define FRAME_BYTES_MAX (4 << 20)
#define FRAME_HEADER    16

/* Encode into a malloc'ed buffer. Errors: E_MEMORY, E_CHILD (larger than the limit). */
enum status frame_encode(const json_t *message, char **bytes, size_t *length);

/* Take one message out of the first bytes of a stream. *used = 0 and *message = NULL when more bytes are
 * needed. Errors: E_CHILD when the bytes are not a frame of ours. */
enum status frame_decode(const char *bytes, size_t length, json_t **message, size_t *used);

/* The child's side, blocking, on a file descriptor. receive: E_ABSENT at a clean end of the stream. */
enum status frame_send(int fd, const json_t *message);
enum status frame_receive(int fd, json_t **message);
/* Answer one message after the other until the other side closes. answer gives a new reference, NULL out of
 * memory; after: what is done when an answer has been sent, or NULL. */
enum status frame_serve(int fd, json_t *(*answer)(void *self, const json_t *request), void (*after)(void),
                        void *self);

#endif
