// A library of C++ that a thread with a heap of its own opens: thread-local storage, exceptions, locales.
#include <cstring>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

static thread_local char room[20000];
static thread_local std::string words;

extern "C" char *thread_storage(void) { return room; }

/// Storage of the program itself: what it got is gone when it returns.
extern "C" int works(int number) {
    words = "the thread's own words, which are too long for their place";
    try {
        throw std::runtime_error("number " + std::to_string(number) + " is too long for its place in the text");
    } catch (const std::exception &error) {
        if (std::strncmp(error.what(), "number", 6) != 0) return 0;
    }
    std::locale classic = std::locale::classic();
    std::locale mine(classic, new std::numpunct<char>());
    std::ostringstream text;
    text.imbue(mine);
    text << number << " " << 2.5;
    return text.str().find("2.5") != std::string::npos;
}
