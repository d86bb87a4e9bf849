// An aligned object whose storage is written past its end.
#include <cstdio>

struct alignas(64) Aligned {
    char bytes[64];
};

int main() {
    Aligned *volatile object = new Aligned;
    reinterpret_cast<volatile char *>(object)[64] = 1;
    delete object;
    std::puts("goes on");
}
