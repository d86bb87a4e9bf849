/* Writes lines to files by many ways, and ends or goes on in many ways. What it sees of its files goes to standard error.
 * calls MODE FILE [LINES]: MODE is a way to write, or one of the cases below. */
#define _GNU_SOURCE
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
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd;
static const char *name;
static int number;

static int opened(const char *path, int more) {
    int it = open(path, O_WRONLY | O_CREAT | O_TRUNC | more, 0644);
    if (it < 0) { perror(path); exit(2); }
    return it;
}

static void line(int to) {
    char text[64];
    int length = snprintf(text, sizeof text, "line %d of a file that is cached\n", number++);
    ssize_t written = write(to, text, length);
    if (written != length) fprintf(stderr, "write: %zd, %s\n", written, strerror(errno));
}

static void lines(int count) {
    for (int i = 0; i < count; i++) line(fd);
}

static void size_of(const char *what) {
    struct stat status;
    int result = stat(name, &status);
    fprintf(stderr, "%s: %d, %lld bytes\n", what, result, result ? 0 : (long long)status.st_size);
}

static void handler(int signal) {
    (void)signal;
    (void)!write(fd, "handler\n", 8);
}

static sigjmp_buf back;
static void jumper(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static void *thread(void *argument) {
    char text[16];
    int length = snprintf(text, sizeof text, "thread %d\n", (int)(long)argument);
    for (int i = 0; i < 2000; i++) (void)!write(fd, text, length);
    return NULL;
}

extern char **environ;

static void read_back(void) {
    char text[256];
    int again = open(name, O_RDONLY);
    ssize_t got = read(again, text, sizeof text);
    fprintf(stderr, "read back %zd: %.20s\n", got, got > 0 ? text : "");
    close(again);
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    const char *mode = arguments[1];
    name = arguments[2];
    int many = count > 3 ? atoi(arguments[3]) : 10;
#define IS(it) (strcmp(mode, it) == 0)
    if (IS("fputs") || IS("puts") || IS("print-write")) {
        for (int i = 0; i < many; i++) {
            if (IS("print-write")) { line(1); continue; }
            char text[133];
            memset(text, 'x', 132);
            text[132] = 0;
            if (IS("puts")) { puts(text); continue; }
            fputs(text, stdout);
            fputc('\n', stdout);
            fflush(stdout);
        }
        return 0;
    }
    if (IS("both")) {
        /* Standard output and standard error in one file. */
        for (int i = 0; i < many; i++) { line(1); line(2); printf("p%d\n", i); fflush(stdout); fprintf(stderr, "e%d\n", i); }
        errno = 0;
        perror("last");
        return 0;
    }
    if (IS("input")) {
        /* A question is in the file before its answer is read. */
        char text[64];
        for (int i = 0; i < 3; i++) {
            printf("question %d\n", i);
            fflush(stdout);
            if (!fgets(text, sizeof text, stdin)) break;
            struct stat status;
            fstat(1, &status);
            fprintf(stderr, "answer %s", text);
        }
        return 0;
    }
    if (IS("stream")) {
        FILE *file = fopen(name, "w");
        for (int i = 0; i < many; i++) { fprintf(file, "line %d\n", i); fflush(file); }
        fprintf(stderr, "tell %ld\n", ftell(file));
        fseek(file, 3, SEEK_SET);
        fputs("XY", file);
        fflush(file);
        fprintf(stderr, "tell %ld, fd at %lld\n", ftell(file), (long long)lseek(fileno(file), 0, SEEK_CUR));
        fseek(file, 0, SEEK_END);
        fputs("end\n", file);
        fprintf(stderr, "close %d\n", fclose(file));
        size_of("closed");
        return 0;
    }
    if (IS("reopen")) {
        FILE *file = fopen(name, "w");
        for (int i = 0; i < many; i++) { fprintf(file, "line %d\n", i); fflush(file); }
        char other[512];
        snprintf(other, sizeof other, "%s.2.out", name);
        file = freopen(other, "w", file);
        for (int i = 0; i < many; i++) { fprintf(file, "other %d\n", i); fflush(file); }
        return 0;
    }
    if (IS("update")) {
        FILE *file = fopen(name, "w+");
        char text[64];
        for (int i = 0; i < many; i++) { fprintf(file, "line %d\n", i); fflush(file); }
        rewind(file);
        while (fgets(text, sizeof text, file)) fprintf(stderr, "%s", text);
        fprintf(file, "behind\n");
        return 0;
    }
    fd = opened(name, IS("cloexec") || IS("system-cloexec") ? O_CLOEXEC : IS("sync") ? O_SYNC : 0);
    if (IS("append")) { close(fd); fd = open(name, O_WRONLY | O_APPEND); }
    if (IS("readwrite")) { close(fd); fd = open(name, O_RDWR); }
    lines(many);
    if (IS("write")) return 0;
    if (IS("append") || IS("sync")) lines(many);
    else if (IS("exit")) exit(3);
    else if (IS("_exit")) _exit(4);
    else if (IS("abort")) abort();
    else if (IS("kill")) kill(getpid(), SIGKILL);
    else if (IS("segv")) raise(SIGSEGV);
    else if (IS("exec")) execl("/bin/sh", "sh", "-c", "echo executed >&$0; wc -c < $1", count > 4 ? "" : "1", name, (char *)0);
    else if (IS("exec-inherits")) {
        char number_of[16];
        snprintf(number_of, sizeof number_of, "%d", fd);
        execl("/bin/sh", "sh", "-c", "eval \"echo executed >&$0\"", number_of, (char *)0);
    } else if (IS("exec-fails")) { execl("/no/such/program", "x", (char *)0); lines(2); }
    else if (IS("fork")) {
        fflush(NULL);
        if (fork() == 0) { lines(3); _exit(0); }
        wait(NULL);
        lines(3);
    } else if (IS("fork-turns")) {
        int there[2], again[2];
        (void)!pipe(there); (void)!pipe(again);
        char byte = 0;
        if (fork() == 0) {
            for (int i = 0; i < 3; i++) { (void)!read(there[0], &byte, 1); number = 1000 + i; lines(1); (void)!write(again[1], "x", 1); }
            _exit(0);
        }
        for (int i = 0; i < 3; i++) { lines(1); (void)!write(there[1], "x", 1); (void)!read(again[0], &byte, 1); }
        wait(NULL);
    } else if (IS("fork-before")) {
        /* A file that is shared before its first write. */
        char other[512];
        snprintf(other, sizeof other, "%s.2.out", name);
        int second = opened(other, 0), there[2], again[2];
        (void)!pipe(there); (void)!pipe(again);
        char byte = 0;
        if (fork() == 0) {
            for (int i = 0; i < 3; i++) { (void)!read(there[0], &byte, 1); number = 1000 + i; line(second); (void)!write(again[1], "x", 1); }
            _exit(0);
        }
        for (int i = 0; i < 3; i++) { line(second); (void)!write(there[1], "x", 1); (void)!read(again[0], &byte, 1); }
        wait(NULL);
    } else if (IS("vfork")) {
        pid_t child = vfork();
        if (child == 0) { (void)!write(fd, "child\n", 6); execl("/bin/true", "true", (char *)0); _exit(1); }
        waitpid(child, NULL, 0);
        lines(3);
        child = vfork();
        if (child == 0) { dup2(2, fd); (void)!write(fd, "child\n", 6); _exit(0); }
        waitpid(child, NULL, 0);
        lines(3);
    } else if (IS("system") || IS("system-cloexec")) {
        char command[600];
        snprintf(command, sizeof command, "wc -c < %s >&2; echo appended >> %s", name, name);
        (void)!system(command);
        lseek(fd, 0, SEEK_END);
        lines(3);
        (void)!system(command);
    } else if (IS("popen")) {
        char command[600], text[64];
        snprintf(command, sizeof command, "wc -c < %s", name);
        FILE *pipe_of = popen(command, "r");
        while (fgets(text, sizeof text, pipe_of)) fputs(text, stderr);
        pclose(pipe_of);
        lines(3);
    } else if (IS("spawn") || IS("cloexec")) {
        char command[600];
        snprintf(command, sizeof command, "wc -c < %s >&2", name);
        char *line_of[] = {"sh", "-c", command, NULL};
        for (int i = 0; i < 2; i++) {
            pid_t child;
            posix_spawn(&child, "/bin/sh", NULL, NULL, line_of, environ);
            waitpid(child, NULL, 0);
            lines(3);
        }
    } else if (IS("dup")) { int other = dup(fd); line(other); lines(2); close(fd); line(other); fd = other; lines(1); }
    else if (IS("dup2")) { char other[512]; snprintf(other, sizeof other, "%s.2.out", name); dup2(opened(other, 0), fd); lines(3); }
    else if (IS("dupfd")) { int other = fcntl(fd, F_DUPFD, 20); line(other); lines(1); line(other); }
    else if (IS("close")) { close(fd); size_of("closed"); char other[512]; snprintf(other, sizeof other, "%s.2.out", name); fd = opened(other, 0); lines(3); }
    else if (IS("close_range")) { close_range(3, ~0U, 0); size_of("closed"); fd = 1; lines(1); }
    else if (IS("closefrom")) { closefrom(3); size_of("closed"); fd = 1; lines(1); }
    else if (IS("syscall-close")) { syscall(SYS_close, fd); size_of("closed"); fd = opened(name, 0); lines(2); }
    else if (IS("syscall-write")) { (void)!syscall(SYS_write, fd, "own\n", 4); lines(2); }
    else if (IS("fsync")) { fsync(fd); size_of("synchronised"); lines(2); fdatasync(fd); size_of("again"); }
    else if (IS("seek")) {
        fprintf(stderr, "at %lld\n", (long long)lseek(fd, 0, SEEK_CUR));
        lseek(fd, 5, SEEK_SET); (void)!write(fd, "XYZ", 3);
        fprintf(stderr, "at %lld\n", (long long)lseek(fd, 0, SEEK_CUR));
        lseek(fd, 0, SEEK_END); lines(2);
        lseek(fd, 100, SEEK_END); lines(1);
    } else if (IS("pwrite")) { (void)!pwrite(fd, "PWRITE", 6, 2); lines(1); (void)!pwrite(fd, "END", 3, 4000); lines(1); }
    else if (IS("readwrite")) {
        char text[32] = "";
        ssize_t got = pread(fd, text, 20, 3);
        fprintf(stderr, "pread %zd %s\n", got, text);
        lseek(fd, 0, SEEK_SET);
        got = read(fd, text, 10);
        fprintf(stderr, "read %zd %.10s\n", got, text);
        lines(2);
    } else if (IS("stat")) {
        struct stat status;
        size_of("stat");
        lines(1); fstat(fd, &status); fprintf(stderr, "fstat %lld\n", (long long)status.st_size);
        struct statx more;
        lines(1); statx(AT_FDCWD, name, 0, STATX_SIZE, &more); fprintf(stderr, "statx %lld\n", (long long)more.stx_size);
        lines(1); statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &more); fprintf(stderr, "statx %lld\n", (long long)more.stx_size);
        lines(1); fstatat(AT_FDCWD, name, &status, 0); fprintf(stderr, "fstatat %lld\n", (long long)status.st_size);
    } else if (IS("read-back")) { read_back(); lines(3); read_back(); lines(3); size_of("end"); }
    else if (IS("truncate")) { (void)!ftruncate(fd, 50); lines(2); (void)!truncate(name, 300); lines(1); }
    else if (IS("fallocate")) { (void)!posix_fallocate(fd, 0, 5000); lines(1); }
    else if (IS("mmap")) {
        close(fd); fd = open(name, O_RDWR); lines(2);
        char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        fprintf(stderr, "mapped %.10s\n", mapped);
        memcpy(mapped, "MAPPED", 6);
        lines(2);
        fprintf(stderr, "%.6s\n", mapped);
    } else if (IS("sendfile")) { int from = open("/etc/passwd", O_RDONLY); sendfile(fd, from, NULL, 20); lines(2); }
    else if (IS("copy")) { int from = open(name, O_RDONLY); off_t at = 0; copy_file_range(from, &at, fd, NULL, 20, 0); lines(2); }
    else if (IS("lock")) { flock(fd, LOCK_EX); lines(2); flock(fd, LOCK_UN); size_of("unlocked"); struct flock it = {.l_type = F_WRLCK}; fcntl(fd, F_SETLK, &it); lines(1); size_of("locked"); }
    else if (IS("flags")) { fcntl(fd, F_SETFL, O_APPEND); lseek(fd, 0, SEEK_SET); lines(2); }
    else if (IS("rename")) {
        char other[512];
        snprintf(other, sizeof other, "%s.2.out", name);
        rename(name, other); size_of("renamed"); lines(2);
        unlink(other); lines(1);
    } else if (IS("link")) { char other[512]; snprintf(other, sizeof other, "%s.2.out", name); (void)!link(name, other); lines(2); }
    else if (IS("dprintf")) { dprintf(fd, "formatted %d\n", 7); lines(2); }
    else if (IS("fdopen")) { FILE *file = fdopen(fd, "w"); fputs("by the stream\n", file); fflush(file); lines(1); fputs("again\n", file); fclose(file); size_of("closed"); }
    else if (IS("writev")) { struct iovec it[3] = {{"one ", 4}, {NULL, 0}, {"two\n", 4}}; for (int i = 0; i < many; i++) (void)!writev(fd, it, 3); }
    else if (IS("large")) { char *text = malloc(400000); memset(text, 'L', 400000); (void)!write(fd, text, 400000); lines(2); (void)!write(fd, text, 100); lines(1); }
    else if (IS("send")) {
        int pair[2];
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        char byte = 'x', control[CMSG_SPACE(sizeof(int))] = {0};
        struct iovec piece = {&byte, 1};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET; head->cmsg_type = SCM_RIGHTS; head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof(int));
        sendmsg(pair[0], &message, 0);
        recvmsg(pair[1], &message, 0);
        int other;
        memcpy(&other, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof other);
        for (int i = 0; i < 3; i++) { line(fd); line(other); }
    } else if (IS("limit")) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {1000, 1000};
        setrlimit(RLIMIT_FSIZE, &limit);
        lines(60);
        fprintf(stderr, "close %d\n", close(fd));
    } else if (IS("limit-signal")) {
        struct rlimit limit = {1000, 1000};
        setrlimit(RLIMIT_FSIZE, &limit);
        lines(60);
    } else if (IS("threads")) {
        pthread_t all[4];
        for (long i = 0; i < 4; i++) pthread_create(&all[i], NULL, thread, (void *)i);
        for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
    } else if (IS("handler")) {
        /* A timer's handler writes in the middle of writes. */
        signal(SIGALRM, handler);
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        ualarm(200, 200);
        for (int i = 0; i < 200000; i++) { (void)!write(fd, "0123456789\n", 11); }
        ualarm(0, 0);
    } else if (IS("jumps")) {
        struct sigaction action = {.sa_handler = jumper, .sa_flags = SA_NODEFER};
        sigaction(SIGALRM, &action, NULL);
        for (volatile int i = 0; i < 300; i++) {
            if (sigsetjmp(back, 1) == 0) { ualarm(50 + i, 0); for (;;) (void)!write(fd, "0123456789\n", 11); }
        }
        ualarm(0, 0);
    } else if (IS("null")) { fprintf(stderr, "%zd %d\n", write(fd, NULL, 5), errno == EFAULT); lines(1); fprintf(stderr, "%zd\n", write(fd, "x", 0)); }
    else if (IS("daemon")) { (void)!daemon(1, 1); lines(2); }
    else { fprintf(stderr, "no mode %s\n", mode); return 2; }
    return 0;
}
