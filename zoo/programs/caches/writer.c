/* Lines by C: `writer HOW ENDING LINES FILE`. HOW is stdio, write, writev, dprintf, print or append; print writes to standard output. */
#define _GNU_SOURCE
#include "endings.h"

static const char *how;
static FILE *stream;

static void line(const char *text) {
    size_t length = strlen(text);
    if (!strcmp(how, "stdio")) {
        fputs(text, stream);
        fflush(stream);
    } else if (!strcmp(how, "print")) {
        fputs(text, stdout);
        fflush(stdout);
    } else if (!strcmp(how, "writev")) {
        struct iovec two[2] = {{(char *)text, 5}, {(char *)text + 5, length - 5}};
        if (writev(file, two, 2) < 0) fprintf(seen, "writev: %s\n", strerror(errno));
    } else if (!strcmp(how, "dprintf")) {
        dprintf(file, "%s", text);
    } else {
        raw(file, text);
    }
}

static int opened(int flags) {
    if (!strcmp(how, "stdio")) {
        stream = fopen(path, flags & O_APPEND ? "a" : "w");
        if (!stream) abort();
        file = fileno(stream);
    } else if (!strcmp(how, "print")) {
        if (file >= 0) return 0;
        file = 1;
    } else {
        int append = !strcmp(how, "append") ? O_APPEND : 0;
        file = open(path, flags | append | O_WRONLY | O_CREAT, 0600);
        if (file < 0) abort();
    }
    return 1;
}

static int again(int append) {
    if (!strcmp(how, "print")) return 0;
    if (!strcmp(how, "stdio") && append == 0) {
        stream = freopen(path, "w", stream);
        if (!stream) abort();
        file = fileno(stream);
        return 1;
    }
    fprintf(seen, "close: %d\n", !strcmp(how, "stdio") ? fclose(stream) : close(file));
    return append < 0 ? 1 : opened(append ? O_APPEND : O_TRUNC);
}

int main(int count, char **words) {
    if (count != 5) return 2;
    how = words[1];
    path = words[4];
    seen = fopen("seen", "w");
    setbuf(seen, NULL);
    if (!opened(O_TRUNC)) return 2;
    lines(atoi(words[3]));
    if (!ending(words[2])) {
        fprintf(stderr, "no such ending\n");
        return 99;
    }
    return 0;
}
