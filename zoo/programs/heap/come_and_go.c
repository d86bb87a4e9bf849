/* come_and_go WHAT: gets and frees two blocks of 64 MiB again and again, and before them two of 4 MiB, which may be got in the place
   of a large one, so that the next large one does not fit there.

     another   prints the most resident memory, KiB
     library   then loads a library, and prints the resident memory, KiB */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char *written(size_t bytes) {
    char *block = malloc(bytes);
    if (!block) exit(2);
    memset(block, 1, bytes);
    return block;
}

static long resident(void) {
    long size, pages;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2) exit(2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

int main(int count, char **words) {
    int loads = count > 1 && strcmp(words[1], "library") == 0;
    for (int at = 0; at < 20000; at++) written(500);
    for (int turn = 0; turn < 8; turn++) {
        char *medium[2] = {written(4128 << 10), written(4128 << 10)};
        char *first = written(64 << 20);
        free(medium[1]);
        free(medium[0]);
        char *second = written(64 << 20);
        free(second);
        free(first);
    }
    if (loads) {
        if (!dlopen("libm.so.6", RTLD_NOW)) return 2;
        printf("%ld\n", resident());
        return 0;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss);
    return 0;
}
