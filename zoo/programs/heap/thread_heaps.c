/* Threads with heaps of their own (THREADHEAP) call the C library, the loader and a library of C++, which keep storage for the
   process. It must be there when the threads have ended. What the threads get themselves they free, so nothing of their heaps
   is left. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path;
static void *library;
static char *(*thread_storage)(void);
static int (*works)(int);

static struct addrinfo *addresses;
static iconv_t conversion;
static FILE *stream;
static regex_t expression;
static char *copy, *line;
static size_t line_bytes;
static pthread_key_t keys[100];

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static void use(int number) {
    if (!works(number)) fail("the library");
    memset(thread_storage(), number, 20000);
    char *own = malloc(1000), *more = calloc(10, 1000);
    own = realloc(own, 5000);
    memset(own, 1, 5000);
    free(own);
    free(more);
}

static void *first(void *unused) {
    (void)unused;
    if (!(library = dlopen(path, RTLD_NOW | RTLD_GLOBAL))) fail(dlerror());
    thread_storage = (char *(*)(void))dlsym(library, "thread_storage");
    works = (int (*)(int))dlsym(library, "works");
    if (!thread_storage || !works) fail("a symbol");
    if (dlopen("/no/such/library.so", RTLD_NOW)) fail("no library");
    if (!setlocale(LC_ALL, "C.UTF-8")) fail("no locale");
    if (!localeconv() || !strerror(4444)) fail("no text");
    if (setenv("GIVEN_BY_A_THREAD", "a value that the environment keeps", 1)) fail("setenv");
    if (getaddrinfo("127.0.0.1", "80", NULL, &addresses)) fail("no address");
    if ((conversion = iconv_open("UTF-16", "ISO-8859-2")) == (iconv_t)-1) fail("no conversion");
    if (regcomp(&expression, "^a(b|c)*d$", REG_EXTENDED)) fail("no expression");
    if (!(stream = fopen("/proc/self/maps", "r")) || getline(&line, &line_bytes, stream) < 1) fail("no line");
    copy = strdup("storage that the C library gets for its caller");
    for (int at = 0; at < 100; at++) {
        if (pthread_key_create(&keys[at], NULL) || pthread_setspecific(keys[at], &keys[at])) fail("no key");
    }
    use(1);
    return NULL;
}

static void *later(void *number) {
    use((int)(size_t)number);
    for (int at = 0; at < 100; at++) {
        if (pthread_setspecific(keys[at], &keys[at])) fail("no key");
    }
    return NULL;
}

static void run(void *(*function)(void *), size_t number) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, (void *)number) || pthread_join(thread, NULL)) fail("no thread");
}

int main(int argc, char **arguments) {
    if (argc < 2) return 2;
    path = arguments[1];
    run(first, 0);
    for (int number = 2; number < 6; number++) run(later, number);
    use(7);
    char from[] = "text", to[64];
    char *at = from, *end = to;
    size_t left = 4, room = sizeof to;
    if (iconv(conversion, &at, &left, &end, &room) == (size_t)-1 || iconv_close(conversion)) fail("iconv");
    if (strcmp(getenv("GIVEN_BY_A_THREAD"), "a value that the environment keeps")) fail("getenv");
    if (setenv("GIVEN_BY_A_THREAD", "another one", 1) || unsetenv("GIVEN_BY_A_THREAD")) fail("unsetenv");
    if (regexec(&expression, "abcbcd", 0, NULL, 0)) fail("regexec");
    regfree(&expression);
    freeaddrinfo(addresses);
    while (getline(&line, &line_bytes, stream) > 0) {}
    fclose(stream);
    free(line);
    if (strncmp(copy, "storage", 7)) fail("strdup");
    free(copy);
    if (!setlocale(LC_ALL, "C") || dlclose(library)) fail("the end");
    printf("done\n");
    return 0;
}
