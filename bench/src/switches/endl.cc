// endl COUNT: so many lines of 132 characters, each flushed by std::endl; their time goes to standard error.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

int main(int count, char **words) {
    long lines = count > 1 ? atol(words[1]) : 0;
    std::string line(132, 'x');
    auto begin = std::chrono::steady_clock::now();
    for (long i = 0; i < lines; i++) std::cout << line << std::endl;
    auto took = std::chrono::steady_clock::now() - begin;
    fprintf(stderr, "took %lld %ld\n", (long long)std::chrono::nanoseconds(took).count(), lines);
    return std::cout ? 0 : 1;
}
