// A C++ library for RTLD_DEEPBIND: each side deletes objects that the other makes.
#include <map>
#include <new>
#include <string>

struct alignas(128) Wide {
    char bytes[256];
};

static std::map<int, std::string> made_early = {{1, std::string(100, 'e')}, {2, std::string(1000, 'f')}};

extern "C" std::string *deep_string(size_t length) { return new std::string(length, made_early[1][0]); }
extern "C" void deep_string_free(std::string *string) { delete string; }
extern "C" void *deep_wide() { return new Wide; }
extern "C" void deep_wide_free(void *wide) { delete static_cast<Wide *>(wide); }
extern "C" void *deep_nothrow(size_t size) { return ::operator new(size, std::nothrow); }

extern "C" int deep_refused() {
    volatile size_t much = static_cast<size_t>(-1) / 4;
    try {
        ::operator delete(::operator new(much));
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}
