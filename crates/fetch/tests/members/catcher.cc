// Calls a function of another program, and catches its exception.
#include <cstring>
#include <exception>
#include <stdexcept>

extern "C" long catcher(long function) {
    try {
        return reinterpret_cast<long (*)(long)>(function)(-5);
    } catch (const std::runtime_error &error) {
        return std::strcmp(error.what(), "negative: -5") == 0 ? 1 : 2;
    } catch (...) {
        return 3;
    }
}

// Lets it pass.
extern "C" long passer(long function) { return reinterpret_cast<long (*)(long)>(function)(-7); }

// Throws and catches itself, with its own type.
struct Own {
    long value;
};
extern "C" long itself(long x) {
    try {
        throw Own{x};
    } catch (Own &own) {
        return own.value + 1;
    }
}
