/* records MODE FILE [FILE...]: work files of 80-byte records.
   write FILE: makes one of 10,478 records. read FILE: reads it, record by record, by read(2).
   buffers FOLDER: reads FOLDER/input, and writes two more by write(2), FOLDER/totals and FOLDER/errors.
   print FILE [OUT]: 10,000 lines of 132 characters to standard output, or to OUT in its place, each passed on; what happened is
   written to FILE. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORD 80
#define RECORDS 10478

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Calls of a type, as the kernel counts them; -1: it does not tell. */
static long long calls(const char *name) {
    char text[512] = "";
    int file = open("/proc/self/io", O_RDONLY);
    if (file < 0 || read(file, text, sizeof text - 1) < 0) return -1;
    close(file);
    const char *found = strstr(text, name);
    return found ? atoll(found + strlen(name)) : -1;
}

/* Reads records to the end: their number, and the sum of their first bytes. */
static int all(const char *path, long long *count, long long *sum) {
    char record[RECORD];
    int file = open(path, O_RDONLY);
    if (file < 0) return 1;
    for (ssize_t got; (got = read(file, record, RECORD)) != 0; ++*count) {
        if (got != RECORD) return 1;
        *sum += record[0];
    }
    return close(file);
}

static int made(const char *path, int records, const char *name) {
    char record[RECORD + 1];
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < records; i++) {
        snprintf(record, sizeof record, "%c%s %08d%-69s\n", 'a' + i % 26, name, i, "");
        if (write(file, record, RECORD) != RECORD) return 1;
    }
    return close(file);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const char *mode = words[1], *path = words[2];
    char name[4096];
    long long records = 0, sum = 0;
    if (!strcmp(mode, "write")) return made(path, RECORDS, "r");
    if (!strcmp(mode, "read")) {
        /* The second figure has the read of the first among its calls. */
        long long before = calls("syscr: "), start = now();
        if (all(path, &records, &sum)) return 1;
        long long elapsed = now() - start, after = calls("syscr: ");
        printf("elapsed_ns=%lld\nrecords=%lld\nsum=%lld\n", elapsed, records, sum);
        if (before >= 0) printf("reads=%lld\n", after - before - 1);
    } else if (!strcmp(mode, "buffers")) {
        long long before = calls("syscw: "), start = now();
        snprintf(name, sizeof name, "%s/input", path);
        if (all(name, &records, &sum)) return 1;
        snprintf(name, sizeof name, "%s/totals", path);
        if (made(name, 6000, "t")) return 1;
        snprintf(name, sizeof name, "%s/errors", path);
        if (made(name, 2000, "e")) return 1;
        long long elapsed = now() - start, after = calls("syscw: ");
        printf("elapsed_ns=%lld\nrecords=%lld\nsum=%lld\n", elapsed, records, sum);
        if (before >= 0) printf("writes=%lld\n", after - before);
    } else if (!strcmp(mode, "print")) {
        if (count > 3 && !freopen(words[3], "w", stdout)) return 1;
        char text[134];
        memset(text, 'x', 132);
        memcpy(text + 132, "\n", 2);
        long long before = calls("syscw: "), start = now();
        for (int i = 0; i < 10000; i++) {
            fputs(text, stdout);
            fflush(stdout);
        }
        fclose(stdout);
        long long elapsed = now() - start, after = calls("syscw: ");
        FILE *said = fopen(path, "w");
        if (!said) return 1;
        fprintf(said, "elapsed_ns=%lld\n", elapsed);
        if (before >= 0) fprintf(said, "writes=%lld\n", after - before);
        fclose(said);
    } else {
        return 2;
    }
    return 0;
}
