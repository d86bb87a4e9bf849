// C++: from a catch block, from a destructor while an exception unwinds, and through inlined templates.
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

extern "C" void take(void);
static volatile int sink;

struct Guard {
  __attribute__((noinline)) ~Guard() {
    if (std::uncaught_exceptions() > 0)
      take();
  }
};

namespace shop {
template <typename T> struct Basket {
  std::vector<T> items;
  inline void each(const std::function<void(T)> &what) {
    for (T item : items)
      what(item);
  }
};
} // namespace shop

__attribute__((noinline)) void throws(int x) {
  Guard guard;
  sink = x;
  if (x > 0)
    throw std::runtime_error("x");
}

__attribute__((noinline)) void catches() {
  try {
    throws(1);
  } catch (const std::exception &) {
    take();
  }
}

int main(int count, char **words) {
  const char *how = count > 1 ? words[1] : "";
  if (!strcmp(how, "exception"))
    catches();
  if (!strcmp(how, "template")) {
    shop::Basket<long> basket{{1, 2, 3}};
    basket.each([](long item) {
      sink = item;
      take();
    });
  }
  return 0;
}
