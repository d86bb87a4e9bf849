// Throws; and counts how many of its objects were destroyed.
#include <stdexcept>
#include <string>

static long destroyed;
struct Guard {
    ~Guard() { destroyed++; }
};

extern "C" long thrower(long x) {
    Guard guard;
    if (x < 0)
        throw std::runtime_error("negative: " + std::to_string(x));
    return x;
}

extern "C" long destroyed_so_far(long) { return destroyed; }
