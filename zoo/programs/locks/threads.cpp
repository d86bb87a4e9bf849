// Threads of C++ that hand numbers on through queues with condition variables, under std::mutex, std::recursive_mutex,
// std::timed_mutex and std::call_once; prints sums, which are always the same.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

class Queue {
    std::mutex mutex;
    std::condition_variable filled, emptied;
    std::deque<long> numbers;
    bool closed = false;

  public:
    void put(long number) {
        std::unique_lock<std::mutex> lock(mutex);
        emptied.wait(lock, [this] { return numbers.size() < 32; });
        numbers.push_back(number);
        filled.notify_one();
    }
    bool get(long &number) {
        std::unique_lock<std::mutex> lock(mutex);
        while (numbers.empty() && !closed) filled.wait_for(lock, std::chrono::milliseconds(1));
        if (numbers.empty()) return false;
        number = numbers.front();
        numbers.pop_front();
        emptied.notify_one();
        return true;
    }
    void close() {
        std::lock_guard<std::mutex> lock(mutex);
        closed = true;
        filled.notify_all();
    }
};

static std::mutex totals_mutex;
static std::recursive_mutex log_mutex;
static std::timed_mutex timed;
static std::once_flag once;
static long total, entries, begun;

static void enter(long depth) {
    std::lock_guard<std::recursive_mutex> lock(log_mutex);
    entries++;
    if (depth > 0) enter(depth - 1);
}

int main() {
    Queue first, second;
    std::vector<std::thread> makers, movers, takers;
    for (int i = 0; i < 3; i++)
        makers.emplace_back([&, i] {
            std::call_once(once, [] { begun++; });
            for (long n = 0; n < 20000; n++) first.put(n * 3 + i);
        });
    for (int i = 0; i < 2; i++)
        movers.emplace_back([&] {
            long number;
            while (first.get(number)) second.put(number * 2);
        });
    for (int i = 0; i < 3; i++)
        takers.emplace_back([&] {
            long number;
            while (second.get(number)) {
                std::lock_guard<std::mutex> lock(totals_mutex);
                total += number;
                if (number % 1000 == 0) enter(3);
            }
        });
    for (auto &thread : makers) thread.join();
    first.close();
    for (auto &thread : movers) thread.join();
    second.close();
    for (auto &thread : takers) thread.join();
    timed.lock();
    auto tries = std::async(std::launch::async, [] {
        return timed.try_lock_for(std::chrono::milliseconds(2)) ||
               timed.try_lock_until(std::chrono::system_clock::now() + std::chrono::milliseconds(2));
    });
    bool got = tries.get();
    timed.unlock();
    std::printf("total %ld, entries %ld, begun %ld, got %d\ndone\n", total, entries, begun, got);
}
