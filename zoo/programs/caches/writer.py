"""Lines by Python: writer.py HOW ENDING LINES FILE. HOW is flush (a file), unbuffered (a file) or print (standard output)."""
import os
import signal
import subprocess
import sys
import threading

how, ending, count, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
number = 0
out = sys.stdout if how == "print" else open(path, "wb", buffering=0) if how == "unbuffered" else open(path, "w")


def lines(count):
    global number
    for _ in range(count):
        text = f"{number:06d} ".ljust(132, "x") + "\n"
        number += 1
        out.write(text.encode() if how == "unbuffered" else text)
        out.flush()


lines(count)
if ending == "exit":
    sys.exit(3)
elif ending == "_exit":
    os._exit(4)
elif ending == "abort":
    os.abort()
elif ending == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif ending == "segv":
    os.kill(os.getpid(), signal.SIGSEGV)
elif ending == "exec":
    os.set_inheritable(out.fileno(), True)
    os.execl("/bin/sh", "sh", "-c", f"echo from exec >&{out.fileno()}; exit 6")
elif ending == "fork":
    for _ in range(3):
        child = os.fork()
        if child == 0:
            number = 500000
            lines(10)
            os._exit(0)
        os.waitpid(child, 0)
        lines(10)
elif ending == "run":
    os.set_inheritable(out.fileno(), True)
    subprocess.run(["/bin/sh", "-c", f"echo from a child >&{out.fileno()}"], close_fds=False, check=True)
    lines(10)
elif ending == "threads":
    for _ in range(3):
        thread = threading.Thread(target=lines, args=(10,))
        thread.start()
        thread.join()
    lines(10)
elif ending == "reopened" and how != "print":
    out.close()
    out = open(path, "a")
    how = "flush"
    lines(10)
elif ending == "renamed" and how != "print":
    out.close()
    os.rename(path, path + ".new")
elif ending == "read-back":
    for _ in range(3):
        with open("seen", "a") as seen, open(path) as back:
            seen.write(f"{os.stat(path).st_size} {os.fstat(out.fileno()).st_size} {len(back.read())}\n")
        lines(10)
elif ending == "handler":
    signal.signal(signal.SIGUSR1, lambda *_: os.write(out.fileno(), b"from the handler\n"))
    for _ in range(10):
        lines(1)
        os.kill(os.getpid(), signal.SIGUSR1)
else:
    sys.exit(99)
