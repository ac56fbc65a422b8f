/* program_static.c — a program with a cuBLAS in itself, and, if it was built so, with options for its
 * sanitizer. */
int cublasCreate_v2(void **handle);

int cublasCreate_v2(void **handle)
{
    *handle = handle;
    return 0;
}

#ifdef OWN_OPTIONS
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

int main(void)
{
    void *handle;
    return cublasCreate_v2(&handle) + 3;
}
