/* program_static.c — a program with a cuBLAS in itself. */
int cublasCreate_v2(void **handle);

int cublasCreate_v2(void **handle)
{
    *handle = handle;
    return 0;
}

int main(void)
{
    void *handle;
    return cublasCreate_v2(&handle) + 3;
}
