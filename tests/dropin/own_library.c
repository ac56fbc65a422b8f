/* own_library.c — what a program brings under the name of a library that the drop-in takes, too: older than
 * ours, without most of its functions, and one of them other.
 */
int own_library_answer(void);
const char *sqlite3_libversion(void);
int sqlite3_libversion_number(void);
void *json_object(void);

int own_library_answer(void)
{
    return 42;
}

const char *sqlite3_libversion(void)
{
    return "1.0.0";
}

int sqlite3_libversion_number(void)
{
    return 1000000;
}

void *json_object(void)
{
    return 0;
}
