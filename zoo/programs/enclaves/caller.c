/* caller LIBRARY PART: LINKs the program `job` of a library, and checks its own storage. */
#define _GNU_SOURCE
#include <dirent.h>
#include <locale.h>
#include <malloc.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <underbar/fetch.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s: %s\n", __LINE__, #what, message()); \
            exit(1); \
        } \
    } while (0)

static underbar_library library;

static const char *message(void) {
    static char text[512];
    underbar_fetch_message(text, sizeof text);
    return text;
}

static int job(const char *what, const char *second) {
    char *arguments[] = {"job", (char *)what, (char *)second, NULL};
    int status = -1;
    CHECK(underbar_link(&library, 1, "job", arguments, NULL, &status) == 0);
    return status;
}

static int deep(int depth) {
    char number[16], address[32];
    snprintf(number, sizeof number, "%d", depth);
    snprintf(address, sizeof address, "%lx", (unsigned long)deep);
    char *arguments[] = {"job", "deep", number, address, NULL};
    int status = -1;
    CHECK(underbar_link(&library, 1, "job", arguments, NULL, &status) == 0);
    return status;
}

static long entries(const char *folder) {
    DIR *open = opendir(folder);
    long count = 0;
    while (readdir(open)) count++;
    closedir(open);
    return count;
}

static long mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    long lines = 0;
    for (int byte; (byte = fgetc(maps)) != EOF;) lines += byte == '\n';
    fclose(maps);
    return lines;
}

static long resident(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    long size, pages;
    CHECK(fscanf(statm, "%ld %ld", &size, &pages) == 2);
    fclose(statm);
    return pages;
}

int main(int count, char **words) {
    CHECK(count > 2 && underbar_library_open(words[1], UNDERBAR_FREEZE, &library) == 0);
    char *mine = malloc(5000);
    memset(mine, 0x33, 5000);
    if (!strcmp(words[2], "each")) {
        const char *ways[] = {"nothing", "leaks", "exits", "library", "threads", "forks", "services"};
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < 7; i++) CHECK(job(ways[i], NULL) == 7);
        /* What the C library kept is still there. */
        CHECK(!strcmp(setlocale(LC_ALL, NULL), "C.UTF-8") && !strcmp(getenv("ENCLAVE_JOB"), "was here"));
        printf("%s %d\n", "printed by the caller", 5);
    } else if (!strcmp(words[2], "leaves")) {
        volatile int told = 0;
        char address[32];
        snprintf(address, sizeof address, "%lx", (unsigned long)&told);
        CHECK(job("leaves", address) == 7);
        CHECK(job("leaks", NULL) == 7);
        told = 1;
        while (told != 2) usleep(1000);
        for (int i = 0; i < 100; i++) CHECK(job("leaks", NULL) == 7);
    } else if (!strcmp(words[2], "deep")) {
        CHECK(deep(199) == 7);
    } else if (!strcmp(words[2], "thousand")) {
        CHECK(deep(999) == 7);
    } else if (!strcmp(words[2], "stacks") || !strcmp(words[2], "stack-of-caller")) {
        char address[32];
        snprintf(address, sizeof address, "%lx", (unsigned long)address);
        char *arguments[] = {"job", "stacks", words[2][5] == 's' ? "1" : "0", address, NULL};
        char *throws[] = {"throws", NULL};
        for (int i = 0; i < 100; i++) {
            int status = -1;
            CHECK(underbar_link(&library, 1, "job", arguments, NULL, &status) == 0);
            CHECK(status == 7);
            CHECK(underbar_link(&library, 1, "throws", throws, NULL, &status) == 0 && status == 7);
        }
    } else if (!strcmp(words[2], "many")) {
        for (int i = 0; i < 100; i++) CHECK(job(i % 2 ? "leaks" : "services", NULL) == 7);
        long before[] = {mappings(), entries("/proc/self/fd"), resident()};
        for (int i = 0; i < 10000; i++) CHECK(job(i % 10 ? "nothing" : i % 20 ? "leaks" : "services", NULL) == 7);
        long after[] = {mappings(), entries("/proc/self/fd"), resident()};
        CHECK(after[0] <= before[0] + 2 && after[1] == before[1]);
        /* 500 leaks of 1.2 MB would be 600 MB. */
        CHECK(after[2] <= before[2] + 256);
    } else {
        return 2;
    }
    for (int i = 0; i < 5000; i++) CHECK(mine[i] == 0x33);
    free(mine);
    puts("all held");
    return 0;
}
