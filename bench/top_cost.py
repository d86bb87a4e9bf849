#!/usr/bin/env python3
"""The cost of `underbar top`: CPU time of the view, and of the programs that it watches.

    bench/top_cost.py UNDERBAR [PROCESSES [SECONDS]]

Starts sleeping programs under `run --exec`, each with a ledger of its own, and for some seconds a view of them at 1 Hz on a terminal of
120 by 40. Prints the kernel's figures of the view (getrusage), and the CPU time that the programs took meanwhile (/proc/PID/schedstat).
"""
import fcntl, os, pty, select, signal, struct, subprocess, sys, tempfile, termios, time

underbar = os.path.abspath(sys.argv[1])
processes = int(sys.argv[2]) if len(sys.argv) > 2 else 100
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 30
folder = tempfile.mkdtemp()
os.chmod(folder, 0o700)
environment = {**os.environ, "XDG_RUNTIME_DIR": folder, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
for name in ("UNDERBAR_LEDGER", "LD_PRELOAD", "NO_COLOR"):
    environment.pop(name, None)


def processor_ns(process):
    """CPU time of the first thread, in nanoseconds; sleep has no other."""
    with open(f"/proc/{process}/schedstat") as file:
        return int(file.read().split()[0])


def sleeping(process):
    with open(f"/proc/{process}/comm") as file:
        return file.read() == "sleep\n"


programs = [
    subprocess.Popen(
        [underbar, "run", "--exec", "--", "sleep", "100000"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    for _ in range(processes)
]
try:
    while not all(sleeping(program.pid) for program in programs):
        time.sleep(0.1)
    time.sleep(1)
    before = [processor_ns(program.pid) for program in programs]
    view, terminal = pty.fork()
    if view == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.execve(underbar, [underbar, "top", "--every", "1s"], environment)
    written, end = 0, time.monotonic() + seconds
    shown = b""
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            piece = os.read(terminal, 65536)
            written += len(piece)
            shown = (shown + piece)[-65536:]
    os.write(terminal, b"q")
    while True:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    _, status, usage = os.wait4(view, 0)
    after = [processor_ns(program.pid) for program in programs]
    took = usage.ru_utime + usage.ru_stime
    print(f"{processes} processes, {seconds:.0f} s at 1 Hz, exit status {os.waitstatus_to_exitcode(status)}")
    print(f"view: user {usage.ru_utime:.3f} s, system {usage.ru_stime:.3f} s, together {took:.3f} s: {100 * took / seconds:.2f} % of a processor")
    print(f"view: {usage.ru_maxrss / 1024:.1f} MiB resident at most, {written} bytes written to the terminal")
    print(f"programs: {sum(after) - sum(before)} ns of CPU time meanwhile, all together")
finally:
    for program in programs:
        program.send_signal(signal.SIGKILL)
        program.wait()
