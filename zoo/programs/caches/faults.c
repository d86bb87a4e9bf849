/* Work files that are full, shared, followed by a reader, or no files at all: `faults MODE FILE [WORD...]`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define WIDTH 133

static char text[WIDTH + 1];

static const char *numbered(const char *who, int number) {
    memset(text, 'x', WIDTH);
    int length = snprintf(text, sizeof text, "%s %06d ", who, number);
    text[length] = 'x';
    text[WIDTH - 1] = '\n';
    return text;
}

/* Lines until one fails; then what else fails. Says on standard output whether anything failed, and the first error. */
static int full(const char *path, int count, const char *last, int by_stream) {
    const char *failed = NULL;
    int error = 0;
    FILE *stream = by_stream ? fopen(path, "w") : NULL;
    int file = stream ? fileno(stream) : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return 2;
    for (int i = 0; i < count && !failed; i++) {
        numbered("full", i);
        errno = 0;
        if (stream) {
            if (fputs(text, stream) < 0 || fflush(stream)) failed = "write", error = errno;
        } else {
            ssize_t done = write(file, text, WIDTH);
            if (done > 0 && done < WIDTH) done = write(file, text + done, (size_t)(WIDTH - done));
            if (done < 0) failed = "write", error = errno;
        }
    }
    if (!strcmp(last, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(last, "fsync") && fsync(file) && !failed) failed = "fsync", error = errno;
    if ((stream ? fclose(stream) : close(file)) && !failed) failed = "close", error = errno;
    printf("%s\n", failed ? strerror(error) : "nothing failed");
    fprintf(stderr, "%s\n", failed ? failed : "nothing");
    return failed != NULL;
}

/* A line and an answer, over whatever has these names. */
static int asks(const char *path, const char *from) {
    int out = open(path, O_WRONLY), in = open(from, O_RDONLY);
    char answer[64];
    for (int i = 0; i < 5; i++) {
        dprintf(out, "question %d\n", i);
        ssize_t got = read(in, answer, sizeof answer);
        if (got <= 0 || write(1, answer, (size_t)got) != got) return 1;
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const char *mode = words[1], *path = words[2];
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!strcmp(mode, "limit")) {
        struct rlimit limit = {5 * WIDTH + 50, 1 << 20};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit)) return 2;
        return full(path, atoi(words[3]), words[4], count > 5);
    } else if (!strcmp(mode, "full")) {
        return full(path, atoi(words[3]), words[4], count > 5);
    } else if (!strcmp(mode, "append")) {
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
        for (int i = 0; i < atoi(words[4]); i++)
            if (write(file, numbered(words[3], i), WIDTH) != WIDTH) return 1;
    } else if (!strcmp(mode, "followed")) {
        FILE *stream = fopen(path, "w");
        for (int step = 0; step < 4; step++) {
            for (int i = 0; i < 30; i++) {
                fputs(numbered("followed", step * 30 + i), stream);
                fflush(stream);
            }
            if (step == 1) fsync(fileno(stream));
            if (step == 3) fclose(stream);
            printf("step %d\n", step);
            if (!fgets(text, sizeof text, stdin)) return 1;
        }
    } else if (!strcmp(mode, "asks")) {
        return asks(path, words[3]);
    } else if (!strcmp(mode, "prompts")) {
        /* Three ways of asking for input; before each the question must be where the user can see it. */
        for (int i = 0; i < 3; i++) {
            char question[32];
            snprintf(question, sizeof question, "question %d\n", i);
            if (write(1, question, strlen(question)) < 0) return 1;
            if (i == 0 && read(0, text, 7) != 7) return 1;
            if (i == 1 && !fgets(text, sizeof text, stdin)) return 1;
            struct pollfd one = {0, POLLIN, 0};
            if (i == 2 && poll(&one, 1, -1) != 1) return 1;
        }
    } else if (!strcmp(mode, "mapped")) {
        /* The file is mapped before it is opened for writing, and no descriptor tells. */
        int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        for (int i = 0; i < 40; i++)
            if (write(file, numbered("mapped", i), WIDTH) != WIDTH) return 1;
        const char *bytes = mmap(NULL, 40 * WIDTH, PROT_READ, MAP_SHARED, file, 0);
        close(file);
        file = open(path, O_WRONLY);
        for (int i = 0; i < 5; i++) {
            if (write(file, numbered("change", i), WIDTH) != WIDTH) return 1;
            printf("%.13s\n", bytes + i * WIDTH);
        }
    } else if (!strcmp(mode, "opens")) {
        /* Whatever has this name: what open and a first write say. */
        int file = open(path, O_WRONLY);
        printf("%s\n", file < 0 ? strerror(errno) : "opened");
        if (file >= 0) printf("%s\n", write(file, "line\n", 5) == 5 ? "written" : strerror(errno));
        if (file >= 0) printf("%s\n", close(file) ? strerror(errno) : "closed");
    } else {
        return 99;
    }
    return 0;
}
