#include "unit.h"

#include "notice.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *said;

TEST(a_notice_is_one_line_without_what_a_terminal_obeys)
{
    struct notices notices;
    size_t length;
    FILE *before = stderr;
    stderr = open_memstream(&said, &length);
    notices_start(&notices, false);
    notice(&notices, NOTICE_DATABASE, "cannot read %s", "a\x1b]0;owned\x07\nb");
    notice(&notices, NOTICE_DATABASE, "once is enough");
    fclose(stderr);
    stderr = before;
    assert_string_equal(said, "gemmtune: cannot read a\\x1b]0;owned\\x07\\nb\n");
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_notice_is_one_line_without_what_a_terminal_obeys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
