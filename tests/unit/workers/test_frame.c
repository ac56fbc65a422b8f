/* Frames between supervisor and children. */
#include "unit.h"

#include "frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char *encode(json_t *message, size_t *length)
{
    char *bytes = NULL;
    assert_ok(frame_encode(message, &bytes, length));
    json_decref(message);
    return bytes;
}

TEST(a_message_comes_back_as_it_was)
{
    size_t length, used;
    char *bytes = encode(json_pack("{s:s, s:i, s:f}", "do", "trial \xc3\xa4", "n", -7, "x", 0.1), &length);
    json_t *message;
    assert_ok(frame_decode(bytes, length, &message, &used));
    assert_int_equal(used, length);
    assert_string_equal(json_string_value(json_object_get(message, "do")), "trial \xc3\xa4");
    assert_int_equal(json_integer_value(json_object_get(message, "n")), -7);
    assert_true(json_real_value(json_object_get(message, "x")) == 0.1);
    json_decref(message);
    free(bytes);
}

TEST(every_prefix_of_a_frame_asks_for_more)
{
    size_t length, used;
    char *bytes = encode(json_pack("{s:s}", "do", "hello"), &length);
    for (size_t n = 0; n < length; n++) {
        json_t *message;
        char *copy = malloc(n + 1); /* of its own, so that reading beyond it is seen */
        memcpy(copy, bytes, n);
        assert_ok(frame_decode(copy, n, &message, &used));
        assert_null(message);
        assert_int_equal(used, 0);
        free(copy);
    }
    free(bytes);
}

TEST(two_frames_in_a_row_are_taken_one_by_one)
{
    size_t first, second, used;
    char *a = encode(json_pack("{s:i}", "n", 1), &first), *b = encode(json_pack("{s:i}", "n", 22), &second);
    char *both = malloc(first + second);
    memcpy(both, a, first);
    memcpy(both + first, b, second);
    json_t *message;
    assert_ok(frame_decode(both, first + second, &message, &used));
    assert_int_equal(used, first);
    json_decref(message);
    assert_ok(frame_decode(both + used, second, &message, &used));
    assert_int_equal(json_integer_value(json_object_get(message, "n")), 22);
    json_decref(message);
    free(a), free(b), free(both);
}

TEST(one_changed_byte_anywhere_is_refused)
{
    size_t length, used;
    char *bytes = encode(json_pack("{s:s}", "do", "hello"), &length);
    for (size_t i = 0; i < length; i++) {
        json_t *message = NULL;
        bytes[i] ^= 0x10;
        enum status st = frame_decode(bytes, length, &message, &used);
        /* A longer length asks for more bytes, which never pass the checksum; nothing is ever believed. */
        assert_null(message);
        if (!(i >= 4 && i < 8)) assert_int_equal(st, E_CHILD);
        bytes[i] ^= 0x10;
    }
    free(bytes);
}

TEST(text_that_is_no_frame_is_refused_at_its_first_byte)
{
    json_t *message;
    size_t used;
    assert_fails(frame_decode("S", 1, &message, &used), E_CHILD, "not a frame");
    assert_fails(frame_decode("Segmentation fault", 18, &message, &used), E_CHILD, "not a frame");
}

TEST(an_announced_length_beyond_the_limit_is_refused)
{
    char header[FRAME_HEADER] = "GTF1\xff\xff\xff\xff";
    json_t *message;
    size_t used;
    assert_fails(frame_decode(header, sizeof header, &message, &used), E_CHILD, "limit");
}

TEST(a_message_beyond_the_limit_is_not_sent)
{
    char *text = malloc(FRAME_BYTES_MAX + 1), *bytes;
    size_t length;
    memset(text, 'x', FRAME_BYTES_MAX);
    text[FRAME_BYTES_MAX] = '\0';
    json_t *message = json_pack("{s:s}", "do", text);
    assert_fails(frame_encode(message, &bytes, &length), E_CHILD, "longer than the limit");
    json_decref(message);
    free(text);
}

TEST(a_large_message_passes_through_a_socket_in_both_directions)
{
    int end[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
    pid_t child = fork();
    if (child == 0) { /* an echo */
        json_t *message;
        close(end[0]);
        while (frame_receive(end[1], &message) == OK) {
            if (frame_send(end[1], message)) _exit(1);
            json_decref(message);
        }
        _exit(0);
    }
    close(end[1]);
    char *text = malloc(1 << 20);
    memset(text, 'y', (1 << 20) - 1);
    text[(1 << 20) - 1] = '\0';
    json_t *message = json_pack("{s:s}", "text", text), *echo;
    assert_ok(frame_send(end[0], message));
    assert_ok(frame_receive(end[0], &echo));
    assert_true(json_equal(message, echo));
    json_decref(message), json_decref(echo);
    free(text);
    close(end[0]);
}

TEST(the_end_of_the_stream_is_absence_but_not_within_a_frame)
{
    int end[2];
    json_t *message;
    size_t length;
    char *bytes = encode(json_pack("{s:s}", "do", "hello"), &length);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
    assert_int_equal(write(end[0], bytes, length - 1), (ssize_t)length - 1);
    close(end[0]);
    assert_fails(frame_receive(end[1], &message), E_CHILD, "within a frame");
    assert_int_equal(frame_receive(end[1], &message), E_ABSENT);
    close(end[1]);
    free(bytes);
}

TEST(sending_to_a_closed_socket_fails_without_a_signal)
{
    int end[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
    close(end[1]);
    json_t *message = json_pack("{s:s}", "do", "hello");
    assert_fails(frame_send(end[0], message), E_CHILD, "cannot send");
    json_decref(message);
    close(end[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_comes_back_as_it_was),
        cmocka_unit_test(every_prefix_of_a_frame_asks_for_more),
        cmocka_unit_test(two_frames_in_a_row_are_taken_one_by_one),
        cmocka_unit_test(one_changed_byte_anywhere_is_refused),
        cmocka_unit_test(text_that_is_no_frame_is_refused_at_its_first_byte),
        cmocka_unit_test(an_announced_length_beyond_the_limit_is_refused),
        cmocka_unit_test(a_message_beyond_the_limit_is_not_sent),
        cmocka_unit_test(a_large_message_passes_through_a_socket_in_both_directions),
        cmocka_unit_test(the_end_of_the_stream_is_absence_but_not_within_a_frame),
        cmocka_unit_test(sending_to_a_closed_socket_fails_without_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
