// Writes 10,000 lines of 133 bytes, each of them flushed: endl MODE FILE [LINE AFTER WHICH IT KILLS ITSELF].
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <unistd.h>

static int last = -1;

template <class Stream> static void lines(Stream &stream) {
    const std::string line(132, 'x');
    for (int at = 0; at < 10000; at++) {
        stream << line << std::endl;
        if (at == last) kill(getpid(), SIGKILL);
    }
}

int main(int count, char **arguments) {
    const std::string mode = arguments[1];
    if (count > 3) last = std::atoi(arguments[3]);
    if (mode == "ofstream") {
        std::ofstream file(arguments[2]);
        lines(file);
    } else {
        std::ios::sync_with_stdio(mode == "cout");
        lines(std::cout);
    }
    return 0;
}
