// Threads that hand numbers on under monitors, locks, conditions and pools, while garbage is collected; the sums are always
// the same.
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.LongStream;

public class Threads {
    static final ArrayDeque<Long> queue = new ArrayDeque<>();
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition filled = lock.newCondition(), emptied = lock.newCondition();
    static final Object monitor = new Object();
    static long total, taken;

    static void put(long number) throws InterruptedException {
        lock.lock();
        try {
            while (queue.size() >= 16) emptied.await();
            queue.add(number);
            filled.signal();
        } finally {
            lock.unlock();
        }
    }

    static long take() throws InterruptedException {
        lock.lock();
        try {
            while (queue.isEmpty()) filled.await();
            emptied.signal();
            return queue.remove();
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            final int which = i;
            threads.add(new Thread(() -> {
                try {
                    for (long n = 0; n < 5000; n++) put(n * 4 + which);
                } catch (InterruptedException never) {
                    throw new IllegalStateException(never);
                }
            }));
            threads.add(new Thread(() -> {
                try {
                    for (int n = 0; n < 5000; n++) {
                        long number = take();
                        byte[] garbage = new byte[4096 + (int) (number % 4096)];
                        synchronized (monitor) {
                            total += number + garbage[0];
                            taken++;
                        }
                    }
                } catch (InterruptedException never) {
                    throw new IllegalStateException(never);
                }
            }));
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println("taken " + taken + ", together " + total);

        var pool = Executors.newFixedThreadPool(6);
        var words = new ConcurrentHashMap<String, LongAdder>();
        List<Future<?>> futures = new ArrayList<>();
        for (int task = 0; task < 60; task++) {
            final int which = task;
            futures.add(pool.submit(() -> {
                for (int n = 0; n < 500; n++) {
                    words.computeIfAbsent("word " + (n * which) % 97, any -> new LongAdder()).increment();
                    if (n == 250) Thread.yield();
                }
            }));
        }
        for (Future<?> future : futures) future.get();
        pool.shutdown();
        long sum = words.values().stream().mapToLong(LongAdder::sum).sum();
        System.out.println("words " + words.size() + ", together " + sum);
        System.out.println("in parallel " + LongStream.range(0, 2_000_000).parallel().map(n -> n * n % 1009).sum());
        System.gc();
        System.exit(words.size() == 97 ? 5 : 6);
    }
}
