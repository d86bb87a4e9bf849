/* lines HOW FILE: writes 10,000 lines of 132 characters, each passed on at its end, and says what the kernel counted and how long it
   took. HOW: endl (a stream of C++), cout, nosync (cout on its own), fflush (a stream of C), puts (lines that nobody passes on).
   All but endl write to standard output, which becomes the file. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <string>
#include <unistd.h>

static long long now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Calls of the write type, as the kernel counts them; -1: it does not tell. */
static long long writes() {
    char text[512] = "";
    int file = open("/proc/self/io", O_RDONLY);
    if (file < 0 || read(file, text, sizeof text - 1) < 0) return -1;
    close(file);
    const char *found = strstr(text, "syscw: ");
    return found ? atoll(found + 7) : -1;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    std::string how = arguments[1], text(132, 'x');
    FILE *said = fdopen(dup(1), "w");
    long long before = writes(), start = now();
    if (how == "endl") {
        std::ofstream out(arguments[2]);
        for (int i = 0; i < 10000; i++) out << text << std::endl;
        out.close();
    } else {
        if (how == "nosync") std::ios::sync_with_stdio(false);
        if (!freopen(arguments[2], "w", stdout)) return 1;
        for (int i = 0; i < 10000; i++) {
            if (how == "fflush") {
                fputs(text.c_str(), stdout);
                fputc('\n', stdout);
                fflush(stdout);
            } else if (how == "puts") {
                puts(text.c_str());
            } else {
                std::cout << text << std::endl;
            }
        }
        fclose(stdout);
    }
    long long elapsed = now() - start, after = writes();
    std::ifstream in(arguments[2]);
    long long bytes = 0, sum = 0;
    for (char byte; in.get(byte); bytes++) sum += byte;
    fprintf(said, "elapsed_ns=%lld\nbytes=%lld\nsum=%lld\n", elapsed, bytes, sum);
    if (before >= 0) fprintf(said, "writes=%lld\n", after - before);
    fclose(said);
    _exit(0);
}
