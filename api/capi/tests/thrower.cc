// A program that throws.
#include <stdexcept>

extern "C" long THROWER(void *) { throw std::runtime_error("thrown by a program"); }
