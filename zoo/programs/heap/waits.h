/* For programs in which a thread must go on exactly when another waits for a lock. Included first. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's number of the thread. */
static int own_number(void) {
    return (int)syscall(SYS_gettid);
}

/* Waits until the thread with the published number sleeps: from then on it only waits. */
static void wait_for_sleep_of(atomic_int *number) {
    char state = 0;
    while (state != 'S') {
        char path[64], text[256];
        sched_yield();
        if (!*number) continue;
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", *number);
        int file = open(path, O_RDONLY);
        ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
        close(file);
        if (length < 0) continue;
        text[length] = 0;
        char *end = strrchr(text, ')');
        state = end ? end[2] : 0;
    }
}
