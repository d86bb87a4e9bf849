/* Another preloaded library, which takes execve over, too: writes a line and calls the next. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

int execve(const char *path, char *const arguments[], char *const environment[]) {
    int (*next)(const char *, char *const[], char *const[]);
    *(void **)&next = dlsym(RTLD_NEXT, "execve");
    if (write(1, "foreign execve\n", 15) < 0) return -1;
    return next(path, arguments, environment);
}
