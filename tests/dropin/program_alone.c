/* program_alone.c — a program that knows nothing of gemmtune: with libraries of its own, if it was built so,
 * and with a product by its cuBLAS, if it is asked for one (arguments: "product", and the folder that it goes
 * to before). It says what happened, and which libraries it has in the end. "small": it ends in a thread of
 * little stack, with a product before if there is another word.
 */
#include "program_half.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int own_library_answer(void); /* of libsqlite3.so.0, in the folder that the program brings */

static void *driver(const char *name)
{
    static void *library;
    if (!library) library = dlopen(getenv("GEMMTUNE_LIBCUDA"), RTLD_NOW);
    void *address = library ? dlsym(library, name) : NULL;
    if (!address) exit(3);
    return address;
}

static void product(void)
{
    static float a[16 * 32], b[32 * 24], c[16 * 24];
    struct half_calls calls;
    CUstream stream;
    CUcontext context;
    CUdevice device = 0;
    int wrong = 0;
    CUresult (*init)(unsigned), (*retain)(CUcontext *, CUdevice), (*set)(CUcontext);
    CUresult (*create)(CUstream *, unsigned), (*destroy)(CUstream);
    *(void **)&init = driver("cuInit");
    *(void **)&retain = driver("cuDevicePrimaryCtxRetain");
    *(void **)&set = driver("cuCtxSetCurrent");
    *(void **)&create = driver("cuStreamCreate");
    *(void **)&destroy = driver("cuStreamDestroy_v2");
    if (init(0) || retain(&context, device) || set(context) || create(&stream, CU_STREAM_NON_BLOCKING))
        exit(4);
    for (int i = 0; i < 16 * 32; i++) a[i] = (float)(i % 7);
    for (int i = 0; i < 32 * 24; i++) b[i] = (float)(i % 5);
    half_run(a, b, c, stream, &calls);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 24; j++) {
            float sum = 0;
            for (int k = 0; k < 32; k++) sum += a[i * 32 + k] * b[k * 24 + j];
            wrong += c[i * 24 + j] != sum;
        }
    destroy(stream);
    printf("status %d %d, by its cuBLAS %d %d, wrong %d\n", calls.status, calls.lt_status, calls.arrived,
           calls.lt_arrived, wrong);
}

static void say_libraries(void)
{
    char line[4096], last[4096] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        const char *path = strchr(line, '/');
        if (path && strstr(path, ".so") && strcmp(path, last) != 0) {
            snprintf(last, sizeof last, "%s", path);
            printf("library %s", path);
        }
    }
    if (maps) fclose(maps);
}

/* As small as a stack may be; the sanitizers need more. */
#ifdef GT_SANITIZED
enum { SMALL_BYTES = 32 << 10 };
#else
enum { SMALL_BYTES = 16 << 10 };
#endif

static void *end_there(void *word)
{
    if (word) product();
    exit(0);
}

static int end_in_small_thread(char *word)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, SMALL_BYTES) || pthread_create(&thread, &small, end_there, word))
        return 6;
    pthread_join(thread, NULL);
    return 7;
}

int main(int argc, char **argv)
{
#ifdef OWN_LIBRARY
    printf("own library: %d\n", own_library_answer());
#endif
    if (argc > 1 && strcmp(argv[1], "small") == 0) return end_in_small_thread(argv[2]);
    if (argc > 2 && chdir(argv[2])) return 5;
    if (argc > 1 && strcmp(argv[1], "product") == 0) product();
    say_libraries();
    return 0;
}
