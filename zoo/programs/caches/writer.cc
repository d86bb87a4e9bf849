/* Lines by C++: `writer HOW ENDING LINES FILE`. HOW is endl, cout or nosync; the latter two write to standard output. */
#include "endings.h"

#include <fstream>
#include <iostream>
#include <string>

static std::string how;
static std::ofstream *stream;

static void line(const char *text) {
    std::string without(text, strlen(text) - 1);
    (how == "endl" ? *stream : std::cout) << without << std::endl;
}

/* The descriptor that is open for the file. */
static int descriptor(void) {
    struct stat of_path, of_file;
    if (stat(path, &of_path)) return -1;
    for (int i = 0; i < 64; i++)
        if (!fstat(i, &of_file) && of_file.st_ino == of_path.st_ino && of_file.st_dev == of_path.st_dev) return i;
    return -1;
}

static int again(int append) {
    if (how != "endl") return 0;
    stream->close();
    fprintf(seen, "close: %d\n", stream->fail());
    if (append < 0) return 1;
    stream->open(path, append ? std::ios::app : std::ios::trunc);
    file = descriptor();
    return 1;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    how = words[1];
    path = words[4];
    seen = fopen("seen", "w");
    setbuf(seen, nullptr);
    if (how == "nosync") std::ios::sync_with_stdio(false);
    /* Not of main, which may end before a thread does. */
    static std::ofstream out;
    stream = &out;
    if (how == "endl") {
        out.open(path);
        file = descriptor();
    } else {
        file = 1;
    }
    lines(atoi(words[3]));
    if (!ending(words[2])) {
        fprintf(stderr, "no such ending\n");
        return 99;
    }
    return 0;
}
