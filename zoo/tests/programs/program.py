# Many objects of many sizes, JSON, regular expressions, threads, and child processes.
import json
import re
import subprocess
import sys
import threading

people = [
    {"number": n, "name": f"person {n * 7919 % 10007}", "tags": [str(n % k) for k in range(1, 9)], "weight": n / 3}
    for n in range(60_000)
]
text = json.dumps(people, sort_keys=True)
assert json.loads(text) == people
with open("out.json", "w") as out:
    json.dump(people[:5_000], out, indent=1)

words = re.findall(r"person (\d+)5\b", text)
print(len(text), len(words), sum(map(int, words)))

results = {}


def work(which):
    kept = []
    for n in range(30_000):
        kept.append(bytes(n % 700))
        if n % 3:
            kept[n // 2] = None
    results[which] = sum(len(piece) for piece in kept if piece)


threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))

child = subprocess.run(
    [sys.executable, "-c", "import sys; print(sys.stdin.read().upper() * 2); sys.exit(7)"],
    input="from a child", capture_output=True, text=True,
)
print(child.returncode, child.stdout.split(), child.stderr)

big = bytearray()
for n in range(200):
    big.extend(b"x" * (n * 500))
print(len(big), hex(sum(big[::997])))
print("to standard error", file=sys.stderr)
print("done")
