/* calls MODE COUNT [FILE]: so many calls of one kind; their time goes to standard error as "took NANOSECONDS COUNT".
   MODE: null (a write of a byte to /dev/null), file (a write of 132 bytes to FILE), lines (132 bytes to standard output, flushed), puts (not
   flushed), read (80 bytes of FILE). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count < 3) return 2;
    const char *mode = words[1], *name = count > 3 ? words[3] : "/dev/null";
    long calls = atol(words[2]), got = 0;
    char line[134];
    memset(line, 'x', 132);
    strcpy(line + 132, "\n");
    int is_read = !strcmp(mode, "read");
    int file = open(name, is_read ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return 1;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (!strcmp(mode, "null")) {
        for (long i = 0; i < calls; i++) got += write(file, line, 1) == 1;
    } else if (!strcmp(mode, "file")) {
        for (long i = 0; i < calls; i++) got += write(file, line, 132) == 132;
    } else if (!strcmp(mode, "lines")) {
        for (long i = 0; i < calls; i++) got += fputs(line, stdout) >= 0 && !fflush(stdout);
    } else if (!strcmp(mode, "puts")) {
        for (long i = 0; i < calls; i++) got += fputs(line, stdout) >= 0;
    } else {
        for (long i = 0; i < calls; i++) got += read(file, line, 80) == 80;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (got != calls) return 1;
    fprintf(stderr, "took %lld %ld\n", (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec, calls);
    return 0;
}
