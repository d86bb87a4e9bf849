// operator new and delete in all forms, without storage too: new-handlers are called, exceptions thrown and caught
// through several frames, and destructors run in between.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

static int handled, destroyed;

struct Guard {
    ~Guard() { destroyed++; }
};

struct alignas(256) Wide {
    char bytes[300];
};

struct Late {
    std::vector<std::string> texts;
    Late() { for (int i = 0; i < 1000; i++) texts.emplace_back(std::string(size_t(i), 'x')); }
    ~Late() { std::printf("global destructor: %zu texts\n", texts.size()); texts.clear(); }
};
static Late late;
static Late *never_deleted = new Late;

struct PerThread {
    std::vector<char *> held;
    ~PerThread() {
        for (char *p : held) delete[] p;
        std::string text(5000, 'y');
        held.assign(100, nullptr);
        for (char *&p : held) p = new char[text.size() % 997];
        for (char *p : held) delete[] p;
    }
};
static thread_local PerThread per_thread;

static void handler() {
    if (++handled % 3 == 0) std::set_new_handler(nullptr);
}

[[gnu::noinline]] static void *deeper(int depth, std::size_t size, int form) {
    Guard guard;
    if (depth) return deeper(depth - 1, size, form);
    switch (form) {
    case 0: return ::operator new(size);
    case 1: return ::operator new[](size);
    case 2: return ::operator new(size, std::align_val_t(64));
    case 3: return ::operator new[](size, std::align_val_t(4096));
    case 4: return ::operator new(size, std::nothrow);
    case 5: return ::operator new[](size, std::nothrow);
    case 6: return ::operator new(size, std::align_val_t(64), std::nothrow);
    default: return ::operator new[](size, std::align_val_t(128), std::nothrow);
    }
}

static void give(void *p, std::size_t size, int form) {
    switch (form) {
    case 0: ::operator delete(p, size); break;
    case 1: ::operator delete[](p); break;
    case 2: ::operator delete(p, size, std::align_val_t(64)); break;
    case 3: ::operator delete[](p, std::align_val_t(4096)); break;
    case 4: ::operator delete(p, std::nothrow); break;
    case 5: ::operator delete[](p, size); break;
    case 6: ::operator delete(p, std::align_val_t(64), std::nothrow); break;
    default: ::operator delete[](p, size, std::align_val_t(128)); break;
    }
}

static void all_forms(std::size_t huge) {
    for (int form = 0; form < 8; form++) {
        static const std::size_t align[] = {16, 16, 64, 4096, 16, 16, 64, 128};
        for (std::size_t size : {0, 1, 100, 1024, 1025, 40000, 2000000}) {
            void *p = deeper(0, size, form);
            if (!p || reinterpret_cast<std::uintptr_t>(p) % align[form]) std::printf("form %d: WRONG\n", form);
            std::memset(p, 1, size);
            give(p, size, form);
        }
        handled = destroyed = 0;
        std::set_new_handler(handler);
        const char *what = "null";
        try {
            if (deeper(10, huge, form)) what = "WRONG";
        } catch (const std::bad_alloc &error) {
            what = error.what();
        }
        std::printf("form %d: %s, %d handled, %d destroyed\n", form, what, handled, destroyed);
        std::set_new_handler(nullptr);
    }
}

int main() {
    volatile std::size_t huge = std::size_t(1) << 46;
    all_forms(huge);
    std::thread(all_forms, huge).join();
    try {
        std::vector<char> vector(huge);
        std::printf("WRONG\n");
    } catch (const std::bad_alloc &) {
        std::printf("caught\n");
    }
    std::unique_ptr<Wide[]> wide(new Wide[10]);
    std::printf("over-aligned: %s\n", reinterpret_cast<std::uintptr_t>(wide.get()) % 256 ? "WRONG" : "good");
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
        threads.emplace_back([] { for (int i = 0; i < 3000; i++) per_thread.held.push_back(new char[size_t(i)]); });
    for (std::thread &thread : threads) thread.join();
    for (int i = 0; i < 1000; i++) per_thread.held.push_back(new char[size_t(i)]);
    std::printf("%zu\n", never_deleted->texts.size());
    return 0;
}
