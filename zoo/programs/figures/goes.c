/* goes HOW BEGIN END: gets 50 blocks, and leaves a process that goes on when this one has ended. That one reads a byte from the file
   BEGIN, gets 1000 blocks and frees 500 of them, and writes a line to the file END.

     spawn   by posix_spawn, this program anew           clone   by clone, with a copy of the memory
     vfork   by vfork and exec, this program anew        daemon  by daemon
     double  by fork, and fork again                     work    is what is started anew

   And by calls of which the C library tells nobody: _Fork, and system calls by `syscall` (clone, clone3, fork) and by an
   instruction of this program's own (kernel). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
pid_t _Fork(void) __attribute__((weak));

static char **words;
static char stack[1 << 16];

static int get(int count, int frees) {
    for (int i = 0; i < count; i++) {
        void *volatile block = malloc(100);
        if (!block) return 3;
        if (frees && i % 2) free(block);
    }
    return 0;
}

static int work(void) {
    char byte;
    for (int i = 0; i < 3; i++) close(i);
    int begin = open(words[2], O_RDONLY);
    if (begin < 0 || read(begin, &byte, 1) != 1 || get(1000, 1)) return 4;
    int end = open(words[3], O_WRONLY);
    return write(end, "went\n", 5) != 5;
}

static int copy(void *nothing) {
    (void)nothing;
    exit(work());
}

/* Makes a child with a copy of the memory, and tells nobody; 0 in the child. */
static long make(const char *how) {
    if (!strcmp(how, "_Fork")) return _Fork ? _Fork() : syscall(SYS_fork);
    if (!strcmp(how, "sys_clone")) return syscall(SYS_clone, SIGCHLD, 0L, NULL, NULL, 0L);
    if (!strcmp(how, "sys_fork")) return syscall(SYS_fork);
    if (!strcmp(how, "sys_clone3")) {
        struct clone_args arguments = {.exit_signal = SIGCHLD};
        return syscall(SYS_clone3, &arguments, sizeof arguments);
    }
    long child;
    __asm__ volatile("syscall" : "=a"(child) : "0"((long)SYS_fork) : "rcx", "r11", "memory");
    return child;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    words = arguments;
    char *anew[] = {words[0], "work", words[2], words[3], NULL};
    const char *how = words[1];
    pid_t child;
    if (!strcmp(how, "work")) return work();
    if (get(50, 0)) return 3;
    if (!strcmp(how, "spawn")) return posix_spawn(&child, words[0], NULL, NULL, anew, environ);
    if (!strcmp(how, "clone")) return clone(copy, stack + sizeof stack, SIGCHLD, NULL) < 0;
    if (!strcmp(how, "vfork")) {
        child = vfork();
        if (child == 0) {
            execve(words[0], anew, environ);
            _exit(5);
        }
        return child < 0;
    }
    if (!strcmp(how, "daemon")) return daemon(1, 1) ? 6 : work();
    if (strcmp(how, "double")) {
        long made = make(how);
        return made ? made < 0 : work();
    }
    if ((child = fork())) return child < 0;
    setsid();
    if ((child = fork())) _exit(child < 0);
    return work();
}
