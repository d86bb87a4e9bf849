// A program that a caller LINKs: exceptions that leave main, and objects that are destroyed on the way.
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

static int *destroyed;

struct Counted {
    std::string text = std::string(100, 'x');
    ~Counted() { ++*destroyed; }
};

struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
    std::string more = std::string(1000, 'y');
};

static int sinks(int depth, bool is_int) {
    Counted counted;
    if (depth == 0) {
        if (is_int) throw 5;
        throw Own("a long text that needs storage of its own, and that nobody frees but the exception");
    }
    return sinks(depth - 1, is_int) + static_cast<int>(counted.text.size());
}

int main(int, char **words) {
    destroyed = reinterpret_cast<int *>(std::strtoul(words[1], nullptr, 16));
    if (std::uncaught_exceptions() != 0) return 3;
    return sinks(9, words[2][0] == 'i');
}
