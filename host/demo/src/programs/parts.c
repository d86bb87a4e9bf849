/* parts HOW: reads records, and has a library write a line for each. HOW: each (a write for each line), later (a thousand lines at once). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int log_line(int file, const char *line, int number);
int log_later(int file, const char *line, int number);

int main(int count, char **arguments) {
    if (count < 2) return 2;
    int (*log)(int, const char *, int) = strcmp(arguments[1], "later") ? log_line : log_later;
    int records = open("/dev/zero", O_RDONLY), file = memfd_create("lines", 0);
    char record[80], line[132];
    struct timespec begin, end;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 10000; i++) {
        if (i % 10 == 0 && read(records, record, sizeof record) != sizeof record) return 1;
        if (!log(file, line, i)) return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("lines=10000 bytes=%ld elapsed_ns=%lld\n", (long)lseek(file, 0, SEEK_END),
           (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
    return 0;
}
