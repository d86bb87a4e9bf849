// Opens libraries with RTLD_DEEPBIND, frees what they got, and gives them what it got: from several threads, lazily and at
// once, again and again. Arguments: the library of C, the library of C++; more of them: how many rounds.
#include <dlfcn.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" const char *deep_who() { return "program"; }

static const char *paths[2];
static int rounds = 6;

template <class Function> static Function *of(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) std::printf("WRONG: no %s: %s\n", name, dlerror());
    return reinterpret_cast<Function *>(found);
}

static void expect(bool holds, const char *what) {
    if (!holds) std::printf("WRONG: %s\n", what);
}

static void of_c(int mode, bool is_alone) {
    void *library = dlopen(paths[0], mode | RTLD_DEEPBIND);
    if (!library) return void(std::printf("WRONG: %s\n", dlerror()));
    auto get = of<void *(int, size_t)>(library, "deep_get");
    auto give = of<void(void *)>(library, "deep_free");
    expect(!std::strcmp(of<const char *()>(library, "deep_found")(), "dependency"), "the flag has lost its meaning");
    if (is_alone) {
        char *early = of<char *()>(library, "deep_early")();
        expect(early && !std::strcmp(early, "from a constructor"), "the constructor's text");
        std::free(early);
    }
    std::vector<void *> late;
    for (int kind = 0; kind < 8; kind++)
        for (size_t size : {1, 100, 1000, 40000, 300000}) {
            std::free(get(kind, size));
            give(std::memset(std::malloc(size), 'p', size));
            late.push_back(get(kind, size));
            char *block = static_cast<char *>(std::malloc(size));
            std::memset(block, 'g', size);
            block = static_cast<char *>(of<void *(void *, size_t)>(library, "below_grow")(block, 3 * size));
            expect(block[0] == 'g' && block[size - 1] == 'g', "grown there");
            expect(of<size_t(void *)>(library, "below_usable")(block) >= 3 * size, "usable there");
            expect(malloc_usable_size(block) >= 3 * size, "usable here");
            block = static_cast<char *>(of<void *(void *, size_t)>(library, "below_grow_array")(block, 5 * size));
            expect(block[0] == 'g', "grown as an array");
            of<void(void *)>(library, "below_free")(block);
            char *theirs = static_cast<char *>(of<void *(size_t)>(library, "below_get")(size));
            theirs = static_cast<char *>(std::realloc(theirs, 2 * size));
            expect(theirs[0] == 'b' && theirs[size - 1] == 'b', "grown here");
            give(theirs);
        }
    // By the library's handle, which finds its C library's functions.
    auto got = of<void *(size_t)>(library, "malloc");
    auto freed = of<void(void *)>(library, "free");
    std::free(got(500));
    freed(std::malloc(500));
    freed(got(500));
    if (is_alone) expect(of<int()>(library, "deep_life")() == 0, "threads and children");
    dlclose(library);
    for (void *block : late) std::free(block);
}

static void of_cpp(int mode) {
    void *library = dlopen(paths[1], mode | RTLD_DEEPBIND);
    if (!library) return void(std::printf("WRONG: %s\n", dlerror()));
    auto make = of<std::string *(size_t)>(library, "deep_string");
    for (size_t length : {1, 100, 5000, 300000}) {
        std::string *theirs = make(length);
        expect(theirs->size() == length && (*theirs)[0] == 'e', "a string");
        theirs->append(length, 'h');
        delete theirs;
        of<void(std::string *)>(library, "deep_string_free")(new std::string(length, 'm'));
    }
    ::operator delete(of<void *(size_t)>(library, "deep_nothrow")(700));
    of<void(void *)>(library, "deep_wide_free")(of<void *()>(library, "deep_wide")());
    expect(of<int()>(library, "deep_refused")(), "bad_alloc");
    dlclose(library);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    paths[0] = words[1], paths[1] = words[2];
    if (count > 3) rounds = std::atoi(words[3]);
    // First by several threads at once.
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            for (int round = 0; round < rounds; round++) {
                of_c((round + i) % 2 ? RTLD_LAZY : RTLD_NOW, false);
                of_cpp(i % 2 ? RTLD_LAZY : RTLD_NOW);
            }
        });
    for (std::thread &thread : threads) thread.join();
    for (int mode : {RTLD_LAZY, RTLD_NOW, RTLD_NOW | RTLD_GLOBAL}) {
        of_c(mode, true);
        of_cpp(mode);
    }
    std::printf("done\n");
}
