// ECBs in a C++ program: what the C++ library keeps outlives the ECB, and exceptions leave it whole.
#include <cstdio>
#include <cstring>
#include <iostream>
#include <locale>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <underbar/ecb.h>
#include <vector>

namespace {

// Leaves and ends the ECB, also when an exception passes.
struct Ecb {
    underbar_ecb number;
    explicit Ecb(const char *name) : number(underbar_ecb_begin(name)) {}
    ~Ecb() { underbar_ecb_finish(number); }
};

void fails(int depth) {
    std::vector<std::string> names;
    for (int at = 0; at < depth; at++) names.push_back(std::string(100, 'x'));
    if (depth > 0) fails(depth - 1);
    throw std::runtime_error("an exception with a text that is longer than a small string holds");
}

}  // namespace

int main() {
    for (int round = 0; round < 200; round++) {
        try {
            Ecb ecb("THROW");
            fails(round % 10);
        } catch (const std::exception &error) {
            // Its text was made in the ECB, and belongs to the C++ library.
            if (std::strlen(error.what()) != 65) return 3;
            Ecb over("THROW");
            std::vector<std::unique_ptr<char[]>> all;
            for (std::size_t size = 1; size < 500; size++) {
                all.emplace_back(new char[size]);
                std::memset(all.back().get(), 0xdb, size);
            }
            all.clear();
            if (std::strlen(error.what()) != 65) return 4;
        }
    }
    {
        Ecb ecb("LOCALE");
        std::locale::global(std::locale::classic());
        std::ostringstream text;
        text << 3.5 << std::string(300, 'y');
        if (text.str().size() != 303) return 5;
    }
    std::ostringstream text;
    text << 1.25;
    if (text.str() != "1.25") return 6;
    if (underbar_ecb_current && underbar_ecb_current() != 0) return 7;
    std::puts("thrown");
    return 0;
}
