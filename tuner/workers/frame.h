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

/* Encodes into a malloc'ed buffer. Errors: E_MEMORY, E_CHILD (larger than the limit). */
enum status frame_encode(const json_t *message, char **bytes, size_t *length);

/* Decodes one message from the first bytes of a stream. *used = 0 and *message = NULL if more bytes are
 * needed. Errors: E_CHILD if the bytes are not a frame of ours. */
enum status frame_decode(const char *bytes, size_t length, json_t **message, size_t *used);

/* For the child: blocking, on a file descriptor. receive: E_ABSENT at a clean end of the stream. */
enum status frame_send(int fd, const json_t *message);
enum status frame_receive(int fd, json_t **message);
/* Answers one message after the other until the other side closes. answer returns a new reference, NULL if
 * out of memory; after (may be NULL) is called when an answer has been sent. */
enum status frame_serve(int fd, json_t *(*answer)(void *self, const json_t *request), void (*after)(void),
                        void *self);

#endif
