/* How a program that writes lines goes on and ends: the same words for C and C++. The program gives the lines (line_of, flush_all), and
   after its first lines calls `ending`. What is read back goes to `seen`, a file that no test caches, so that two runs can be compared.

   Every line has its number and 133 bytes: a line that is lost, twice, or in another place is seen.

   Not here: how lines are written (writer.c, writer.cc). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIDTH 133
extern char **environ;

/* Writes one line, by the way of this program. */
static void line(const char *text);
/* Closes the file as this program does, and opens it again: with its old content if `append`. Returns 0 if it has no such way. */
static int again(int append);

static const char *path;
static int number;
/* The descriptor of the file; -1: closed. */
static int file = -1;
static FILE *seen;

/* The next line. */
static void next(void) {
    char text[WIDTH + 1];
    memset(text, 'x', WIDTH);
    int length = snprintf(text, sizeof text, "%06d ", number++);
    text[length] = 'x';
    text[WIDTH - 1] = '\n';
    text[WIDTH] = 0;
    line(text);
}

static void lines(int count) {
    for (int i = 0; i < count; i++) next();
}

/* A line straight to a descriptor. */
static void raw(int to, const char *text) {
    if (write(to, text, strlen(text)) < 0) fprintf(seen, "raw: %s\n", strerror(errno));
}

static void waited(pid_t child) {
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child) fprintf(seen, "no child\n");
    fprintf(seen, "child: %d\n", status);
}

/* What a reader of the path gets now: size, and sum of all bytes. */
static void reads(const char *name) {
    int from = open(name, O_RDONLY);
    unsigned char piece[4096];
    unsigned long sum = 0, size = 0;
    for (ssize_t got; (got = read(from, piece, sizeof piece)) > 0; size += (unsigned long)got)
        for (ssize_t i = 0; i < got; i++) sum = sum * 31 + piece[i];
    close(from);
    fprintf(seen, "%s: %lu bytes, %lx\n", name, size, sum);
}

static void *some_lines(void *how) {
    char text[64];
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof text, "thread %ld, %d\n", (long)how, i);
        line(text);
    }
    return NULL;
}

static void handler(int signal_number) {
    (void)signal_number;
    raw(file, "from the handler\n");
}

static volatile sig_atomic_t jumps;
static volatile long written;
static sigjmp_buf out;

static void jumper(int signal_number) {
    (void)signal_number;
    jumps++;
    siglongjmp(out, 1);
}

static void last_line(void) { next(); }

static void *lines_of_thread(void *nothing) {
    lines(20);
    return nothing;
}

static void child_says(const char *how) {
    char text[128], words[160];
    snprintf(text, sizeof text, "echo from %s >&%d", how, file);
    if (!strcmp(how, "system")) {
        fprintf(seen, "%d\n", system(text));
    } else if (!strcmp(how, "popen")) {
        snprintf(words, sizeof words, "%s; echo read", text);
        FILE *pipe = popen(words, "r");
        if (pipe && fgets(words, sizeof words, pipe)) fputs(words, seen);
        if (pipe) pclose(pipe);
    } else {
        pid_t child;
        char shell[] = "sh", flag[] = "-c";
        char *arguments[] = {shell, flag, text, NULL};
        if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ)) abort();
        waited(child);
    }
}

/* Sends the descriptor to a child, which writes to it. */
static void passed(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    pid_t child = fork();
    char room[CMSG_SPACE(sizeof(int))], byte = 'x';
    memset(room, 0, sizeof room);
    struct iovec one = {&byte, 1};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    if (child == 0) {
        close(file);
        if (recvmsg(ends[1], &message, 0) != 1) _exit(1);
        int got;
        memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
        raw(got, "by one who got it\n");
        _exit(0);
    }
    lines(5);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof file);
    if (sendmsg(ends[0], &message, 0) != 1) abort();
    waited(child);
}

/* What goes on after the first lines. Returns 0 if there is no such way for this program. */
static int ending(const char *how) {
    char text[128];
    struct stat status;
    pthread_t threads[4];
    if (!strcmp(how, "exit")) {
        atexit(last_line);
        exit(3);
    } else if (!strcmp(how, "return")) {
        return 1;
    } else if (!strcmp(how, "_exit")) {
        _exit(4);
    } else if (!strcmp(how, "quick_exit")) {
        at_quick_exit(last_line);
        quick_exit(5);
    } else if (!strcmp(how, "abort")) {
        abort();
    } else if (!strcmp(how, "kill")) {
        kill(getpid(), SIGKILL);
    } else if (!strcmp(how, "segv")) {
        *(volatile int *)8 = 1;
    } else if (!strcmp(how, "term")) {
        kill(getpid(), SIGTERM);
    } else if (!strcmp(how, "caught")) {
        /* A fatal signal with a handler, which writes and ends the program. */
        signal(SIGSEGV, handler);
        signal(SIGTERM, handler);
        raise(SIGTERM);
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    } else if (!strcmp(how, "exec")) {
        snprintf(text, sizeof text, "echo from exec >&%d; exit 6", file);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    } else if (!strcmp(how, "exec-fails")) {
        execl("/nowhere", "nowhere", (char *)NULL);
        lines(10);
    } else if (!strcmp(how, "fork")) {
        /* Child and parent both write, in turns, to one offset. */
        for (int turn = 0; turn < 3; turn++) {
            pid_t child = fork();
            if (child == 0) {
                number = 500000;
                lines(10);
                _exit(0);
            }
            waited(child);
            lines(10);
        }
    } else if (!strcmp(how, "fork-exit")) {
        pid_t child = fork();
        if (child == 0) {
            number = 500000;
            lines(10);
            exit(0);
        }
        waited(child);
        lines(10);
        kill(getpid(), SIGKILL);
    } else if (!strcmp(how, "vfork")) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        waited(child);
        lines(10);
    } else if (!strcmp(how, "spawn") || !strcmp(how, "system") || !strcmp(how, "popen")) {
        lines(3);
        child_says(how);
        lines(10);
        child_says(how);
    } else if (!strcmp(how, "threads")) {
        /* One after the other, so that there is one right order. */
        for (long i = 0; i < 4; i++) {
            if (pthread_create(&threads[0], NULL, some_lines, (void *)i)) abort();
            pthread_join(threads[0], NULL);
            lines(1);
        }
    } else if (!strcmp(how, "at-once")) {
        /* At the same time: any order of whole lines; the test sorts them. */
        for (long i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, some_lines, (void *)i)) abort();
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    } else if (!strcmp(how, "main-ends-first")) {
        if (pthread_create(&threads[0], NULL, lines_of_thread, NULL)) abort();
        pthread_exit(NULL);
    } else if (!strcmp(how, "reopened") || !strcmp(how, "appended")) {
        for (int i = 0; i < 3; i++) {
            if (!again(!strcmp(how, "appended"))) return 0;
            reads(path);
            lines(10);
        }
    } else if (!strcmp(how, "renamed")) {
        if (!again(-1)) return 0;
        reads(path);
        snprintf(text, sizeof text, "%s.new", path);
        fprintf(seen, "%d\n", rename(path, text));
        reads(text);
    } else if (!strcmp(how, "renamed-open")) {
        snprintf(text, sizeof text, "%s.new", path);
        fprintf(seen, "%d\n", rename(path, text));
        reads(text);
        lines(10);
    } else if (!strcmp(how, "linked")) {
        snprintf(text, sizeof text, "%s.link", path);
        fprintf(seen, "%d\n", link(path, text));
        reads(text);
        lines(10);
        fprintf(seen, "%d\n", unlink(path));
        lines(10);
    } else if (!strcmp(how, "read-back")) {
        for (int i = 0; i < 3; i++) {
            reads(path);
            lines(10);
        }
    } else if (!strcmp(how, "stat")) {
        for (int i = 0; i < 3; i++) {
            fprintf(seen, "%d", stat(path, &status));
            fprintf(seen, " %ld", (long)status.st_size);
            lines(7);
            fprintf(seen, " %d", fstat(file, &status));
            fprintf(seen, " %ld\n", (long)status.st_size);
            lines(7);
#ifdef STATX_SIZE
            struct statx more;
            fprintf(seen, "%d", statx(AT_FDCWD, path, 0, STATX_SIZE, &more));
            fprintf(seen, " %ld\n", (long)more.stx_size);
            lines(7);
#endif
        }
    } else if (!strcmp(how, "cat")) {
        /* Another program reads the file meanwhile: what a start of a program shows must be there. */
        snprintf(text, sizeof text, "wc -c < %s >> counted", path);
        fprintf(seen, "%d\n", system(text));
        lines(10);
        fprintf(seen, "%d\n", system(text));
    } else if (!strcmp(how, "mapped")) {
        int from = open(path, O_RDONLY);
        char *bytes = (char *)mmap(NULL, WIDTH * 20, PROT_READ, MAP_SHARED, from, 0);
        if (bytes == (char *)MAP_FAILED) abort();
        fprintf(seen, "%.6s\n", bytes + WIDTH * 9);
        lines(20);
        reads(path);
        fprintf(seen, "%.6s\n", bytes + WIDTH * 19);
        munmap(bytes, WIDTH * 20);
        close(from);
    } else if (!strcmp(how, "jumps")) {
        /* A timer's handler leaves writes wherever they are; then another thread writes. */
        struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
        signal(SIGALRM, jumper);
        setitimer(ITIMER_REAL, &often, NULL);
        off_t base = lseek(file, 0, SEEK_CUR);
        sigsetjmp(out, 1);
        while (jumps < 300) {
            if (write(file, "y", 1) != 1) abort();
            written++;
        }
        setitimer(ITIMER_REAL, &never, NULL);
        /* A jump may come between a write and its count. */
        off_t now = lseek(file, 0, SEEK_CUR);
        fprintf(seen, "%d\n", now - base >= written && now - base <= written + jumps);
        fprintf(seen, "%d\n", fstat(file, &status) == 0 && status.st_size == now);
        fprintf(seen, "%d\n", ftruncate(file, base));
        fprintf(seen, "%d\n", lseek(file, base, SEEK_SET) == base);
        for (long i = 0; i < 2; i++) {
            if (pthread_create(&threads[0], NULL, some_lines, (void *)i)) abort();
            pthread_join(threads[0], NULL);
        }
    } else if (!strcmp(how, "dup")) {
        int other = dup(file);
        for (int i = 0; i < 5; i++) {
            next();
            raw(other, "by the other descriptor\n");
        }
        close(other);
        next();
        other = fcntl(file, F_DUPFD, 40);
        raw(other, "by a third\n");
        next();
        close(other);
    } else if (!strcmp(how, "dup2-away")) {
        /* Another file takes its descriptor. */
        int other = open("other", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        fprintf(seen, "%d\n", dup2(other, file) == file);
        close(other);
        reads(path);
        lines(10);
    } else if (!strcmp(how, "dup2-onto")) {
        /* The descriptor is kept elsewhere meanwhile, as a shell does. */
        int kept = dup(file);
        int other = open("other", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(other, file);
        close(other);
        lines(5);
        dup2(kept, file);
        close(kept);
        lines(5);
    } else if (!strcmp(how, "closed") || !strcmp(how, "close_range")) {
        /* The descriptor is closed behind the back of whoever writes; its number is used again. */
        fprintf(seen, "%d\n", strcmp(how, "closed") ? close_range((unsigned)file, (unsigned)file, 0) : close(file));
        int other = open("other", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (other != file) dup2(other, file);
        lines(5);
        reads(path);
        _exit(0);
    } else if (!strcmp(how, "fdopen")) {
        FILE *stream = fdopen(dup(file), "w");
        for (int i = 0; i < 5; i++) {
            next();
            fprintf(stream, "by a stream\n");
            fflush(stream);
        }
        fprintf(stream, "by a stream that is closed\n");
        fclose(stream);
        next();
        dprintf(file, "by %s\n", "dprintf");
        next();
    } else if (!strcmp(how, "handler")) {
        signal(SIGUSR1, handler);
        for (int i = 0; i < 10; i++) {
            next();
            raise(SIGUSR1);
        }
    } else if (!strcmp(how, "seek")) {
        fprintf(seen, "%ld\n", (long)lseek(file, 0, SEEK_CUR));
        lines(3);
        fprintf(seen, "%ld\n", (long)lseek(file, 0, SEEK_CUR));
        fprintf(seen, "%ld\n", (long)lseek(file, WIDTH * 2, SEEK_SET));
        lines(3);
        fprintf(seen, "%ld\n", (long)lseek(file, WIDTH, SEEK_END));
        lines(3);
        fprintf(seen, "%ld\n", (long)lseek(file, -WIDTH, SEEK_CUR));
        lines(3);
    } else if (!strcmp(how, "pwrite")) {
        fprintf(seen, "%ld\n", (long)pwrite(file, "in the middle", 13, WIDTH * 3));
        lines(2);
        fprintf(seen, "%ld\n", (long)pwrite(file, "behind", 6, 100000));
        lines(2);
    } else if (!strcmp(how, "truncate")) {
        fprintf(seen, "%d\n", ftruncate(file, WIDTH * 3));
        lines(2);
        fprintf(seen, "%d\n", truncate(path, WIDTH * 2));
        lines(2);
        fprintf(seen, "%d\n", fallocate(file, 0, 0, 100000) ? errno : 0);
        lines(2);
    } else if (!strcmp(how, "sync")) {
        for (int i = 0; i < 3; i++) {
            fprintf(seen, "%d\n", fsync(file));
            lines(3);
            fprintf(seen, "%d\n", fdatasync(file));
            lines(3);
        }
        sync();
        lines(3);
    } else if (!strcmp(how, "sendfile")) {
        int from = open(path, O_RDONLY), to = open("other", O_RDWR | O_CREAT | O_TRUNC, 0600);
        long got = 0;
        for (ssize_t one; (one = sendfile(to, from, NULL, 1 << 20)) > 0;) got += (long)one;
        fprintf(seen, "%ld\n", got);
        lines(3);
        lseek(to, 0, SEEK_SET);
        fprintf(seen, "%ld\n", (long)sendfile(file, to, NULL, WIDTH));
        lines(3);
        off_t at = 0;
        fprintf(seen, "%ld\n", (long)copy_file_range(to, &at, file, NULL, WIDTH, 0));
        lines(3);
    } else if (!strcmp(how, "append-flag")) {
        fprintf(seen, "%d\n", fcntl(file, F_SETFL, O_APPEND));
        lines(3);
        fprintf(seen, "%ld\n", (long)lseek(file, 0, SEEK_SET));
        lines(3);
        fprintf(seen, "%d\n", fcntl(file, F_SETFL, 0));
        fprintf(seen, "%ld\n", (long)lseek(file, 0, SEEK_SET));
        lines(3);
    } else if (!strcmp(how, "lock")) {
        lines(2);
        fprintf(seen, "%d\n", flock(file, LOCK_EX));
        lines(2);
        fprintf(seen, "%d\n", flock(file, LOCK_UN));
        reads(path);
        fprintf(seen, "%d\n", lockf(file, F_LOCK, 0));
        lines(2);
        fprintf(seen, "%d\n", lockf(file, F_ULOCK, 0));
        reads(path);
    } else if (!strcmp(how, "second-open")) {
        int other = open(path, O_WRONLY);
        raw(other, "over the first line\n");
        lines(3);
        fprintf(seen, "%ld\n", (long)lseek(other, 0, SEEK_END));
        raw(other, "at the end\n");
        lines(3);
        close(other);
    } else if (!strcmp(how, "passed")) {
        passed();
        lines(5);
    } else if (!strcmp(how, "input")) {
        /* The program asks and reads the answer. */
        char answer[16];
        lines(3);
        if (fgets(answer, sizeof answer, stdin)) fputs(answer, seen);
        lines(3);
    } else {
        return 0;
    }
    return 1;
}
