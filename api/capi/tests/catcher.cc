// A program that CALLs one that throws, catches the exception, and continues.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <underbar/fetch.h>

int main(int, char **words) {
    underbar_library library;
    underbar_program program;
    if (underbar_library_open(words[1], UNDERBAR_FREEZE, &library)) return 1;
    if (underbar_load(&library, 1, "THROWER", UNDERBAR_FRESH, &program)) return 1;
    for (int times = 0; times < 3; times++) {
        try {
            underbar_call(program, nullptr, nullptr);
            return 2;
        } catch (const std::runtime_error &error) {
            if (std::strcmp(error.what(), "thrown by a program")) return 3;
        }
    }
    if (underbar_delete(program)) return 4;
    std::puts("caught");
    return 0;
}
