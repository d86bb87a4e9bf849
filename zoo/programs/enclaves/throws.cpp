// A program that a caller LINKs: exceptions of its own, thrown deep and caught in main. Ends with status 7.
#include <stdexcept>
#include <string>

static int sinks(int depth) {
    volatile char frame[500];
    frame[depth % 500] = 1;
    std::string alive(100, 'x');
    if (depth == 0) throw std::runtime_error("from below");
    return sinks(depth - 1) + frame[depth % 500] + static_cast<int>(alive.size());
}

int main() {
    for (int turn = 0; turn < 3; turn++) {
        try {
            sinks(100);
            return 1;
        } catch (const std::exception &caught) {
            if (std::string(caught.what()) != "from below") return 2;
        }
    }
    return 7;
}
