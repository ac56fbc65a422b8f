#include "frame.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

static const char magic[4] = {'G', 'T', 'F', '1'};

/* Integers are little endian on every machine. */
static void put_little(char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (char)(unsigned char)(value >> (8 * i));
}

static uint64_t get_little(const char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)(unsigned char)from[i] << (8 * i);
    return value;
}

enum status frame_encode(const json_t *message, char **bytes, size_t *length)
{
    size_t payload = json_dumpb(message, NULL, 0, JSON_COMPACT);
    if (payload == 0) return fail(E_CHILD, "a message for a child process is not a JSON object");
    if (payload > FRAME_BYTES_MAX)
        return fail(E_CHILD, "a message of %zu bytes is longer than the limit of %d", payload,
                    FRAME_BYTES_MAX);
    char *frame = malloc(FRAME_HEADER + payload);
    if (!frame) return fail(E_MEMORY, "out of memory for a message of %zu bytes", payload);
    char *text = frame + FRAME_HEADER;
    if (json_dumpb(message, text, payload, JSON_COMPACT) != payload) {
        free(frame);
        return fail(E_CHILD, "a message for a child process cannot be written as JSON");
    }
    memcpy(frame, magic, sizeof magic);
    put_little(frame + 4, payload, 4);
    put_little(frame + 8, XXH64(text, payload, 0), 8);
    *bytes = frame;
    *length = FRAME_HEADER + payload;
    return OK;
}

/* The payload's length, from a complete header. */
static enum status read_header(const char *header, size_t *payload)
{
    if (memcmp(header, magic, sizeof magic) != 0)
        return fail(E_CHILD, "a child process sent bytes that are not a frame");
    uint64_t length = get_little(header + 4, 4);
    if (length == 0 || length > FRAME_BYTES_MAX)
        return fail(E_CHILD, "a child process announced a frame of %llu bytes; the limit is %d",
                    (unsigned long long)length, FRAME_BYTES_MAX);
    *payload = (size_t)length;
    return OK;
}

static enum status read_payload(const char *header, const char *text, size_t payload, json_t **message)
{
    if (XXH64(text, payload, 0) != get_little(header + 8, 8))
        return fail(E_CHILD, "a frame of %zu bytes arrived damaged: its checksum differs", payload);
    json_error_t error;
    *message = json_loadb(text, payload, JSON_REJECT_DUPLICATES, &error);
    if (*message && json_is_object(*message)) return OK;
    json_decref(*message);
    *message = NULL;
    return fail(E_CHILD, "a frame does not hold a JSON object");
}

enum status frame_decode(const char *bytes, size_t length, json_t **message, size_t *used)
{
    *message = NULL;
    *used = 0;
    /* Bytes that cannot become a frame are refused at once, so that we do not wait for more from a child that
     * prints text. */
    size_t seen = length < sizeof magic ? length : sizeof magic;
    if (memcmp(bytes, magic, seen) != 0)
        return fail(E_CHILD, "a child process sent bytes that are not a frame");
    if (length < FRAME_HEADER) return OK;
    size_t payload = 0;
    enum status st = read_header(bytes, &payload);
    if (st || length < FRAME_HEADER + payload) return st;
    st = read_payload(bytes, bytes + FRAME_HEADER, payload, message);
    if (!st) *used = FRAME_HEADER + payload;
    return st;
}

enum status frame_send(int fd, const json_t *message)
{
    char *bytes;
    size_t length;
    enum status st = frame_encode(message, &bytes, &length);
    if (st) return st;
    for (size_t sent = 0; sent < length && !st;) {
        ssize_t n = send(fd, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (n > 0) sent += (size_t)n;
        else if (n < 0 && errno != EINTR) st = fail(E_CHILD, "cannot send a message: %s", strerror(errno));
    }
    free(bytes);
    return st;
}

/* Reads exactly length bytes. E_ABSENT if the stream ends before the first. */
static enum status read_all(int fd, char *bytes, size_t length)
{
    size_t have = 0;
    while (have < length) {
        ssize_t n = read(fd, bytes + have, length - have);
        if (n == 0)
            return have ? fail(E_CHILD, "the stream ended within a frame")
                        : fail(E_ABSENT, "the stream has ended");
        if (n > 0) have += (size_t)n;
        else if (errno == ECONNRESET && have == 0) return fail(E_ABSENT, "the stream has ended");
        else if (errno != EINTR) return fail(E_CHILD, "cannot receive a message: %s", strerror(errno));
    }
    return OK;
}

enum status frame_receive(int fd, json_t **message)
{
    *message = NULL;
    char header[FRAME_HEADER];
    size_t payload = 0;
    enum status st = read_all(fd, header, sizeof header);
    if (!st) st = read_header(header, &payload);
    if (st) return st;
    char *text = malloc(payload);
    if (!text) return fail(E_MEMORY, "out of memory for a message of %zu bytes", payload);
    st = read_all(fd, text, payload);
    if (st == E_ABSENT) st = fail(E_CHILD, "the stream ended within a frame");
    if (!st) st = read_payload(header, text, payload, message);
    free(text);
    return st;
}

enum status frame_serve(int fd, json_t *(*answer)(void *self, const json_t *request), void (*after)(void),
                        void *self)
{
    json_t *request;
    enum status st;
    while ((st = frame_receive(fd, &request)) == OK) {
        json_t *reply = answer(self, request);
        json_decref(request);
        if (!reply) return fail(E_MEMORY, "out of memory for an answer");
        st = frame_send(fd, reply);
        json_decref(reply);
        if (st) return st;
        if (after) after();
    }
    return st == E_ABSENT ? OK : st;
}
