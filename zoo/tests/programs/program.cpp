// Much of the standard library in one file: templates keep a compiler's heap busy.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

template <unsigned N> struct Fibonacci {
    static constexpr unsigned long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value;
};
template <> struct Fibonacci<1> { static constexpr unsigned long value = 1; };
template <> struct Fibonacci<0> { static constexpr unsigned long value = 0; };

template <typename... Ts> struct Visitor : Ts... { using Ts::operator()...; };
template <typename... Ts> Visitor(Ts...) -> Visitor<Ts...>;

using Value = std::variant<long, double, std::string, std::vector<long>>;

std::string show(const Value &value) {
    return std::visit(Visitor{
                          [](long number) { return std::to_string(number); },
                          [](double number) { return std::to_string(number); },
                          [](const std::string &text) { return text; },
                          [](const std::vector<long> &items) {
                              return std::to_string(std::accumulate(items.begin(), items.end(), 0L));
                          },
                      },
                      value);
}

template <std::size_t... I> auto squares(std::index_sequence<I...>) {
    return std::make_tuple((I * I)...);
}

} // namespace

int main() {
    std::map<std::string, std::set<int>> index;
    std::unordered_map<int, std::shared_ptr<std::string>> names;
    const std::regex word("([a-z]+)_([0-9]+)");
    for (int n = 0; n < 20000; ++n) {
        std::ostringstream text;
        text << "name_" << n % 977;
        std::smatch parts;
        const std::string whole = text.str();
        if (n < 2000 && std::regex_match(whole, parts, word)) index[parts[1].str()].insert(std::stoi(parts[2].str()));
        names[n] = std::make_shared<std::string>(whole);
    }
    std::vector<long> sums(4);
    std::vector<std::thread> threads;
    for (std::size_t which = 0; which < sums.size(); ++which) {
        threads.emplace_back([&sums, which] {
            for (int n = 0; n < 20000; ++n) {
                std::vector<std::string> pieces(static_cast<std::size_t>(n % 9), std::string(which * 30, 'x'));
                sums[which] += static_cast<long>(pieces.size());
            }
        });
    }
    for (auto &thread : threads) thread.join();
    try {
        std::vector<int>().at(1);
    } catch (const std::out_of_range &) {
        std::cout << "caught\n";
    }
    const std::vector<Value> values{1L, 2.5, std::string("three"), std::vector<long>{1, 2, 3}};
    for (const auto &value : values) std::cout << show(value) << '\n';
    std::cout << Fibonacci<60>::value << ' ' << std::get<11>(squares(std::make_index_sequence<12>{})) << ' '
              << index.size() << ' ' << names.size() << ' ' << std::accumulate(sums.begin(), sums.end(), 0L) << '\n';
    return 4;
}
