// Threads and their locals, static destructors, a request that cannot be served, a child by fork, alignment: the ways in which a program
// that has the runtime in itself begins and ends.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::map<std::string, std::vector<int>> table;

struct Last {
    std::string text{"at the end of the process, too long for its object"};
    ~Last() {
        std::vector<std::string> many(100, text + text);
        if (many.back().size() != 2 * text.size()) abort();
    }
};
static Last last;

thread_local std::string mine;

struct alignas(64) Line {
    char bytes[64];
};

static size_t large = size_t(1) << 60;

int main() {
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<std::string>> got(8);
    for (int at = 0; at < 8; at++)
        threads.emplace_back([at, &got] {
            for (int length = 0; length < 1000; length++) mine = std::string(length, 'a');
            got[at] = std::make_unique<std::string>(mine);
        });
    for (auto &thread : threads) thread.join();
    for (int key = 0; key < 1000; key++) table[std::to_string(key)] = std::vector<int>(key);
    try {
        ::operator delete(::operator new(large));
        return 1;
    } catch (const std::bad_alloc &) {
    }
    if (::operator new(large, std::nothrow)) return 2;
    pid_t child = fork();
    if (child == 0) {
        std::string text(10000, 'c');
        _exit(text.size() != 10000);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status) return 3;
    std::unique_ptr<Line[]> lines(new Line[3]);
    if (reinterpret_cast<uintptr_t>(lines.get()) % 64) return 4;
    std::cout << "done " << table.size() << std::endl;
}
