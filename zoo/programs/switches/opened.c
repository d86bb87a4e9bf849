/* A library that writes 5 times when it is started, and so often as it is told when it is called. */
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void begins(void) {
    int null = open("/dev/null", O_WRONLY);
    for (int i = 0; i < 5; i++)
        if (write(null, "x", 1) != 1) _exit(9);
    close(null);
}

int call_me(int file, int times) {
    int done = 0;
    for (int i = 0; i < times; i++) done += (int)write(file, "x", 1);
    return done;
}
