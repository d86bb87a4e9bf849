/* sandbox HOW: from now on the kernel kills this process at any system call but those that malloc, writing and ending
   need; works with its heap and ends in good order with 6. HOW: filter by prctl, or by the call seccomp; or the strict mode,
   in which only reading, writing and the end of a thread are let through: it lives on some kilobytes of its heap then.
     unending  the kernel refuses the call that ends a process; the one that ends a thread is let through. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../filter.h"

/* With no more than malloc of glibc has at hand after its first request. */
static int strict(void) {
    char *blocks[90];
    /* What is kept keeps glibc from giving the rest back, which would be its death, too. */
    char *volatile kept = malloc(10000);
    if (!kept) return 92;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 91;
    for (int round = 0; round < 5000; round++) {
        for (int i = 0; i < 90; i++) blocks[i] = memset(malloc(i * 10 + 1), i, i * 10 + 1);
        for (int i = 0; i < 90; i++) free(blocks[i]);
    }
    long status = write(1, "done\n", 5) == 5 ? 6 : 93;
    syscall(SYS_exit, status);
    return 94;
}

static int unending(void) {
    struct sock_filter rows[] = {
        NUMBER,
        REFUSE(SYS_exit_group),
        OTHERWISE(SECCOMP_RET_ALLOW),
    };
    if (INSTALL(rows, 0)) return 91;
    if (write(1, "done\n", 5) != 5) return 93;
    _exit(6);
}

int main(int count, char **words) {
    struct sock_filter rows[] = {
        NUMBER,
        ALLOW(SYS_write),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_futex),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_exit_group),
        OTHERWISE(SECCOMP_RET_KILL_PROCESS),
    };
    if (count < 2) return 90;
    if (!strcmp(words[1], "strict")) return strict();
    if (!strcmp(words[1], "unending")) return unending();
    if (INSTALL(rows, strcmp(words[1], "prctl"))) return 91;
    for (int i = 0; i < 3000; i++) {
        char *volatile small = malloc(i), *volatile large = calloc(1, 4 << 20);
        if (!small || !large) return 92;
        if (i % 10 == 0) memset(large, 1, 4 << 20);
        large = realloc(large, 6 << 20);
        if (i % 3) free(small);
        free(large);
    }
    if (write(1, "done\n", 5) != 5) return 93;
    return 6;
}
