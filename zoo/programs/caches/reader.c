/* Records by C: `reader HOW FILE`. Reads 80-byte records of FILE in a way that a cache must not disturb, and prints what it got. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD 80
static const char *path;
static int file;

/* Reads records, and prints the number of the first and the last. */
static void records(int from, int count, const char *who) {
    char record[RECORD + 1] = "", first[12] = "none", last[12] = "none";
    int got = 0;
    ssize_t length = 0;
    for (; got < count && (length = read(from, record, RECORD)) > 0; got++) {
        snprintf(last, sizeof last, "%.10s", record);
        if (!got) memcpy(first, last, sizeof last);
    }
    printf("%s: %d records, %s to %s, then %ld\n", who, got, first, last, (long)length);
    fflush(stdout);
}

static void at(const char *who) { printf("%s: at %ld\n", who, (long)lseek(file, 0, SEEK_CUR)); }

static void waited(pid_t child) {
    int status = -1;
    if (waitpid(child, &status, 0) != child) printf("no child\n");
    if (status) printf("child: %d\n", status);
}

static void appended(const char *text) {
    int other = open(path, O_WRONLY | O_APPEND);
    if (write(other, text, strlen(text)) < 0) printf("not appended\n");
    close(other);
}

static void *some(void *who) {
    records(file, 100, who);
    return NULL;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const char *how = words[1];
    char record[RECORD + 1] = "", text[128];
    struct stat status;
    path = words[2];
    file = open(path, !strcmp(how, "both") ? O_RDWR : O_RDONLY);
    if (!strcmp(how, "all")) {
        records(file, 1 << 30, "all");
        at("all");
    } else if (!strcmp(how, "fork")) {
        records(file, 3, "parent");
        for (int i = 0; i < 3; i++) {
            pid_t child = fork();
            if (child == 0) {
                records(file, 2, "child");
                _exit(0);
            }
            waited(child);
            records(file, 2, "parent");
        }
        at("parent");
    } else if (!strcmp(how, "exec")) {
        records(file, 3, "before");
        snprintf(text, sizeof text, "head -n 2 <&%d", file);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    } else if (!strcmp(how, "system")) {
        records(file, 3, "before");
        fflush(stdout);
        snprintf(text, sizeof text, "dd bs=80 count=2 status=none <&%d", file);
        if (system(text)) printf("failed\n");
        records(file, 3, "after");
    } else if (!strcmp(how, "seek")) {
        records(file, 3, "first");
        at("first");
        lseek(file, -RECORD, SEEK_CUR);
        records(file, 1, "again");
        lseek(file, 1000 * RECORD, SEEK_SET);
        records(file, 1, "far");
        lseek(file, -2 * RECORD, SEEK_END);
        records(file, 5, "end");
        lseek(file, 7, SEEK_SET);
        records(file, 2, "odd");
        printf("%ld\n", (long)lseek(file, 0, SEEK_DATA));
    } else if (!strcmp(how, "pread")) {
        records(file, 3, "first");
        printf("%ld %.10s\n", (long)pread(file, record, RECORD, 500 * RECORD), record);
        records(file, 3, "then");
        struct iovec two[2] = {{record, 10}, {text, 70}};
        printf("%ld %.10s\n", (long)readv(file, two, 2), record);
        printf("%ld %.10s\n", (long)preadv(file, two, 2, 80), record);
        records(file, 3, "then");
    } else if (!strcmp(how, "grows")) {
        records(file, 1 << 30, "all");
        for (int i = 0; i < 3; i++) {
            snprintf(record, sizeof record, "grown %04d%-69s\n", i, "");
            appended(record);
            records(file, 5, "more");
        }
        pid_t child = fork();
        if (child == 0) {
            appended("by a child");
            _exit(0);
        }
        waited(child);
        records(file, 5, "more");
    } else if (!strcmp(how, "changed")) {
        /* Another descriptor of the process changes what is not read yet. */
        records(file, 3, "before");
        int other = open(path, O_WRONLY);
        printf("%ld\n", (long)pwrite(other, "CHANGED-01", 10, 4 * RECORD));
        records(file, 3, "after");
        printf("%d\n", ftruncate(other, 8 * RECORD + 40));
        records(file, 9, "cut");
        close(other);
    } else if (!strcmp(how, "changed-by-child")) {
        records(file, 3, "before");
        snprintf(text, sizeof text, "printf CHANGED-02 | dd of=%s bs=1 seek=%d conv=notrunc status=none", path, 4 * RECORD);
        if (system(text)) printf("failed\n");
        records(file, 3, "after");
    } else if (!strcmp(how, "both")) {
        records(file, 3, "before");
        printf("%ld\n", (long)write(file, "WRITTEN-01", 10));
        at("written");
        lseek(file, 0, SEEK_SET);
        records(file, 6, "after");
    } else if (!strcmp(how, "dup")) {
        int other = dup(file);
        for (int i = 0; i < 3; i++) {
            records(file, 2, "one");
            records(other, 2, "two");
        }
        close(file);
        records(other, 2, "left");
    } else if (!strcmp(how, "streams")) {
        FILE *stream = fdopen(dup(file), "r");
        records(file, 3, "before");
        for (int i = 0; i < 3 && fgets(record, sizeof record, stream); i++) printf("%.10s\n", record);
        fclose(stream);
        at("after");
        stream = fopen(path, "r");
        char *line = NULL;
        size_t room = 0;
        int lines = 0;
        while (getline(&line, &room, stream) > 0) lines++;
        printf("%d lines\n", lines);
        rewind(stream);
        printf("%d\n", fgetc(stream));
        setvbuf(stream, NULL, _IONBF, 0);
        fclose(stream);
    } else if (!strcmp(how, "mapped")) {
        records(file, 3, "before");
        char *bytes = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
        printf("%.10s\n", bytes + 3 * RECORD);
        records(file, 3, "after");
    } else if (!strcmp(how, "sendfile")) {
        records(file, 3, "before");
        fflush(stdout);
        printf("%ld\n", (long)sendfile(1, file, NULL, 2 * RECORD));
        records(file, 3, "after");
        int ends[2];
        if (pipe(ends)) return 2;
        printf("%ld\n", (long)splice(file, NULL, ends[1], NULL, RECORD, 0));
        printf("%ld %.10s\n", (long)read(ends[0], record, RECORD), record);
        records(file, 3, "after");
    } else if (!strcmp(how, "looks")) {
        records(file, 3, "before");
        int left = -1;
        printf("%d", ioctl(file, FIONREAD, &left));
        printf(" %d\n", left);
        printf("%d", fstat(file, &status));
        printf(" %ld\n", (long)status.st_size);
        struct pollfd one = {file, POLLIN, 0};
        printf("%d\n", poll(&one, 1, 0));
        printf("%d\n", flock(file, LOCK_SH));
        records(file, 3, "locked");
        printf("%d\n", flock(file, LOCK_UN));
        printf("%d\n", posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
        records(file, 3, "after");
        printf("%d\n", fcntl(file, F_SETFL, O_NONBLOCK));
        records(file, 3, "after");
    } else if (!strcmp(how, "replaced")) {
        records(file, 3, "before");
        snprintf(text, sizeof text, "%s.new", path);
        int other = open(text, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (write(other, "another file", 12) != 12) return 2;
        lseek(other, 0, SEEK_SET);
        printf("%d\n", rename(text, path));
        records(file, 3, "still the old");
        printf("%d\n", dup2(other, file) == file);
        records(file, 3, "the new");
    } else if (!strcmp(how, "threads")) {
        pthread_t one;
        for (int i = 0; i < 3; i++) {
            if (pthread_create(&one, NULL, some, "thread")) return 2;
            pthread_join(one, NULL);
            records(file, 10, "main");
        }
    } else if (!strcmp(how, "shared")) {
        /* The offset is left where this program read to, for who shares the descriptor: standard input. */
        records(0, 3, "input");
    } else if (!strcmp(how, "killed")) {
        records(0, 3, "input");
        kill(getpid(), SIGKILL);
    } else {
        return 99;
    }
    return 0;
}
