# lines.py FILE: the lines of lines.cc by Python's print(flush=True).
import sys
import time


def writes():
    try:
        with open("/proc/self/io") as counts:
            return int(counts.read().split("syscw: ")[1].split()[0])
    except OSError:
        return None


text = "x" * 132
before, start = writes(), time.monotonic_ns()
with open(sys.argv[1], "w") as out:
    for _ in range(10000):
        print(text, file=out, flush=True)
elapsed, after = time.monotonic_ns() - start, writes()
with open(sys.argv[1], "rb") as back:
    all = back.read()
print(f"elapsed_ns={elapsed}\nbytes={len(all)}\nsum={sum(all)}")
if before is not None:
    print(f"writes={after - before}")
